//! Parts of a `healthRule` that no run of a known kind can ever meet.

use cartouche_crds::{ConditionMatch, FieldMatch, FieldOperator, HealthMatchRule, HealthRule};
use cartouche_language::{
    Consequence, Root, Segment, Unmet, Warning, WarningKind, path::Path, suggestion,
};
use serde_json::Value;

use crate::kinds::{self, KnownKind, PodsOf};

const RULE: &str = "healthRule";
const STATUS: &str = "status";
const TRUE: &str = "True";

/// Returns all parts of a rule that a run of that `apiVersion` and kind, as in the template, never meets. Without
/// a rule, reports a kind without any sign of success.
#[must_use]
pub fn unmet(
    rule: Option<&HealthRule>,
    (api_version, kind): (&str, &str),
    template: &Value,
) -> Vec<Warning> {
    let Some(rule) = rule else {
        return Vec::from_iter(silent(api_version, kind));
    };
    let Some(known) = kinds::find_kind(api_version, kind) else {
        return Vec::new();
    };
    let mut judge = Judge {
        known,
        kind,
        template,
        found: Vec::new(),
    };
    judge.rule(rule);
    judge.found
}

fn silent(api_version: &str, kind: &str) -> Option<Warning> {
    let unmet = || Unmet {
        what: format!("no rule says when a {kind} has succeeded"),
        so: Consequence::NeverReady,
        cure: "add spec.healthRule; alwaysHealthy: {} is for objects that are done once they exist"
            .to_owned(),
    };
    kinds::is_silent(api_version, kind).then(|| Warning {
        root: Root::Template,
        at: Segment::keys(["kind"]),
        kind: WarningKind::Unmet(unmet()),
    })
}

struct Judge<'a> {
    known: &'static KnownKind,
    kind: &'a str,
    template: &'a Value,
    found: Vec<Warning>,
}

impl Judge<'_> {
    fn rule(&mut self, rule: &HealthRule) {
        let ready = Consequence::NeverReady;
        if let Some(condition) = &rule.single_condition_type {
            let at = Segment::keys([RULE, "singleConditionType"]);
            self.condition(at, condition, TRUE, ready);
        }
        if let Some(multi) = &rule.multi_match {
            self.matches("healthy", &multi.healthy, ready);
            self.matches("unhealthy", &multi.unhealthy, Consequence::NeverMatches);
        }
    }

    fn matches(&mut self, side: &str, rule: &HealthMatchRule, so: Consequence) {
        let at = |list: &str, index: usize, field: &str| {
            let mut at = Segment::keys([RULE, "multiMatch", side, list]);
            at.extend([Segment::Index(index), field.into()]);
            at
        };
        for (index, wanted) in rule.match_conditions.iter().flatten().enumerate() {
            let ConditionMatch {
                condition_type,
                status,
            } = wanted;
            let at = at("matchConditions", index, "type");
            self.condition(at, condition_type, status, so);
        }
        for (index, field) in rule.match_fields.iter().flatten().enumerate() {
            self.field(&|name: &str| at("matchFields", index, name), field, so);
        }
    }

    fn add(&mut self, at: Vec<Segment>, what: String, so: Consequence, cure: String) {
        self.found.push(Warning {
            root: Root::Spec,
            at,
            kind: WarningKind::Unmet(Unmet { what, so, cure }),
        });
    }

    fn condition(&mut self, at: Vec<Segment>, name: &str, status: &str, so: Consequence) {
        let (kind, shows) = (self.kind, self.known.shows);
        let Some(conditions) = shows.conditions.filter(|_| !name.is_empty()) else {
            return;
        };
        if !conditions.contains(&name) && !name.contains('/') && !self.may_have(name) {
            let what = format!("a {kind} never has the condition '{name}'");
            let cure = self.cure(name, "its conditions are", conditions);
            self.add(at, what, so, cure);
        } else if shows.only_true.contains(&name) && status != TRUE {
            let what = format!("the condition '{name}' of a {kind} is never {status:?}");
            let cure = "it is True, or not there".to_owned();
            self.add(at, what, so, cure);
        }
    }

    /// Returns true if a Pod may have a condition that the kubelet does not set. Other controllers set some
    /// without a prefix. A condition of another kind, or one with nearly the name of a Pod's own, is none of
    /// these.
    fn may_have(&self, name: &str) -> bool {
        let of_pods = self.known.shows.conditions.unwrap_or_default();
        let is_of_another = kinds::all()
            .filter_map(|known| known.shows.conditions)
            .any(|conditions| conditions.contains(&name));
        let is_near = suggestion::nearest(name, of_pods.iter().copied()).is_some();
        matches!(self.known.pods, PodsOf::Itself)
            && (self.is_gate(name) || !is_of_another && !is_near)
    }

    /// Returns true if a pod waits for a condition of this name, which another controller then sets.
    fn is_gate(&self, name: &str) -> bool {
        let gates = self.template.pointer("/spec/readinessGates");
        let gates = gates.and_then(Value::as_array).into_iter().flatten();
        gates
            .filter_map(|gate| gate.get("conditionType")?.as_str())
            .any(|gate| gate == name)
    }

    fn field(&mut self, at: &dyn Fn(&str) -> Vec<Segment>, field: &FieldMatch, so: Consequence) {
        let Ok(path) = Path::parse(&field.key) else {
            return;
        };
        if field.operator == FieldOperator::DoesNotExist {
            return;
        }
        if let Some(condition) = path.condition() {
            return self.condition(at("key"), condition, TRUE, so);
        }
        let keys = path.leading_keys();
        let [STATUS, below @ ..] = keys.as_slice() else {
            return;
        };
        let (kind, shows) = (self.kind, self.known.shows);
        match (shows.fields, below.first()) {
            (Some([]), _) => {
                let what = format!("a {kind} has no status");
                let cure = format!("remove healthRule: a {kind} is judged {}", self.judged());
                return self.add(at("key"), what, so, cure);
            }
            (Some(fields), Some(name)) if !fields.contains(name) => {
                let what = format!("the status of a {kind} never has '{name}'");
                let cure = self.cure(name, "it has", fields);
                return self.add(at("key"), what, so, cure);
            }
            _ => {}
        }
        let values = field.values.iter().flatten();
        let is_never = |value: &&String| !shows.phases.contains(&value.as_str());
        if field.operator == FieldOperator::In
            && below == ["phase"]
            && path.steps() == 2
            && !shows.phases.is_empty()
            && let Some(first) = values.clone().next()
            && values.clone().all(|value| is_never(&value))
        {
            let given: Vec<&str> = values.map(String::as_str).collect();
            let what = format!("the phase of a {kind} is never {}", given.join(" or "));
            let cure = self.cure(first, "its phases are", shows.phases);
            self.add(at("values"), what, so, cure);
        }
    }

    fn judged(&self) -> String {
        self.known.judged_by()
    }

    /// Returns the name that was probably meant, or advice to remove the rule.
    fn cure(&self, name: &str, are: &str, known: &[&'static str]) -> String {
        match suggestion::nearest(name, known.iter().copied()) {
            Some(meant) => format!("did you mean '{meant}'?"),
            None if known.is_empty() => {
                format!(
                    "remove healthRule: a {} is judged {}",
                    self.kind,
                    self.judged()
                )
            }
            None => format!(
                "remove healthRule: a {} is judged {}; {are} {}",
                self.kind,
                self.judged(),
                known.join(", ")
            ),
        }
    }
}
