use cartouche_crds::Runnable;
use serde_json::{Value, json};

use super::*;

fn key(name: &str) -> RunnableKey {
    RunnableKey {
        namespace: "space".to_owned(),
        name: name.to_owned(),
    }
}

fn keys<const N: usize>(names: [&str; N]) -> BTreeSet<RunnableKey> {
    names.map(key).into()
}

fn runnable(name: &str, reads: &[&str], status: &Value) -> Runnable {
    let from = reads.iter().map(|source| {
        json!({ "name": format!("from-{source}"), "runnableRef": { "name": source, "output": "out" } })
    });
    let from: Vec<Value> = from.collect();
    serde_json::from_value(json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
        "metadata": { "name": name, "namespace": "space", "generation": 1 },
        "spec": { "runTemplateRef": { "name": "t" }, "inputsFrom": from },
        "status": status,
    }))
    .unwrap()
}

fn applied(index: &Dependents, name: &str, reads: &[&str], status: &Value) -> Concerned {
    let runnable = runnable(name, reads, status);
    let seen = Arc::new(Seen::of(&runnable));
    index.applied(&key(name), !reads.is_empty(), || seen.clone())
}

/// `b` and `c` read `a`, and `d` reads both.
fn diamond() -> Dependents {
    let index = Dependents::default();
    for (name, reads) in [
        ("a", &[][..]),
        ("b", &["a"]),
        ("c", &["a"]),
        ("d", &["b", "c"]),
    ] {
        applied(&index, name, reads, &json!({}));
    }
    index
}

#[test]
fn who_reads_it_looks_again_and_whoever_stems_from_these_may() {
    let index = diamond();
    applied(&index, "a", &[], &json!({ "outputs": { "out": 1 } }));
    let concerned = applied(&index, "a", &[], &json!({ "outputs": { "out": 2 } }));
    assert_eq!(concerned.readers, keys(["b", "c"]));
    assert!(concerned.outputs_changed);
    assert_eq!(concerned.further, [key("d")]);
}

#[test]
fn a_change_that_bears_on_nothing_wakes_nobody_and_one_of_anything_but_outputs_makes_nothing_old() {
    let index = diamond();
    let at_work = json!({ "observedGeneration": 1, "outputs": { "out": 1 } });
    applied(&index, "a", &[], &at_work);
    let mut told = at_work.clone();
    told["breaker"] = json!("1 u 1 2026-01-02T03:04:05Z 2");
    assert_eq!(applied(&index, "a", &[], &told), Concerned::default());
    told["pending"] = json!({ "sequence": 2, "inputHash": "", "reason": "Settling", "since": "2026-01-02T03:04:05Z" });
    let concerned = applied(&index, "a", &[], &told);
    assert_eq!(concerned.readers, keys(["b", "c"]));
    assert!(!concerned.outputs_changed);
}

#[test]
fn one_that_comes_and_goes_concerns_those_that_wait_for_it() {
    let index = Dependents::default();
    applied(&index, "b", &["a"], &json!({}));
    let come = applied(&index, "a", &[], &json!({}));
    assert_eq!((come.readers, come.outputs_changed), (keys(["b"]), true));
    let gone = index.deleted(&key("a"));
    assert_eq!((gone.readers, gone.outputs_changed), (keys(["b"]), true));
    let swept = index.sweep(|_| false);
    assert_eq!(
        swept.iter().map(|(key, _)| key).collect::<Vec<_>>(),
        [&key("b")]
    );
}

#[test]
fn nothing_is_kept_of_those_that_nobody_reads() {
    let index = diamond();
    for name in ["d", "c", "b", "a"] {
        index.deleted(&key(name));
    }
    let index = lock(&index.0);
    assert!(index.readers.is_empty() && index.reads.is_empty() && index.seen.is_empty());
}

#[test]
fn whoever_reads_another_one_now_hears_of_that_one_alone() {
    let index = diamond();
    applied(&index, "b", &["e"], &json!({}));
    let concerned = applied(&index, "a", &[], &json!({ "outputs": {} }));
    assert_eq!(concerned.readers, keys(["c"]));
    assert_eq!(applied(&index, "e", &[], &json!({})).readers, keys(["b"]));
}

#[test]
fn a_cycle_is_walked_once() {
    let index = Dependents::default();
    applied(&index, "a", &["b"], &json!({}));
    let concerned = applied(&index, "b", &["a"], &json!({}));
    assert_eq!(concerned.readers, keys(["a"]));
    assert_eq!(concerned.further, [key("b")]);
}
