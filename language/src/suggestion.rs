//! Suggestions of the name that was probably meant.

/// Maximum length of a name that has similar ones, in bytes.
const LONGEST: usize = 64;
/// Minimum letters of a word that does more than distinguish names.
const SHORTEST_WORD: usize = 4;
/// Maximum letters that a word may have more than its short form.
const MOST_ADDED: usize = 3;

/// Returns the known name that is most similar to the unknown one, if any is similar.
#[must_use]
pub fn nearest<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Time and memory grow with the product of both lengths, and a name that long is not typed by hand.
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

/// Returns the number of typing errors between two names, or `None` if they name different things.
fn typing_errors(unknown: &str, known: &str) -> Option<usize> {
    if !is_version(unknown) && (are_numbered(unknown, known) || differ_in_a_part(unknown, known)) {
        return None;
    }
    few_errors(unknown, known)
}

/// Returns true for an API version, such as `batch/v2`: another number is meant.
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

/// Returns true if two names have different numbers, such as `build-03` and `build-13`, or `app` and `app-2`.
fn are_numbered(one: &str, other: &str) -> bool {
    let digits = |name: &str| -> String { name.chars().filter(char::is_ascii_digit).collect() };
    digits(one) != digits(other)
}

/// Returns true if two names have as many parts, and one part is another word in each, such as `web-dev` and
/// `web-prod`.
fn differ_in_a_part(one: &str, other: &str) -> bool {
    let differing = differing_parts(one, other);
    differing.is_some_and(|mut pairs| pairs.any(|(one, other)| few_errors(one, other).is_none()))
}

/// Returns the parts in which two names differ, or `None` if one has more of them.
fn differing_parts<'a>(
    one: &'a str,
    other: &'a str,
) -> Option<impl Iterator<Item = (&'a str, &'a str)>> {
    const BETWEEN: [char; 3] = ['-', '.', '_'];
    let [parts, others] = [one, other].map(|name| name.split(BETWEEN));
    let is_alike = parts.clone().count() == others.clone().count();
    is_alike.then(|| parts.zip(others).filter(|(one, other)| one != other))
}

/// Returns the known name that differs from the unknown one by one typing error. Names that number their objects,
/// or distinguish them by a short part (`-dev`), are similar on purpose.
#[must_use]
pub fn slip<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known.into_iter().find(|name| is_slip(unknown, name))
}

/// Returns the same as [`slip`], or a name that has more or less of its last word.
#[must_use]
pub fn slip_or_ending<'a>(
    unknown: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let is_ending = |name: &str| is_longer(unknown, name) || is_longer(name, unknown);
    let mut known = known.into_iter();
    known.find(|name| is_slip(unknown, name) || is_ending(name))
}

fn is_slip(one: &str, other: &str) -> bool {
    let is_long = one.len().max(other.len()) > LONGEST;
    if is_long || one == other || one.len().abs_diff(other.len()) > 1 {
        return false;
    }
    let (one, other) = (one.to_lowercase(), other.to_lowercase());
    !are_numbered(&one, &other)
        && typing_errors(&one, &other).is_some_and(|errors| errors <= 1)
        && are_words(&one, &other)
}

/// Returns true unless two names differ in a part that is short enough to distinguish them on purpose.
fn are_words(one: &str, other: &str) -> bool {
    let is_word = |(one, other): (&str, &str)| {
        let longer = one.len().max(other.len());
        longer >= SHORTEST_WORD || longer > 2 && letters(one) == letters(other)
    };
    differing_parts(one, other).is_none_or(|mut pairs| pairs.all(is_word))
}

fn letters(word: &str) -> Vec<u8> {
    let mut letters = word.as_bytes().to_vec();
    letters.sort_unstable();
    letters
}

/// Returns true for the other name with a few more letters, such as `app-config` and `app-conf`, if its last word
/// is not short.
fn is_longer(long: &str, short: &str) -> bool {
    let added = long.strip_prefix(short).unwrap_or_default();
    let last = short.rsplit(['-', '_', '.']).next().unwrap_or_default();
    long.len() <= LONGEST
        && (1..=MOST_ADDED).contains(&added.len())
        && added.bytes().all(|it| it.is_ascii_alphabetic())
        && last.len() >= SHORTEST_WORD
        && last.ends_with(|c: char| c.is_ascii_alphabetic())
}

/// Returns `did you mean 'x'?`, or else the list of known names if they are few.
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

/// Returns the cure for a kind that its API version lacks: the versions with a kind of that name, or else the most
/// similar kind of its version (`here`).
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
        for (one, other) in [
            ("cahce", "cache"),
            ("ULR", "URL"),
            ("shop-confg", "shop-config"),
            ("DB_HOSTS", "DB_HOST"),
            ("verison", "version"),
            ("Cache", "cache"),
            ("regcred-dev", "regcred-dve"),
            ("deployweb", "deploy-web"),
        ] {
            assert_eq!(slip(one, [other]), Some(other), "{one} {other}");
            assert_eq!(slip(other, [one]), Some(one), "{other} {one}");
        }
        let long = "a".repeat(200);
        for (one, other) in [
            ("cache", "cache"),
            ("DB_HOST", "DB_PORT"),
            ("api-a", "api-b"),
            ("app-db2", "app-db1"),
            ("db-ro", "db-rw"),
            ("app-internal", "app-external"),
            ("build-go", "build-js"),
            ("set", "get"),
            ("a", "b"),
            ("data", "data1"),
            ("app-conf1", "app-conf2"),
            ("app-conf", "app-conf2"),
            ("app-conf", "app-conf-ca"),
            ("web-db", "web-dbro"),
            ("data", "database"),
            ("shop-es", "shop-se"),
            (&long, &format!("{long}b")),
        ] {
            assert_eq!(slip_or_ending(one, [other]), None, "{one} {other}");
            assert_eq!(slip_or_ending(other, [one]), None, "{other} {one}");
        }
        for (one, other) in [
            ("app-conf", "app-config"),
            ("deploy", "deployer"),
            ("token", "tokenkey"),
        ] {
            assert_eq!(slip(one, [other]), None, "{one} {other}");
            assert_eq!(slip_or_ending(one, [other]), Some(other));
            assert_eq!(slip_or_ending(other, [one]), Some(one));
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
