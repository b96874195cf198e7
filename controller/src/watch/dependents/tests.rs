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
    apply(index, &runnable)
}

fn apply(index: &Dependents, runnable: &Runnable) -> Concerned {
    let seen = Arc::new(Seen::from_runnable(runnable));
    index.apply(&RunnableKey::from_runnable(runnable), runnable, || {
        seen.clone()
    })
}

/// Returns a Runnable that reads a `ConfigMap`, and writes to another one.
fn through(name: &str, reads: &str, writes: &str) -> Runnable {
    let mut runnable = runnable(name, &[], &json!({}));
    let map = json!([{ "name": "x", "configMapKeyRef": { "name": reads, "key": "k" } }]);
    runnable.spec.inputs_from = serde_json::from_value(map).unwrap();
    let sink = json!([{ "kind": "ConfigMap", "name": writes }]);
    runnable.spec.write_outputs_to = serde_json::from_value(sink).unwrap();
    let written = json!({
        "observedGeneration": 1, "sinks": [{ "kind": "ConfigMap", "name": writes, "sequence": 1 }],
    });
    runnable.status = serde_json::from_value(written).unwrap();
    runnable
}

/// Applies the first Runnable that writes to any object.
fn first(index: &Dependents, runnable: &Runnable, others: &[Runnable]) -> Concerned {
    assert!(!index.knows_objects());
    let others = others.iter();
    index.know_objects(others.map(|other| (RunnableKey::from_runnable(other), other)));
    apply(index, runnable)
}

/// Returns an index in which `b` and `c` read `a`, and `d` reads both.
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
    told["pending"] = json!({ "sequence": 2, "inputHash": "", "reason": "Debouncing", "since": "2026-01-02T03:04:05Z" });
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
    let gone = index.delete(&key("a"));
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
        index.delete(&key(name));
    }
    let index = lock(&index.0);
    assert!(index.reads.is_empty() && index.seen.is_empty() && index.objects.is_none());
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

#[test]
fn whoever_stems_from_it_by_way_of_objects_looks_again_when_it_reads_or_writes_to_others() {
    let index = Dependents::default();
    // `b` reads what `a` is about to write to, and `c` reads `b`.
    let reader = through("b", "m", "n");
    apply(&index, &reader);
    applied(&index, "c", &["b"], &json!({}));
    let others = [reader.clone(), runnable("c", &["b"], &json!({}))];
    let begun = first(&index, &through("a", "n", "m"), &others);
    assert_eq!(begun.further, [key("b"), key("c"), key("a")]);
    assert!(begun.readers.is_empty());
    assert_eq!(
        index.writers(&SourceKey::object(("ConfigMap", ""), "space", "m", "")),
        [key("a")]
    );
    // Its success and its state do not concern Runnables that no Runnable holds back.
    assert_eq!(apply(&index, &through("a", "n", "m")), Concerned::default());
    let elsewhere = apply(&index, &through("a", "n", "o"));
    assert_eq!(elsewhere.further, [key("b"), key("c"), key("a")]);
    assert_eq!(apply(&index, &through("a", "p", "o")), Concerned::default());
    // Through another object, and then through a Runnable.
    let moved = apply(&index, &through("b", "o", "p"));
    assert_eq!(moved.readers, keys(["c"]));
    assert_eq!(moved.further, [key("a"), key("b")]);
    assert_eq!(index.delete(&key("b")).further, [key("a")]);
}

#[test]
fn nothing_is_kept_of_the_objects_of_those_that_are_gone() {
    let index = Dependents::default();
    first(&index, &through("a", "n", "m"), &[]);
    apply(&index, &through("b", "m", "n"));
    index.delete(&key("a"));
    let swept = index.sweep(|_| false);
    assert_eq!(swept.len(), 1);
    let objects = lock(&index.0).objects.take();
    assert!(objects.is_some_and(|objects| objects.is_empty()));
}

#[test]
fn what_one_reads_or_writes_counts_once_its_status_says_so_and_who_stems_from_it_looks_again() {
    let index = Dependents::default();
    let object = SourceKey::object(("ConfigMap", ""), "space", "m", "");
    let a = |generation: i64, status: &Value| {
        let mut it = runnable("a", &["c"], status);
        it.metadata.generation = Some(generation);
        let sink = json!([{ "kind": "ConfigMap", "name": "m" }]);
        it.spec.write_outputs_to = serde_json::from_value(sink).unwrap();
        it
    };
    let sinks = |sequence: i64, behind: bool| {
        let sink =
            json!({ "kind": "ConfigMap", "name": "m", "sequence": sequence, "behind": behind });
        json!({ "observedGeneration": 1, "sinks": [sink] })
    };
    let b = through("b", "m", "n");
    first(&index, &a(1, &json!({})), std::slice::from_ref(&b));
    assert_eq!(index.writers(&object), []);
    assert_eq!(apply(&index, &a(1, &sinks(0, true))).further, []);
    assert_eq!(index.writers(&object), []);
    // It has written it now, and `b` reads it.
    assert_eq!(apply(&index, &a(1, &sinks(1, false))).further, [key("b")]);
    assert_eq!(index.writers(&object), [key("a")]);
    assert_eq!(apply(&index, &a(1, &sinks(2, false))), Concerned::default());
    // An edit that leaves the sources as they are takes back nothing that was read.
    assert!(index.has_read(&key("a")));
    assert_eq!(apply(&index, &a(2, &sinks(2, false))), Concerned::default());
    assert!(index.has_read(&key("a")));
    // After an edit of the sources that is not observed yet, or with a permission revoked, its reads do not count.
    let mut moved = a(3, &sinks(2, false));
    moved.spec.inputs_from = runnable("a", &["d"], &json!({})).spec.inputs_from;
    assert_eq!(apply(&index, &moved).further, [key("b")]);
    assert!(!index.has_read(&key("a")));
    let back = a(4, &sinks(2, false));
    assert_eq!(apply(&index, &back).further, [key("b")]);
    assert!(
        !index.has_read(&key("a")),
        "nothing says that it was read since"
    );
    let mut denied = sinks(2, false);
    denied["observedGeneration"] = json!(2);
    assert_eq!(apply(&index, &a(2, &denied)).further, [key("b")]);
    assert!(index.has_read(&key("a")));
    let condition = json!({
        "type": "RunTemplateReady", "status": "False", "reason": "SourceError", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    denied["conditions"] = json!([condition]);
    assert_eq!(apply(&index, &a(2, &denied)).further, [key("b")]);
    assert!(!index.has_read(&key("a")));
    assert_eq!(apply(&index, &a(2, &denied)), Concerned::default());
    // Another Runnable's object is in its place.
    denied["sinks"][0]["behind"] = json!(true);
    assert_eq!(apply(&index, &a(2, &denied)).further, [key("b")]);
    assert_eq!(index.writers(&object), []);
}
