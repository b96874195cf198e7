//! Inputs whose values are not among the files, and the messages about them.

use cartouche_protocol::references::{SourceKind, SourceObject};

use super::Entry;
use crate::{
    finding::{Finding, Rule},
    objects::{GENERATED, find_generated, suggest_renamed},
    source::{Document, SourceSpan},
};

/// An input whose value is not among the files.
pub struct AbsentInput {
    /// Name of the input.
    pub input: String,
    pub(super) object: SourceObject,
    pub(super) key: String,
    /// True if a run is made without it as well.
    pub optional: bool,
    why: MissingPart,
    /// Place of the reference to the object.
    place: SourceSpan,
    /// Cure if the object is there under a longer name.
    renamed: Option<String>,
    /// Message and cure if Kustomize generates it under another name.
    generated: Option<String>,
}

/// Part that is missing among the files.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MissingPart {
    NoObject,
    /// The file of the Runnable has no outputs.
    NoOutputs,
}

impl AbsentInput {
    pub(super) fn new(
        runnable: &Document,
        entry: &Entry,
        object: SourceObject,
        why: MissingPart,
    ) -> Self {
        Self {
            input: entry.name().to_owned(),
            key: entry.key().to_owned(),
            optional: entry.source.optional == Some(true),
            place: runnable.place_at(&entry.steps(&[entry.reference(), "name"])),
            object,
            why,
            renamed: None,
            generated: None,
        }
    }

    /// Adds the cure if one of these names is the one that is meant.
    pub(super) fn unless(mut self, names: &[&str]) -> Self {
        let name = &self.object.name;
        let found = find_generated(name, names.iter().copied());
        self.generated =
            found.map(|found| format!("Kustomize has generated it as '{found}': {GENERATED}"));
        self.renamed = suggest_renamed(name, names.iter().copied());
        self
    }

    pub(super) fn is_secret(&self) -> bool {
        self.object.kind == SourceKind::Secret
    }

    /// Returns the finding if nothing can be rendered without the input.
    #[must_use]
    pub fn finding(&self, runnable: &Document) -> Finding {
        let Self {
            input, object, key, ..
        } = self;
        let part = object.kind.part();
        let message = format!(
            "Runnable {}: input {input} comes from {part} {key} of {object}, {}",
            runnable.name(),
            match self.why {
                MissingPart::NoObject => "which is not among these files",
                MissingPart::NoOutputs => "whose file does not say what it gives",
            }
        );
        Finding::error(Rule::Source, message)
            .at(self.place.clone())
            .label("not known here")
            .help(self.cure())
    }

    /// Returns the finding about what was not checked without the input, or `None` for a Secret, which is not needed.
    pub(crate) fn unchecked_finding(&self, runnable: &Document) -> Option<Finding> {
        let message = format!(
            "what the template makes of the input {} of Runnable {} was not checked: {}",
            self.input,
            runnable.name(),
            self.reason()
        );
        if self.generated.is_some() {
            let message = format!(
                "Runnable {}: input {} comes from {}, which is not there under that name",
                runnable.name(),
                self.input,
                self.object
            );
            let finding = Finding::warning(Rule::Source, message).at(self.place.clone());
            return Some(finding.label("without its hash").help(self.cure()));
        }
        (!self.is_secret()).then(|| {
            Finding::note(Rule::Unchecked, message)
                .at(self.place.clone())
                .help(self.cure())
        })
    }

    /// Returns the message about an input that is left out.
    #[must_use]
    pub fn left_out(&self) -> String {
        format!(
            "input {} is left out, because {}",
            self.input,
            self.reason()
        )
    }

    fn reason(&self) -> String {
        let object = &self.object;
        match self.why {
            MissingPart::NoObject => format!("{object} is not among these files"),
            MissingPart::NoOutputs => format!("only a cluster knows what {object} gives"),
        }
    }

    fn cure(&self) -> String {
        let Self { object, key, .. } = self;
        let cure = match object.kind {
            SourceKind::ConfigMap => {
                format!("give a file with {object}, which has {key} in its data")
            }
            SourceKind::Any => format!(
                "give a file with {object} as it is on a cluster (kubectl get -o yaml), which has a value at {key}"
            ),
            SourceKind::Runnable => format!(
                "give a file with {object} as it is on a cluster (kubectl get -o yaml), which has {key} in its status.outputs"
            ),
            SourceKind::Secret => format!(
                "give a file with {object}, which has {key} in its stringData: any value works, and none is shown"
            ),
        };
        if let Some(generated) = &self.generated {
            return generated.clone();
        }
        match &self.renamed {
            Some(renamed) => format!("{cure}; or {renamed}"),
            None => cure,
        }
    }
}
