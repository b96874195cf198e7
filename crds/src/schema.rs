//! Schemas that cannot be derived from a Rust type.

use schemars::{Schema, SchemaGenerator, json_schema};

/// Schema of a map whose values are any JSON, null included: without `nullable` the API server drops nulls.
pub(crate) fn any_json_map(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "additionalProperties": { "x-kubernetes-preserve-unknown-fields": true, "nullable": true },
    })
}

/// Schema of any value, which the API server does not inspect. It would validate each line of a list of strings by
/// itself, at every write.
pub(crate) fn anything(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "x-kubernetes-preserve-unknown-fields": true })
}

/// Removes the default, which the API server would write into each object.
pub(crate) fn without_default(schema: &mut Schema) {
    schema.remove("default");
}

/// Schema of any JSON object.
pub(crate) fn any_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
}

/// Schema of `metav1.Condition[]` with the bounds of the Kubernetes API conventions, one entry per type.
pub(crate) fn conditions(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["type", "status", "reason", "message", "lastTransitionTime"],
            "properties": {
                "type": {
                    "type": "string", "maxLength": 316,
                    "description": "Type of the condition.",
                    "pattern": "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
                },
                "status": {
                    "type": "string", "enum": ["True", "False", "Unknown"],
                    "description": "Status of the condition: True, False or Unknown.",
                },
                "reason": {
                    "type": "string", "minLength": 1, "maxLength": 1024,
                    "description": "Reason for the status, as one CamelCase word.",
                    "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
                },
                "message": {
                    "type": "string", "maxLength": 32768,
                    "description": "Reason for the status, as a sentence.",
                },
                "lastTransitionTime": {
                    "type": "string", "format": "date-time",
                    "description": "Time of the last change of the status.",
                },
                "observedGeneration": {
                    "type": "integer", "format": "int64", "minimum": 0,
                    "description": "Value of metadata.generation that the condition was computed from.",
                },
            },
        },
    })
}

/// Schema of `metav1.LabelSelector` with bounds. The controller checks the syntax of keys and values.
pub(crate) fn label_selector(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "properties": {
            "matchLabels": {
                "type": "object", "maxProperties": 32,
                "description": "Labels that must have exactly these values.",
                "additionalProperties": { "type": "string", "maxLength": 63 },
            },
            "matchExpressions": {
                "type": "array", "maxItems": 32,
                "description": "Further requirements on the labels; all must hold.",
                "items": {
                    "type": "object",
                    "required": ["key", "operator"],
                    "properties": {
                        "key": {
                            "type": "string", "minLength": 1, "maxLength": 317,
                            "description": "Key of the label.",
                        },
                        "operator": {
                            "type": "string", "enum": ["In", "NotIn", "Exists", "DoesNotExist"],
                            "description": "Relation of the label's value to values. NotIn also holds if the label is missing.",
                        },
                        "values": {
                            "type": "array", "maxItems": 64,
                            "description": "Values for In and NotIn; empty for Exists and DoesNotExist.",
                            "items": { "type": "string", "maxLength": 63 },
                        },
                    },
                },
            },
        },
    })
}
