//! Findings: faults in a manifest, with their places and cures.

mod listed;
pub mod report;
mod sarif;
mod text;

use std::collections::BTreeMap;

use crate::source::{Document, SourceSpan};

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The manifest does not work, or not as it is written.
    Error,
    /// The manifest works, but hardly as its author expects.
    Warning,
    /// Something that could not be checked.
    Note,
}

impl Severity {
    /// Returns the word that reports show.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// Kind of fault: the identifier that machines read, documented in `docs/reference/command.md`, and its description.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// The file is not valid YAML.
    Yaml,
    /// A document is not a Kubernetes object.
    Manifest,
    /// A field is unknown, or one that is required is missing.
    Field,
    /// A value has the wrong type, or is not allowed.
    FieldType,
    /// A tag cannot be read.
    Tag,
    /// A template cannot be used.
    Template,
    /// An output cannot be read from a run, or written to its object.
    Output,
    /// A `healthRule` cannot be used.
    HealthRule,
    /// An `inputSchema` cannot be used.
    InputSchema,
    /// The kind of the run does not exist, or cannot be a run.
    Kind,
    /// A name or a label is not allowed.
    Name,
    /// An input of a Runnable does not fit the `inputSchema` of its template.
    Input,
    /// A Runnable does not give what its template reads.
    Value,
    /// A Runnable names a template that does not exist.
    Reference,
    /// A selector does not pick one object.
    Selector,
    /// An input cannot be taken from a `ConfigMap` or a Secret.
    Source,
    /// A `ClusterRunProfile` cannot be used, or does not fit a run.
    Profile,
    /// It works, but probably not as expected.
    Surprise,
    /// Something could not be checked.
    Unchecked,
}

impl Rule {
    /// All rules, in the order in which SARIF lists them.
    pub const ALL: [Self; 19] = [
        Self::Yaml,
        Self::Manifest,
        Self::Field,
        Self::FieldType,
        Self::Tag,
        Self::Template,
        Self::Output,
        Self::HealthRule,
        Self::InputSchema,
        Self::Kind,
        Self::Name,
        Self::Input,
        Self::Value,
        Self::Reference,
        Self::Selector,
        Self::Source,
        Self::Profile,
        Self::Surprise,
        Self::Unchecked,
    ];

    /// Returns the identifier.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Yaml => "yaml",
            Self::Manifest => "manifest",
            Self::Field => "field",
            Self::FieldType => "type",
            Self::Tag => "tag",
            Self::Template => "template",
            Self::Output => "output",
            Self::HealthRule => "health-rule",
            Self::InputSchema => "input-schema",
            Self::Kind => "kind",
            Self::Name => "name",
            Self::Input => "input",
            Self::Value => "value",
            Self::Reference => "reference",
            Self::Selector => "selector",
            Self::Source => "source",
            Self::Profile => "profile",
            Self::Surprise => "surprise",
            Self::Unchecked => "unchecked",
        }
    }

    /// Returns the description.
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Self::Yaml => "the file is not valid YAML",
            Self::Manifest => "a document is not a Kubernetes object",
            Self::Field => "a field is unknown, or one that is required is missing",
            Self::FieldType => "a value has the wrong type, or is not allowed",
            Self::Tag => "a tag cannot be read",
            Self::Template => "a template cannot be used",
            Self::Output => "an output cannot be read from a run, or written to its object",
            Self::HealthRule => "a healthRule cannot be used",
            Self::InputSchema => "an inputSchema cannot be used",
            Self::Kind => "the kind of the run does not exist, or cannot be a run",
            Self::Name => "a name or a label is not allowed",
            Self::Input => "an input of a Runnable does not fit the inputSchema of its template",
            Self::Value => "a Runnable does not give what its template reads",
            Self::Reference => "a Runnable names a template that does not exist",
            Self::Selector => "a selector does not pick one object",
            Self::Source => "an input cannot be taken from a ConfigMap or a Secret",
            Self::Profile => "a ClusterRunProfile cannot be used, or does not fit a run",
            Self::Surprise => "it works, but probably not as expected",
            Self::Unchecked => "something could not be checked",
        }
    }
}

/// One fault as it is reported to people and tools: with a file, a severity and a cure. The engine finds faults of a
/// template as a [`Diagnostic`](cartouche_language::Diagnostic), which knows no files; many findings are made from
/// one.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Consequence of the fault.
    pub severity: Severity,
    /// Kind of fault.
    pub rule: Rule,
    /// The fault, in one sentence.
    pub message: String,
    /// Place of the fault, if it has one.
    pub place: Option<SourceSpan>,
    /// Text next to the marker.
    pub label: Option<String>,
    /// Other places that contribute to the fault, each with a label.
    pub related: Vec<(SourceSpan, String)>,
    /// Further facts.
    pub notes: Vec<String>,
    /// Cure.
    pub help: Option<String>,
}

impl Finding {
    fn new(severity: Severity, rule: Rule, message: impl Into<String>) -> Self {
        Self {
            severity,
            rule,
            message: message.into(),
            place: None,
            label: None,
            related: Vec::new(),
            notes: Vec::new(),
            help: None,
        }
    }

    /// Returns an error without a place.
    #[must_use]
    pub fn error(rule: Rule, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, rule, message)
    }

    /// Returns a warning without a place.
    #[must_use]
    pub fn warning(rule: Rule, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, rule, message)
    }

    /// Returns a note without a place.
    #[must_use]
    pub fn note(rule: Rule, message: impl Into<String>) -> Self {
        Self::new(Severity::Note, rule, message)
    }

    /// Sets the place.
    #[must_use]
    pub fn at(mut self, place: SourceSpan) -> Self {
        self.place = Some(place);
        self
    }

    /// Sets the text next to the marker.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Adds another place that contributes to the fault.
    #[must_use]
    pub fn with_related(mut self, place: SourceSpan, label: impl Into<String>) -> Self {
        self.related.push((place, label.into()));
        self
    }

    /// Returns the finding with an object that contributes to the fault. The line of a Secret is not shown, since it
    /// may hold a value.
    #[must_use]
    pub fn beside(self, object: &Document, label: impl Into<String>) -> Self {
        let place = object.place_of(&["metadata", "name"]);
        match object.kind() {
            "Secret" => self.with_note(format!("{} ({})", label.into(), place.describe())),
            _ => self.with_related(place, label),
        }
    }

    /// Adds a fact.
    #[must_use]
    pub fn with_note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Sets the cure.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Sets the cure if there is one. Otherwise the present one stays.
    #[must_use]
    pub fn maybe_help(mut self, help: Option<String>) -> Self {
        self.help = help.or(self.help);
        self
    }

    /// Returns the place and the message: findings with the same identity are one finding.
    pub(crate) fn identity(&self) -> (Option<(String, usize)>, String) {
        let place = self.start();
        let place = place.map(|(file, start)| (file.to_owned(), start));
        (place, self.message.clone())
    }

    /// Returns the file and the byte at which the place begins.
    pub(crate) fn start(&self) -> Option<(&str, usize)> {
        let place = self.place.as_ref()?;
        Some((&place.source.name, place.span.start))
    }

    /// Sets the place to the key or value that stands for a document as a whole.
    #[must_use]
    pub fn at_document(self, document: &Document) -> Self {
        self.at(document.place_of(&["metadata", "name"]))
    }
}

/// Places of errors, to find out whether one is about a part of another finding.
pub(crate) struct ErrorPlaces<'a> {
    /// The smallest end of the errors that start here.
    ends: BTreeMap<(&'a str, usize), usize>,
}

impl<'a> ErrorPlaces<'a> {
    pub(crate) fn from_findings(findings: &'a [Finding]) -> Self {
        let mut ends = BTreeMap::new();
        let errors = findings
            .iter()
            .filter(|finding| finding.severity == Severity::Error);
        for place in errors.filter_map(|error| error.place.as_ref()) {
            let end = ends
                .entry((place.source.name.as_str(), place.span.start))
                .or_insert(place.span.end);
            *end = place.span.end.min(*end);
        }
        Self { ends }
    }

    /// Returns true if one of the errors is about a part of the place of a finding.
    pub(crate) fn are_within(&self, finding: &Finding) -> bool {
        finding.place.as_ref().is_some_and(|place| {
            let (name, end) = (place.source.name.as_str(), place.span.end);
            self.ends
                .range((name, place.span.start)..=(name, end))
                .any(|(_, inner)| *inner <= end)
        })
    }
}
