//! The object as the API server has it, made and read by the code of the controller.

use std::collections::BTreeMap;

use cartouche_crds::{OutputSink, OutputsFrom, SinkKind};
use cartouche_engines::Sensitive;
use cartouche_language::Owner;
use cartouche_protocol::{
    ledger::Ledger,
    references::SourceKind,
    sinks::{self, FoundSink, RunOutputs, SinkContent, build_object, build_replacement},
};
use serde_json::{Value, json};

use super::world::{Object, Stored};

const RUNNABLE: Owner<'static> = Owner {
    name: "r",
    namespace: "ns",
    uid: "runnable",
};

fn sink() -> OutputSink {
    OutputSink {
        kind: SinkKind::Secret,
        name: "sink".to_owned(),
        keys: None,
    }
}

/// Returns the ledger of a Runnable.
pub(super) fn ledger(stored: Stored) -> Ledger {
    let current = json!({
        "sequence": stored.current, "inputHash": "v1:a", "phase": "Created", "apiVersion": "v1", "kind": "Run", "name": "run",
    });
    Ledger {
        current: serde_json::from_value(current).ok(),
        outputs: (stored.outputs > 0).then(|| outputs(stored.outputs)),
        outputs_from: (stored.outputs > 0).then(|| OutputsFrom {
            sources: None,
            sequence: stored.outputs.into(),
            name: String::new(),
            uid: String::new(),
            rules_hash: String::new(),
            unknown_fields: cartouche_crds::UnknownFields::default(),
        }),
        ..Ledger::default()
    }
}

fn outputs(number: u8) -> BTreeMap<String, Value> {
    [("number".to_owned(), json!(number.to_string()))].into()
}

/// Returns the content of a sink for the run of a number.
pub(super) fn content(number: u8) -> SinkContent {
    let (open, sensitive) = (outputs(number), Sensitive::default());
    let given = RunOutputs {
        open: &open,
        sensitive: &sensitive,
        declared: None,
    };
    given.content(&sink())
}

/// Returns the object as the API server shows it.
fn shown(object: Object) -> Value {
    let of = sinks::identify(&sink());
    let mut shown = build_object(
        &of,
        &RUNNABLE,
        object.sequence.into(),
        &content(object.content),
    );
    shown["metadata"]["uid"] = json!(object.uid.to_string());
    shown["metadata"]["resourceVersion"] = json!(object.version.to_string());
    if !object.is_ours {
        shown["metadata"]["ownerReferences"] = json!([]);
    }
    shown
}

/// Returns the object as the controller reads it.
pub(super) fn found(object: Object, ledger: &Ledger) -> Option<FoundSink> {
    FoundSink::from_object(SourceKind::Secret, shown(object), &RUNNABLE, ledger)
}

/// Returns the number on the object, and the number of its content, after the controller has made or replaced
/// it.
pub(super) fn sent(before: Option<&FoundSink>, number: u8) -> (u8, u8) {
    let (of, sequence) = (sinks::identify(&sink()), i64::from(number));
    let sent = match before {
        None => build_object(&of, &RUNNABLE, sequence, &content(number)),
        Some(found) => build_replacement(found, &of, &RUNNABLE, sequence, &content(number)),
    };
    let annotation = sent["metadata"]["annotations"]["carto.run/outputs-sequence"].as_str();
    let has = (0..=u8::MAX)
        .find(|number| sent["data"] == build_object(&of, &RUNNABLE, 0, &content(*number))["data"]);
    let annotated = annotation.and_then(|it| it.parse().ok());
    (annotated.unwrap_or_default(), has.unwrap_or_default())
}
