//! The name that was probably meant.

/// Names that are longer are like no other.
const LONGEST: usize = 64;

/// The known name that is most like the unknown one, if any is like it.
#[must_use]
pub fn nearest<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // It takes time and memory by the product of both lengths, and nobody mistypes a name as long as that.
    if unknown.len() > LONGEST {
        return None;
    }
    let lower = unknown.to_lowercase();
    let distance = |name: &str| strsim::damerau_levenshtein(&lower, &name.to_lowercase());
    let (best, distance) = known
        .into_iter()
        .filter(|name| *name != unknown && name.len() <= LONGEST)
        .map(|name| (name, distance(name)))
        .min_by_key(|(_, distance)| *distance)?;
    let longer = unknown.chars().count().max(best.chars().count());
    // A third of the letters may be wrong; of a name of two or three letters, one.
    (distance <= (longer / 3).max(1) && distance < longer).then_some(best)
}

/// The known name that differs from the unknown one by one slip of a finger. Names that number their objects, or tell them apart by
/// a short last part (`-dev`), are meant to be alike.
#[must_use]
pub fn slip<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known.into_iter().find(|name| is_slip(unknown, name))
}

fn is_slip(one: &str, other: &str) -> bool {
    const SHORT: usize = 3;
    if one.eq_ignore_ascii_case(other) {
        return one != other;
    }
    let (a, b) = (one.as_bytes(), other.as_bytes());
    if a.len().abs_diff(b.len()) > 1 {
        return false;
    }
    let same = |pair: &(&u8, &u8)| pair.0 == pair.1;
    let before = a.iter().zip(b).take_while(same).count();
    let (a, b) = (&a[before..], &b[before..]);
    let behind = a.iter().rev().zip(b.iter().rev()).take_while(same).count();
    let (a, b) = (&a[..a.len() - behind], &b[..b.len() - behind]);
    let is_swap = a.len() == 2 && b.len() == 2 && a.iter().eq(b.iter().rev());
    let is_letter = a.len().max(b.len()) == 1 && one.len().max(other.len()) > SHORT;
    let has_digit = a.iter().chain(b).any(u8::is_ascii_digit);
    let last = |name: &str| name.len() - name.rfind(['-', '_', '.']).map_or(0, |at| at + 1);
    let is_short_part = last(one).max(last(other)) <= SHORT && before >= one.len() - last(one);
    if is_short_part {
        return is_swap && one.len() == SHORT;
    }
    (is_swap || is_letter) && !has_digit
}

/// `did you mean 'x'?`, else the names that there are, if they are few.
#[must_use]
pub fn hint<'a>(
    unknown: &str,
    what: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    const FEW: usize = 12;
    let known: Vec<&str> = known.into_iter().collect();
    if let Some(meant) = nearest(unknown, known.iter().copied()) {
        return Some(format!("did you mean '{meant}'?"));
    }
    match known.len() {
        0 => None,
        1..=FEW => Some(format!("{what}: {}", known.join(", "))),
        _ => None,
    }
}

/// What was probably meant by a kind that there is not in its API version: the versions in which there is one of that name,
/// else the kind of its version (`here`) that is most like it.
#[must_use]
pub fn of_kind<'a>(
    kind: &str,
    elsewhere: &[&str],
    here: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    match elsewhere {
        [] => hint(kind, "the kinds are", here),
        versions => Some(format!("{kind} is in {}", versions.join(" and in "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_swapped_pair_of_letters_is_recognised() {
        assert_eq!(
            nearest("nmae", ["namespace", "name", "labels"]),
            Some("name")
        );
    }

    #[test]
    fn upper_and_lower_case_do_not_matter() {
        assert_eq!(
            nearest("GenerateName", ["generateName", "name"]),
            Some("generateName")
        );
    }

    #[test]
    fn a_name_that_is_like_none_has_no_suggestion() {
        assert_eq!(nearest("colour", ["name", "labels"]), None);
        assert_eq!(nearest("x", ["y"]), None);
    }

    #[test]
    fn a_slip_is_one_letter_and_no_name_that_is_meant_to_be_alike() {
        for (unknown, known) in [
            ("cahce", "cache"),
            ("ULR", "URL"),
            ("shop-confg", "shop-config"),
            ("DB_HOSTS", "DB_HOST"),
            ("verison", "version"),
            ("Cache", "cache"),
        ] {
            assert_eq!(slip(unknown, [known]), Some(known), "{unknown}");
        }
        for (unknown, known) in [
            ("cache", "cache"),
            ("DB_HOST", "DB_PORT"),
            ("api-a", "api-b"),
            ("app-db2", "app-db1"),
            ("regcred-dev", "regcred-dve"),
            ("build-go", "build-js"),
            ("set", "get"),
            ("a", "b"),
            ("data", "data1"),
        ] {
            assert_eq!(slip(unknown, [known]), None, "{unknown}");
        }
    }

    #[test]
    fn names_of_any_length_cost_nothing() {
        let (long, other) = ("a".repeat(1_000_000), format!("{}b", "a".repeat(1_000_000)));
        assert_eq!(nearest(&long, [other.as_str(), "name"]), None);
        assert_eq!(nearest("nmae", [long.as_str(), "name"]), Some("name"));
    }

    #[test]
    fn a_kind_is_where_it_is_or_else_is_another_of_its_version() {
        let here = ["CronJob", "Job"];
        let said = of_kind("Job", &["batch/v1", "x/v1"], []);
        assert_eq!(said.as_deref(), Some("Job is in batch/v1 and in x/v1"));
        let said = of_kind("Jbo", &[], here);
        assert_eq!(said.as_deref(), Some("did you mean 'Job'?"));
        let said = of_kind("Widget", &[], here);
        assert_eq!(said.as_deref(), Some("the kinds are: CronJob, Job"));
        assert_eq!(of_kind("Widget", &[], []), None);
    }

    #[test]
    fn the_few_names_that_there_are_are_listed() {
        assert_eq!(
            hint("colour", "the inputs are", ["name", "size"]),
            Some("the inputs are: name, size".to_owned())
        );
        assert_eq!(hint("colour", "the inputs are", []), None);
    }
}
