use proptest::prelude::*;
use serde_json::{Value, json};

use super::{InputSchema, of};

fn any_json() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec![
        "type",
        "object",
        "array",
        "string",
        "integer",
        "properties",
        "items",
        "default",
        "required",
        "enum",
        "pattern",
        "(",
        "additionalProperties",
        "anyOf",
        "oneOf",
        "not",
        "minimum",
        "nullable",
        "a",
        "b",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        words.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(words.clone().prop_map(str::to_owned), inner, 0..5)
                .prop_map(|map| json!(map)),
        ]
    })
}

proptest! {
    #[test]
    fn no_schema_and_no_inputs_can_harm_the_process(schema in any_json(), inputs in any_json()) {
        let mut problems = Vec::new();
        if let Some(schema) = InputSchema::compile(&schema, &mut problems) {
            let _ = schema.complete(Some(&inputs));
        } else {
            prop_assert!(!problems.is_empty());
        }
    }

    #[test]
    fn what_was_completed_once_is_complete(inputs in any_json()) {
        let schema = of(&json!({
            "a": { "type": "object", "default": {}, "properties": { "b": { "type": "integer", "default": 1 } } },
            "b": { "type": "array", "items": { "type": "object", "properties": { "a": { "type": "string", "default": "x" } } } },
        }));
        if let Ok(Some(once)) = schema.complete(Some(&inputs)) {
            prop_assert_eq!(schema.complete(Some(&once)), Ok(None));
        }
    }
}
