//! Rules of a `SelfSubjectRulesReview`, matched as RBAC matches them. Pure.

use serde::Deserialize;

/// Maximum numbers of words of shared rules, and of their bytes: the authors of roles choose how many there are.
const MOST_WORDS: usize = 2_000;
const MOST_BYTES: usize = 64 * 1024;

/// Permissions of an account in a namespace.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Rules {
    #[serde(rename = "resourceRules")]
    listed: Vec<ListedRule>,
    /// True if an authorizer does not list all that it allows or denies.
    incomplete: bool,
    /// Error of something that may have allowed more and could not be read.
    evaluation_error: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ListedRule {
    verbs: Vec<String>,
    api_groups: Vec<String>,
    resources: Vec<String>,
    resource_names: Vec<String>,
}

impl Rules {
    /// Returns rules of which nothing is known.
    pub(super) fn unknown() -> Self {
        Self {
            incomplete: true,
            ..Self::default()
        }
    }

    /// Returns true if every authorizer lists what it allows.
    #[must_use]
    pub fn are_complete(&self) -> bool {
        !self.incomplete
    }

    /// Returns true if they list this for the object of this name; without a name, for objects of every name.
    #[must_use]
    pub fn list(&self, verb: &str, group: &str, resource: &str, name: Option<&str>) -> bool {
        let mut rules = self.listed.iter();
        rules.any(|rule| rule.allows(verb, group, resource, name))
    }

    /// Returns the decision if the rules alone make it, or `None`.
    pub(super) fn settle(
        &self,
        verb: &str,
        group: &str,
        resource: &str,
        name: Option<&str>,
    ) -> Option<bool> {
        if self.incomplete {
            return None;
        }
        let is_listed = self.list(verb, group, resource, name);
        (is_listed || self.evaluation_error.is_empty()).then_some(is_listed)
    }

    /// Returns true if they take little memory.
    pub(super) fn are_few(&self) -> bool {
        let (mut words, mut bytes) = (0, self.evaluation_error.len());
        for rule in &self.listed {
            for list in [
                &rule.verbs,
                &rule.api_groups,
                &rule.resources,
                &rule.resource_names,
            ] {
                words += 1 + list.len();
                bytes += list.iter().map(String::len).sum::<usize>();
            }
        }
        words <= MOST_WORDS && bytes <= MOST_BYTES
    }
}

impl ListedRule {
    fn allows(&self, verb: &str, group: &str, resource: &str, name: Option<&str>) -> bool {
        let has = |words: &[String], word: &str| words.iter().any(|it| it == "*" || it == word);
        let is_named = name.is_some_and(|name| self.resource_names.iter().any(|it| it == name));
        (self.resource_names.is_empty() || is_named)
            && has(&self.verbs, verb)
            && has(&self.api_groups, group)
            && (has(&self.resources, resource) || self.has_subresource(resource))
    }

    /// Returns true if they have `*/subresource`, which stands for that of every resource.
    fn has_subresource(&self, resource: &str) -> bool {
        let of_any = |subresource: &str| {
            let has = |it: &String| it.strip_prefix("*/") == Some(subresource);
            self.resources.iter().any(has)
        };
        resource.split_once('/').is_some_and(|(_, it)| of_any(it))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn rules(status: Value) -> Rules {
        serde_json::from_value(status).unwrap()
    }

    fn of(rule: &Value) -> Rules {
        rules(json!({ "resourceRules": [rule], "incomplete": false }))
    }

    #[test]
    fn a_rule_allows_what_it_names_for_objects_of_every_name() {
        let jobs = of(&json!({ "verbs": ["list"], "apiGroups": ["batch"], "resources": ["jobs"] }));
        assert!(jobs.list("list", "batch", "jobs", None));
        assert!(!jobs.list("create", "batch", "jobs", None));
        assert!(!jobs.list("list", "", "jobs", None));
        assert!(!jobs.list("list", "batch", "pods", None));
        let all = of(&json!({ "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"] }));
        assert!(all.list("create", "", "pods", None));
        let one = of(
            &json!({ "verbs": ["*"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"] }),
        );
        assert!(!one.list("list", "", "pods", None));
        assert!(one.list("get", "", "pods", Some("a")));
        assert!(!one.list("get", "", "pods", Some("b")));
    }

    #[test]
    fn subresources_are_matched_as_rbac_matches_them() {
        let allows = |resources: Value, resource| {
            let rule = json!({ "verbs": ["get"], "apiGroups": [""], "resources": resources });
            of(&rule).list("get", "", resource, None)
        };
        assert!(allows(json!(["pods/log"]), "pods/log"));
        assert!(allows(json!(["*/log"]), "pods/log"));
        assert!(allows(json!(["*"]), "pods/log"));
        assert!(!allows(json!(["pods"]), "pods/log"));
        assert!(!allows(json!(["pods/*"]), "pods/log"));
        assert!(!allows(json!(["*/log"]), "pods"));
        assert!(!allows(json!(["pods/log"]), "pods"));
    }

    #[test]
    fn what_is_not_listed_is_denied_only_where_the_list_is_complete() {
        let jobs = json!({ "verbs": ["get"], "apiGroups": ["batch"], "resources": ["jobs"] });
        let settled = |incomplete: bool, error: &str, resource| {
            let status = json!({
                "resourceRules": [jobs], "incomplete": incomplete, "evaluationError": error,
            });
            rules(status).settle("get", "batch", resource, None)
        };
        assert_eq!(settled(false, "", "jobs"), Some(true));
        assert_eq!(settled(false, "", "cronjobs"), Some(false));
        // For example a binding whose role is missing.
        assert_eq!(settled(false, "not found", "jobs"), Some(true));
        assert_eq!(settled(false, "not found", "cronjobs"), None);
        // A webhook may deny what roles allow.
        assert_eq!(settled(true, "", "jobs"), None);
        assert_eq!(Rules::unknown().settle("get", "batch", "jobs", None), None);
    }

    #[test]
    fn rules_without_number_are_not_shared() {
        let names: Vec<String> = (0..MOST_WORDS).map(|it| it.to_string()).collect();
        let rule = |names: &[String]| {
            of(
                &json!({ "verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": names }),
            )
        };
        assert!(rule(&names[..1_000]).are_few());
        assert!(!rule(&names).are_few());
        assert!(!rule(&["a".repeat(MOST_BYTES)]).are_few());
    }
}
