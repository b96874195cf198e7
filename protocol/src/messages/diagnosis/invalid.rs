//! Cures for an object that the API server rejects as invalid, by the phrases that it uses for all
//! kinds.

/// The cure if no phrase matches.
const ANY: &str = "correct the template, the inputs or the profile";
/// Each cure, with the words that all have to be in the message. The first that matches counts.
const CURES: [(&[&str], &str); 13] = [
    (
        &["quantities must match"],
        "write quantities as 100m or 0.5 (cpu) and as 128Mi or 2Gi (memory, sizes), in the template, the inputs or the profile",
    ),
    (
        &["volumeMounts", "Not found: "],
        "give spec.volumes of the pod a volume of that name, in the template or the profile, or correct the name of the mount",
    ),
    (
        &["must be less than or equal to", "limit"],
        "lower that request, or raise its limit, in the template, the inputs or the profile",
    ),
    (
        &["Duplicate value"],
        "give each entry of that list a name of its own, in the template or the profile",
    ),
    (
        &["Unsupported value"],
        "give that field one of the values that the answer names, in the template, the inputs or the profile",
    ),
    (
        &["Required value"],
        "give that field a value, in the template, the inputs or the profile",
    ),
    (
        &["Too long"],
        "give that field a shorter value, in the template or the inputs",
    ),
    (
        &["RFC 1123"],
        "let the name consist of lower-case letters, digits and dashes, in the template, the inputs or the profile",
    ),
    (
        &["a valid label must"],
        "give the label 63 letters, digits, dashes, dots or underscores at most, or write the value to an annotation",
    ),
    (
        &["may not be specified when"],
        "keep one of the two fields that the answer names, in the template or the profile",
    ),
    (
        &["must be greater than or equal to 0"],
        "give that field no negative number, in the template, the inputs or the profile",
    ),
    (
        &["unknown field"],
        "correct the name of that field, in the template or the profile: upper and lower case count",
    ),
    (
        &["0777 (octal)"],
        "write the mode in octal, with a 0 before its digits, in the template, the inputs or the profile",
    ),
];

/// Returns true if the API server refuses an object because a `ResourceQuota` has no room for it:
/// room comes when something ends.
#[must_use]
pub fn is_of_quota(said: &str) -> bool {
    said.contains("exceeded quota: ")
}

/// Returns the cure for a message of the API server.
pub(super) fn cure(said: &str) -> &'static str {
    let fits = |words: &[&str]| words.iter().all(|words| said.contains(words));
    let found = CURES.iter().find(|(words, _)| fits(words));
    found.map_or(ANY, |(_, cure)| cure)
}

#[cfg(test)]
mod tests {
    use super::{ANY, cure};

    #[test]
    fn what_the_api_server_says_of_all_kinds_has_a_cure() {
        for (said, does) in [
            (
                "Job in version \"v1\" cannot be handled as a Job: quantities must match the regular expression '^x$'",
                "write quantities",
            ),
            (
                "Job.batch \"a\" is invalid: spec.template.spec.containers[0].volumeMounts[0].name: Not found: \"ca\"",
                "give spec.volumes of the pod a volume",
            ),
            (
                "spec.template.spec.volumes[0].configMap.defaultMode: Invalid value: 755: must be a number between 0 and 0777 (octal), both inclusive",
                "write the mode in octal",
            ),
            (
                "spec.template.spec.containers[0].resources.requests: Invalid value: \"2\": must be less than or equal to cpu limit of 1",
                "lower that request",
            ),
            (
                "spec.template.spec.restartPolicy: Unsupported value: \"never\": supported values: \"Never\"",
                "give that field one of the values",
            ),
        ] {
            assert!(cure(said).starts_with(does), "{said}");
        }
        assert_eq!(cure("it is none"), ANY);
    }
}
