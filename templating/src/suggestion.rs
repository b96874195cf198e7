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
