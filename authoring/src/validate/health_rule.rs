//! Parts of a healthRule that no run of a kind can meet, by the schema of that kind. For kinds that are known without a
//! schema, the engine reports them.

use cartouche_engines::kinds;
use cartouche_language::{suggestion, syntax};
use cartouche_templating::Template;
use serde_json::Value;

use crate::{
    finding::{Finding, Rule},
    schema::{
        Schema,
        kind_schema::KindSchema,
        walk::{Reached, walk},
    },
    source::{Document, Node},
};

const NEVER_READY: &str = "its Runnables never become ready";
const NEVER_MATCHES: &str = "this never matches";

pub(super) fn check(document: &Document, template: &Template, known: &KindSchema) -> Vec<Finding> {
    let (Some(schema), Some((api_version, kind))) = (known.schema(), template.literal_kind())
    else {
        return Vec::new();
    };
    let checked = Checked {
        document,
        schema,
        kind,
        is_known: kinds::find_kind(api_version, kind).is_some(),
    };
    match document.root.at(&["spec", "healthRule"]) {
        Some(rule) => checked.rule(rule),
        // The engine reports it for a kind of Kubernetes.
        None if known.built_in => Vec::new(),
        None => Vec::from_iter(checked.without_rule()),
    }
}

struct Checked<'a> {
    document: &'a Document,
    schema: Schema<'a>,
    kind: &'a str,
    /// True if the engine knows when a run of the kind has succeeded.
    is_known: bool,
}

impl Checked<'_> {
    fn has_conditions(&self) -> bool {
        walk(self.schema, &syntax::steps(".status.conditions")).is_ok()
    }

    /// Checks a kind without a rule, which is judged by its condition `Succeeded`.
    fn without_rule(&self) -> Option<Finding> {
        if self.is_known || self.has_conditions() {
            return None;
        }
        let message = format!("no rule says when a {} has succeeded", self.kind);
        Some(
            Finding::error(Rule::HealthRule, message)
                .at(self.document.place_of(&["spec", "template", "kind"]))
                .label("it has no conditions, and no rule is built in for it")
                .help("add spec.healthRule; alwaysHealthy: {} is for objects that are done once they exist"),
        )
    }

    fn rule(&self, rule: &Node) -> Vec<Finding> {
        let single = rule.get("singleConditionType");
        let mut findings: Vec<Finding> = single
            .and_then(|node| self.condition(node, NEVER_READY))
            .into_iter()
            .collect();
        for (side, so) in [("healthy", NEVER_READY), ("unhealthy", NEVER_MATCHES)] {
            let Some(side) = rule.at(&["multiMatch", side]) else {
                continue;
            };
            let items = |list: &str| side.get(list).map(Node::items).unwrap_or_default();
            let types = items("matchConditions")
                .iter()
                .filter_map(|it| it.get("type"));
            findings.extend(types.filter_map(|node| self.condition(node, so)));
            let fields = items("matchFields").iter();
            findings.extend(fields.filter_map(|field| self.values(field, so)));
        }
        findings
    }

    fn condition(&self, node: &Node, so: &str) -> Option<Finding> {
        if self.has_conditions() {
            return None;
        }
        let message = format!("a {} has no status.conditions", self.kind);
        let help = "name the field that decides in matchFields; alwaysHealthy: {} is for objects that are done once they exist";
        Some(self.finding(node, message, so).help(help))
    }

    /// Finds a rule whose values the field can never have.
    fn values(&self, field: &Node, so: &str) -> Option<Finding> {
        let (key, node) = (field.get("key")?.text()?, field.get("values")?);
        if field.get("operator")?.text()? != "In" {
            return None;
        }
        let Ok(Reached::Known(reached)) = walk(self.schema, &syntax::whole_path(key)?) else {
            return None;
        };
        let allowed = allowed(reached)?;
        let values: Vec<&str> = node.items().iter().filter_map(Node::text).collect();
        let first = *values.first()?;
        if values
            .iter()
            .any(|value| allowed.iter().any(|it| it == value))
        {
            return None;
        }
        let message = format!("{key} of a {} is never {}", self.kind, values.join(" or "));
        let known = allowed.iter().map(String::as_str);
        let hint = suggestion::hint(first, "it is one of", known);
        Some(self.finding(node, message, so).maybe_help(hint))
    }

    fn finding(&self, node: &Node, message: String, so: &str) -> Finding {
        let finding: fn(Rule, String) -> Finding = if so == NEVER_READY {
            Finding::error
        } else {
            Finding::warning
        };
        finding(Rule::HealthRule, message)
            .at(self.document.place(&node.span))
            .label(so.to_owned())
    }
}

/// Returns the values of a field as a healthRule compares them, if the schema lists them.
fn allowed(schema: Schema<'_>) -> Option<Vec<String>> {
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let shown = |value: &Value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        return Some(values.iter().map(shown).collect());
    }
    let is_boolean = schema.type_name() == Some("boolean");
    is_boolean.then(|| ["true", "false"].map(str::to_owned).to_vec())
}
