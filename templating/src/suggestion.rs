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
    let near = known
        .into_iter()
        .filter(|name| *name != unknown && name.len() <= LONGEST)
        .filter_map(|name| Some((name, typing_errors(&lower, &name.to_lowercase())?)));
    let (best, _) = near.min_by_key(|(_, errors)| *errors)?;
    Some(best)
}

/// The number of typing errors between two names; `None` if they are names of different things.
fn typing_errors(unknown: &str, known: &str) -> Option<usize> {
    if !is_version(unknown) && (are_numbered(unknown, known) || differ_in_a_part(unknown, known)) {
        return None;
    }
    few_errors(unknown, known)
}

/// True of an API version, such as `batch/v2`: another number is meant.
fn is_version(name: &str) -> bool {
    let (_, last) = name.rsplit_once('/').unwrap_or(("", name));
    let number = last.strip_prefix('v').unwrap_or_default();
    number.starts_with(|c: char| c.is_ascii_digit()) && !number.contains(['-', '.', '_'])
}

fn few_errors(unknown: &str, known: &str) -> Option<usize> {
    let errors = strsim::damerau_levenshtein(unknown, known);
    let longer = unknown.chars().count().max(known.chars().count());
    // A third of the letters may be wrong; of a name of two or three letters, one.
    (errors <= (longer / 3).max(1) && errors < longer).then_some(errors)
}

/// True if two names have different numbers, such as `build-03` and `build-13`, or `app` and `app-2`.
fn are_numbered(one: &str, other: &str) -> bool {
    let digits = |name: &str| -> String { name.chars().filter(char::is_ascii_digit).collect() };
    digits(one) != digits(other)
}

/// True if two names have as many parts, and one of them is another word in each, such as `web-dev` and `web-prod`.
fn differ_in_a_part(one: &str, other: &str) -> bool {
    const BETWEEN: [char; 3] = ['-', '.', '_'];
    let parts: Vec<&str> = one.split(BETWEEN).collect();
    let others: Vec<&str> = other.split(BETWEEN).collect();
    let mut pairs = parts.iter().zip(&others);
    parts.len() == others.len()
        && pairs.any(|(part, other)| part != other && few_errors(part, other).is_none())
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
    let last = |name: &str| name.len() - name.rfind(['-', '_', '.']).map_or(0, |at| at + 1);
    let is_short_part = last(one).max(last(other)) <= SHORT && before >= one.len() - last(one);
    if is_short_part {
        return is_swap && one.len() == SHORT;
    }
    (is_swap || is_letter) && !are_numbered(one, other)
}

/// True for two names of which one has its last word shortened, such as `app-conf` and `app-config`.
#[must_use]
pub fn differ_in_ending(one: &str, other: &str) -> bool {
    is_longer(one, other) || is_longer(other, one)
}

/// True for the other name with one to three letters behind it, if its last word is no short one.
fn is_longer(long: &str, short: &str) -> bool {
    const SHORTEST: usize = 4;
    let added = long.strip_prefix(short).unwrap_or_default();
    let last = short.rsplit(['-', '_', '.']).next().unwrap_or_default();
    (1..SHORTEST).contains(&added.len())
        && added.bytes().all(|it| it.is_ascii_alphabetic())
        && last.len() >= SHORTEST
        && last.ends_with(|c: char| c.is_ascii_alphabetic())
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
    fn another_ending_is_a_few_letters_of_the_last_word() {
        let differ = |one, other| [differ_in_ending(one, other), differ_in_ending(other, one)];
        for (one, other) in [("app-conf", "app-config"), ("deploy", "deployer")] {
            assert_eq!(differ(one, other), [true; 2], "{one} {other}");
        }
        for (one, other) in [
            ("app", "apps"),
            ("app-conf1", "app-conf2"),
            ("app-conf", "app-conf2"),
            ("app-conf", "app-conf-ca"),
            ("web-db", "web-dbro"),
            ("data", "database"),
            ("cache", "cache"),
        ] {
            assert_eq!(differ(one, other), [false; 2], "{one} {other}");
        }
    }

    #[test]
    fn names_of_different_things_are_not_suggested() {
        for (one, other) in [
            ("build-13", "build-03"),
            ("build-57", "build-56"),
            ("app", "app-2"),
            ("build-v1", "build-v2"),
            ("sha1", "sha256"),
            ("deploy-web-dev", "deploy-web-prod"),
            ("deploy-eu-west", "deploy-us-west"),
            ("settings-a", "settings-b"),
            ("a/b-1", "a/b-2"),
        ] {
            assert_eq!(nearest(one, [other]), None, "{one} {other}");
            assert_eq!(nearest(other, [one]), None, "{other} {one}");
        }
        for (typo, meant) in [
            ("biuld-13", "build-13"),
            ("deploy-web-prdo", "deploy-web-prod"),
            ("settings.yml", "settings.yaml"),
            ("deployweb", "deploy-web"),
            ("batch/v2", "batch/v1"),
            ("v2", "v1"),
        ] {
            assert_eq!(nearest(typo, ["other", meant]), Some(meant), "{typo}");
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
