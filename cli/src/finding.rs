//! Findings: faults in a manifest, with their places and cures.

mod listed;
pub(crate) mod report;
mod sarif;
mod text;

use std::collections::BTreeMap;

use clap::{ValueEnum, builder::PossibleValue};

use crate::source::{Document, SourceSpan};

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Severity {
    /// The manifest does not work, or not as it is written.
    Error,
    /// The manifest works, but hardly as its author expects.
    Warning,
    /// Something that could not be checked.
    Note,
}

impl Severity {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// Kind of fault: the identifier that machines read, documented in `docs/reference/command.md`, and its description.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ValueEnum)]
#[expect(clippy::enum_variant_names, reason = "a healthRule is called so")]
pub(crate) enum Rule {
    #[value(help = "the file is no valid YAML")]
    Yaml,
    #[value(help = "a document is no Kubernetes object")]
    Manifest,
    #[value(help = "a field is unknown, or one that is required is missing")]
    Field,
    #[value(name = "type", help = "a value has the wrong type, or is not allowed")]
    FieldType,
    #[value(help = "a tag cannot be read")]
    Tag,
    #[value(help = "a template cannot be used")]
    Template,
    #[value(help = "an output cannot be read from a run, or written where it is to go")]
    Output,
    #[value(help = "a healthRule cannot be used")]
    HealthRule,
    #[value(help = "an inputSchema cannot be used")]
    InputSchema,
    #[value(help = "the kind of the run does not exist, or cannot be a run")]
    Kind,
    #[value(help = "a name or a label is not allowed")]
    Name,
    #[value(help = "an input of a Runnable does not fit the inputSchema of its template")]
    Input,
    #[value(help = "a Runnable does not give what its template reads")]
    Value,
    #[value(help = "a Runnable names a template that is not there")]
    Reference,
    #[value(help = "a selector does not pick one object")]
    Selector,
    #[value(help = "an input cannot be taken from a ConfigMap or a Secret")]
    Source,
    #[value(help = "a ClusterRunProfile cannot be used, or does not fit a run")]
    Profile,
    #[value(help = "it works, but hardly as its author expects")]
    Surprise,
    #[value(help = "something could not be checked")]
    Unchecked,
}

impl Rule {
    pub(crate) fn id(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Returns the description of the rule.
    pub(crate) fn description(self) -> String {
        let value = self.to_possible_value();
        let help = value.as_ref().and_then(PossibleValue::get_help);
        help.map_or_else(String::new, ToString::to_string)
    }
}

/// One fault as it is reported to people and tools: with a file, a severity and a cure. The engine finds faults of a
/// template as a [`Diagnostic`](cartouche_language::Diagnostic), which knows no files; many findings are made from
/// one.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    pub(crate) severity: Severity,
    pub(crate) rule: Rule,
    /// The fault, in one sentence.
    pub(crate) message: String,
    /// Place of the fault, if it has one.
    pub(crate) place: Option<SourceSpan>,
    /// Text next to the marker.
    pub(crate) label: Option<String>,
    /// Other places that contribute to the fault, each with a label.
    pub(crate) related: Vec<(SourceSpan, String)>,
    /// Further facts.
    pub(crate) notes: Vec<String>,
    /// Cure.
    pub(crate) help: Option<String>,
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

    pub(crate) fn error(rule: Rule, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, rule, message)
    }

    pub(crate) fn warning(rule: Rule, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, rule, message)
    }

    pub(crate) fn note(rule: Rule, message: impl Into<String>) -> Self {
        Self::new(Severity::Note, rule, message)
    }

    pub(crate) fn at(mut self, place: SourceSpan) -> Self {
        self.place = Some(place);
        self
    }

    pub(crate) fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    pub(crate) fn related(mut self, place: SourceSpan, label: impl Into<String>) -> Self {
        self.related.push((place, label.into()));
        self
    }

    /// Returns the finding with an object that contributes to the fault. The line of a Secret is not shown, since it
    /// may hold a value.
    pub(crate) fn beside(self, object: &Document, label: impl Into<String>) -> Self {
        let place = object.place_of(&["metadata", "name"]);
        match object.kind() {
            "Secret" => self.with_note(format!("{} ({})", label.into(), place.shown())),
            _ => self.related(place, label),
        }
    }

    pub(crate) fn with_note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub(crate) fn maybe_help(mut self, help: Option<String>) -> Self {
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
    pub(crate) fn at_document(self, document: &Document) -> Self {
        self.at(document.place_of(&["metadata", "name"]))
    }
}

/// Places of errors, to find out whether one is about a part of another finding.
pub(crate) struct ErrorPlaces<'a> {
    /// The smallest end of the errors that start here.
    ends: BTreeMap<(&'a str, usize), usize>,
}

impl<'a> ErrorPlaces<'a> {
    pub(crate) fn of(findings: &'a [Finding]) -> Self {
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
