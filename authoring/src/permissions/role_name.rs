//! The name of a role: it is unique, so that applying it removes no right that another role grants.

use std::{collections::BTreeSet, fmt::Write as _};

use sha2::{Digest as _, Sha256};

use super::{Account, resource::Resource};

/// Prefix of the name of every printed role. Users hardly choose such a name by hand.
const PREFIX: &str = "cartouche:";
/// As many characters as other names may have; roles themselves have no bound.
const LONGEST: usize = 253;
/// Part of the name of a role for everything that an account has.
const ALL: &str = "all";
/// Bytes of a hash that stands for several names.
const HASHED: usize = 5;

/// Purpose of a role.
#[derive(Clone, Copy, Debug, Default)]
pub struct RolePurpose<'a> {
    /// Templates whose runs the account makes.
    pub templates: &'a [&'a str],
    /// Runnables that ask for more than their template does.
    pub runnables: &'a [&'a str],
    /// Resources that were named: for another Runnable of the template they may be others.
    pub resources: &'a [Resource],
    /// True if it is for everything that an account has in a namespace, now and later.
    pub whole: bool,
    /// True if it may lack something, so that it must not replace a role that does not.
    pub in_part: bool,
}

/// Returns the name of the role of an account: the same name for the same purpose, or for everything that the account
/// has. Names of accounts and templates hold no colon.
#[must_use]
pub fn role_name(account: &Account, purpose: RolePurpose<'_>) -> String {
    let account = &account.name;
    let plain = match (purpose.templates, purpose.runnables, purpose.resources) {
        // A template of this name would have the role of the whole account.
        ([ALL], [], []) => None,
        ([template], [], []) => Some(format!("{PREFIX}{account}:{template}")),
        ([_], [runnable], []) => Some(format!("{PREFIX}{account}:runnable:{runnable}")),
        // It stays the same role when further ones come.
        (_, _, []) if purpose.whole => Some(format!("{PREFIX}{account}:{ALL}")),
        _ => None,
    };
    if let Some(plain) = plain.filter(|name| name.len() <= LONGEST && !purpose.in_part) {
        return plain;
    }
    let end = format!(":all:{}", hash(account, purpose));
    let room = LONGEST - PREFIX.len() - end.len();
    let shown: String = account.chars().take(room).collect();
    format!("{PREFIX}{shown}{end}")
}

/// Returns the hash of the purpose of a role, independent of the order.
fn hash(account: &str, purpose: RolePurpose<'_>) -> String {
    let templates = purpose.templates.iter().map(|it| format!("template {it}"));
    let runnables = purpose.runnables.iter().map(|it| format!("runnable {it}"));
    let resources = purpose.resources.iter().map(|it| format!("resource {it}"));
    let in_part = purpose.in_part.then(|| "in part".to_owned());
    let all = templates.chain(runnables).chain(resources).chain(in_part);
    let all: BTreeSet<String> = all.collect();
    let mut text = account.to_owned();
    for part in all {
        text.push('\n');
        text.push_str(&part);
    }
    let mut shown = String::new();
    for byte in Sha256::digest(text).iter().take(HASHED) {
        // Writing to a string cannot fail.
        let _ = write!(shown, "{byte:02x}");
    }
    shown
}

/// Returns the name that the user gives, if a role may have it.
pub fn check_name(name: &str) -> Result<String, String> {
    if matches!(name, "" | "." | "..") || name.contains(['/', '%']) || name.len() > LONGEST {
        return Err(format!(
            "the name of a role has neither / nor %, is not . or .., and has at most {LONGEST} characters"
        ));
    }
    if name
        .strip_prefix(PREFIX)
        .is_some_and(|own| own.starts_with(':'))
    {
        return Err(format!(
            "{PREFIX}: begins the names of roles in the cluster: choose another prefix"
        ));
    }
    Ok(name.to_owned())
}

/// Returns the name of the cluster role that belongs to a role of a namespace.
pub(super) fn of_cluster(namespace: &str, name: &str) -> String {
    // No account has an empty name: a given name never reads like a generated one.
    match name.strip_prefix(PREFIX) {
        Some(own) => format!("{PREFIX}{namespace}:{own}"),
        None => format!("{PREFIX}{namespace}::{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(account: &str, purpose: RolePurpose<'_>) -> String {
        let account = Account {
            namespace: "shop".to_owned(),
            name: account.to_owned(),
        };
        role_name(&account, purpose)
    }

    fn of<'a>(templates: &'a [&'a str], runnables: &'a [&'a str]) -> RolePurpose<'a> {
        RolePurpose {
            templates,
            runnables,
            ..RolePurpose::default()
        }
    }

    fn whole(purpose: RolePurpose<'_>) -> RolePurpose<'_> {
        RolePurpose {
            whole: true,
            ..purpose
        }
    }

    #[test]
    fn no_two_purposes_of_an_account_have_one_role() {
        let resources = ["jobs.batch".parse().unwrap()];
        let in_part = |purpose| RolePurpose {
            in_part: true,
            ..purpose
        };
        let purposes = [
            of(&["a"], &[]),
            of(&["b"], &[]),
            of(&["a"], &["a"]),
            of(&["a"], &["b"]),
            of(&["a", "b"], &[]),
            of(&["a", "c"], &[]),
            of(&["all"], &[]),
            whole(of(&["a", "b"], &[])),
            in_part(of(&["a"], &[])),
            in_part(of(&["a"], &["b"])),
            in_part(of(&["a", "b"], &[])),
            RolePurpose {
                resources: &resources,
                ..of(&["a"], &[])
            },
        ];
        let names: BTreeSet<String> = purposes.iter().map(|it| named("app", *it)).collect();
        assert_eq!(names.len(), purposes.len(), "{names:?}");
        assert!(names.iter().all(|name| name.starts_with("cartouche:app:")));
        assert!(names.contains("cartouche:app:a") && names.contains("cartouche:app:runnable:b"));
    }

    #[test]
    fn the_role_for_all_of_an_account_keeps_its_name_when_further_ones_come() {
        for several in [
            of(&["a"], &["a", "b"]),
            of(&["a", "b"], &[]),
            of(&["b", "a"], &["x", "y", "z"]),
        ] {
            assert_eq!(named("app", whole(several)), "cartouche:app:all");
        }
    }

    #[test]
    fn a_name_is_never_too_long_and_still_one_of_its_own() {
        let (long, other) = ("a".repeat(253), format!("{}b", "a".repeat(252)));
        let first = named(&long, of(&[&long], &[]));
        let second = named(&other, of(&[&long], &[]));
        assert!(first.len() == LONGEST && second.len() == LONGEST);
        assert_ne!(first, second);
        assert_ne!(first, named(&long, of(&[&other], &[])));
    }

    #[test]
    fn a_name_that_no_path_can_hold_is_refused() {
        for wrong in ["", ".", "..", "a/b", "a%b", &"a".repeat(254)] {
            assert!(check_name(wrong).is_err(), "{wrong}");
        }
        assert!(check_name("cartouche:app:a").is_ok());
        // In the cluster it would be the name of the role `app`.
        assert!(check_name("cartouche::app").is_err());
    }

    #[test]
    fn two_roles_of_a_namespace_have_two_in_the_cluster() {
        let purpose = RolePurpose {
            templates: &["greet"],
            ..RolePurpose::default()
        };
        let own = of_cluster("shop", &named("app", purpose));
        assert_eq!(own, "cartouche:shop:app:greet");
        assert_ne!(of_cluster("shop", "app:greet"), own);
    }
}
