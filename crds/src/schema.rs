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
                    "description": "What the condition speaks of.",
                    "pattern": "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
                },
                "status": {
                    "type": "string", "enum": ["True", "False", "Unknown"],
                    "description": "True, False or Unknown.",
                },
                "reason": {
                    "type": "string", "minLength": 1, "maxLength": 1024,
                    "description": "Why, in one CamelCase word.",
                    "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
                },
                "message": {
                    "type": "string", "maxLength": 32768,
                    "description": "Why, in a sentence for people.",
                },
                "lastTransitionTime": {
                    "type": "string", "format": "date-time",
                    "description": "When the status last changed.",
                },
                "observedGeneration": {
                    "type": "integer", "format": "int64", "minimum": 0,
                    "description": "The metadata.generation that the condition was computed from.",
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
                "description": "Labels with these values.",
                "additionalProperties": { "type": "string", "maxLength": 63 },
            },
            "matchExpressions": {
                "type": "array", "maxItems": 32,
                "description": "What else has to hold of the labels.",
                "items": {
                    "type": "object",
                    "required": ["key", "operator"],
                    "properties": {
                        "key": {
                            "type": "string", "minLength": 1, "maxLength": 317,
                            "description": "The key of the label.",
                        },
                        "operator": {
                            "type": "string", "enum": ["In", "NotIn", "Exists", "DoesNotExist"],
                            "description": "What has to hold of it. NotIn also holds where the label is missing.",
                        },
                        "values": {
                            "type": "array", "maxItems": 64,
                            "description": "The values of In and NotIn.",
                            "items": { "type": "string", "maxLength": 63 },
                        },
                    },
                },
            },
        },
    })
}
