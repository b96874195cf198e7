//! The hash of the rules for success and outputs. Ledgers contain it: a changed one has runs read again.

use super::*;

fn spec() -> ClusterRunTemplateSpec {
    ClusterRunTemplateSpec {
        unknown_fields: Vec::new(),
        profile: None,
        runner: None,
        requires: None,
        retry: None,
        timeout: None,
        concurrency_policy: None,
        approval: None,
        start: None,
        stop: None,
        template: template(json!({})),
        outputs: Some(
            ["a", "b"]
                .map(|name| (name.to_owned(), name.to_owned()))
                .into(),
        ),
        input_schema: None,
        optional_outputs: None,
        sensitive_outputs: None,
        failure_outputs: None,
        health_rule: Some(HealthRule {
            single_condition_type: Some("Ready".to_owned()),
            ..HealthRule::default()
        }),
    }
}

fn hash(change: impl FnOnce(&mut ClusterRunTemplateSpec)) -> String {
    let mut spec = spec();
    change(&mut spec);
    Template::compile(&spec).unwrap().rules_hash().to_owned()
}

fn optional(names: &[&str]) -> String {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    hash(|spec| spec.optional_outputs = Some(names))
}

#[test]
fn rules_have_a_hash_of_their_own() {
    let first = hash(|_| ());
    let content = template(json!({ "other": "content" }));
    assert_eq!(first, hash(|spec| spec.template = content));
    let other = BTreeMap::from([("a".to_owned(), "other".to_owned())]);
    assert_ne!(first, hash(|spec| spec.outputs = Some(other)));
    assert_ne!(first, hash(|spec| spec.health_rule = None));
    assert_ne!(first, optional(&["a"]));
    assert_ne!(optional(&["a"]), optional(&["b"]));
}

#[test]
fn the_order_of_optional_outputs_is_no_rule() {
    assert_eq!(optional(&["a", "b"]), optional(&["b", "a"]));
}

#[test]
fn a_template_without_optional_outputs_keeps_the_hash_that_it_had_before_there_were_any() {
    let rules = json!({
        "outputs": { "a": "a", "b": "b" }, "healthRule": { "singleConditionType": "Ready" },
    });
    let before = digest::hash(&rules);
    assert_eq!(hash(|_| ()), before);
    assert_eq!(optional(&[]), before);
    let none = compile(template(json!({}))).unwrap();
    assert_eq!(
        none.rules_hash(),
        "v1:7eec416986717de57b1b99806d299d1456b541c4d80439fc560a602957332faa"
    );
    assert!(!none.has_outputs());
}
