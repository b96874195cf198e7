//! Paths by which a status would show the value of a sensitive output.

use std::sync::LazyLock;

use cartouche_language::{
    Diagnostic, DiagnosticKind, Root, Segment, TERMINATION_MESSAGE, diagnostic::fields, path::Path,
};

use crate::{failure_outputs::FailureOutputs, health::CompiledRule};

use super::Outputs;

/// Path of the last words of a pod's containers, one of which is the termination message.
const WORDS_OF_CONTAINERS: &str = ".status['containerStatuses','initContainerStatuses','ephemeralContainerStatuses'][*]\
     ['state','lastState'].terminated.message";
/// Paths of the words that a status repeats of a run without a health rule.
const WORDS_OF_ENGINES: [&str; 4] = [
    ".status.conditions[*].message",
    ".status.conditions[*].reason",
    ".status.message",
    ".status.reason",
];

static SPOKEN: LazyLock<Vec<Path>> =
    LazyLock::new(|| read(&[TERMINATION_MESSAGE, WORDS_OF_CONTAINERS]));
static SAID: LazyLock<Vec<Path>> = LazyLock::new(|| read(&WORDS_OF_ENGINES));

fn read(paths: &[&str]) -> Vec<Path> {
    paths
        .iter()
        .filter_map(|raw| Path::parse(raw).ok())
        .collect()
}

impl Outputs {
    /// Reports the other parts of a template that show the value of a sensitive output, or may.
    pub fn check_shown(
        &self,
        failure: &FailureOutputs,
        rule: Option<&CompiledRule>,
        problems: &mut Vec<Diagnostic>,
    ) {
        let open = self.0.iter().filter(|output| !output.sensitive);
        let open = open.map(|output| {
            let at = Segment::keys(["outputs", &output.name]);
            (at, output.path.clone())
        });
        let failure = failure.paths();
        let failure =
            failure.map(|(name, path)| (Segment::keys(["failureOutputs", name]), path.clone()));
        let rule = rule.map(CompiledRule::list_paths).unwrap_or_default();
        let rule = rule.into_iter().map(|(field, path)| (fields(&field), path));
        for (at, path) in open.chain(failure).chain(rule) {
            let mut sensitive = self.sensitive_paths();
            if let Some((shown, _)) = sensitive.find(|(_, sensitive)| may_show(&path, sensitive)) {
                let kind = DiagnosticKind::with_cure(
                    format!("it shows the sensitive output {shown}, or may"),
                    "change its path, or make it sensitive as well",
                );
                problems.push(Diagnostic::new(Root::Spec, at, kind));
            }
        }
    }

    /// Returns true if a sensitive output may be part of an engine's words about a run.
    #[must_use]
    pub fn are_words_sensitive(&self) -> bool {
        let mut sensitive = self.sensitive_paths();
        sensitive.any(|(_, path)| SAID.iter().any(|said| said.may_meet(path)))
    }
}

/// Returns true if the value at a path may be a sensitive one, contain it or be a part of it. The termination
/// message is a copy of words in a pod.
fn may_show(path: &Path, sensitive: &Path) -> bool {
    let is_of_message = |path: &Path| path.leading_keys().first() == Some(&TERMINATION_MESSAGE);
    let speaks = |path: &Path| SPOKEN.iter().any(|words| words.may_meet(path));
    let are_told_apart = is_of_message(path) && is_of_message(sensitive);
    path.may_meet(sensitive) || !are_told_apart && speaks(path) && speaks(sensitive)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_places_are_paths() {
        assert_eq!(SPOKEN.len(), 2);
        assert_eq!(SAID.len(), WORDS_OF_ENGINES.len());
    }
}
