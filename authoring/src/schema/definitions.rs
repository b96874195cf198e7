//! Kinds out of the documents that define some: `CustomResourceDefinition`s and OpenAPI.

use std::{collections::BTreeMap, rc::Rc};

use serde_json::{Value, json};

use super::{
    bundled,
    kind_schema::{KindName, KindSchema},
};

/// Returns the schemas of a `CustomResourceDefinition`, one for each version; none for any other document.
pub(super) fn of_custom_resource(document: &Value) -> Vec<(KindName, Rc<KindSchema>)> {
    let text = |pointer: &str| document.pointer(pointer).and_then(Value::as_str);
    let (Some("CustomResourceDefinition"), Some(group), Some(kind)) =
        (text("/kind"), text("/spec/group"), text("/spec/names/kind"))
    else {
        return Vec::new();
    };
    let namespaced = text("/spec/scope").map(|scope| scope == "Namespaced");
    let versions = document.pointer("/spec/versions").and_then(Value::as_array);
    let schemas = versions.into_iter().flatten().filter_map(|version| {
        let name = version.get("name")?.as_str()?;
        let schema = version.pointer("/schema/openAPIV3Schema")?;
        let known = KindSchema {
            document: Rc::new(json!({ "kind": as_object(schema.clone()) })),
            pointer: "/kind".to_owned(),
            namespaced,
            plural: text("/spec/names/plural").map(str::to_owned),
            built_in: false,
        };
        Some(((format!("{group}/{name}"), kind.to_owned()), Rc::new(known)))
    });
    schemas.collect()
}

/// Adds the fields that every custom resource has, even if its definition lacks them.
fn as_object(mut schema: Value) -> Value {
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        for field in ["apiVersion", "kind"] {
            properties
                .entry(field)
                .or_insert_with(|| json!({ "type": "string" }));
        }
        // A definition can only narrow the name in it.
        properties.insert("metadata".to_owned(), bundled::object_meta());
    }
    schema
}

/// Returns the kinds of an OpenAPI document, version 2 or 3.
pub(super) fn of_open_api(document: Value) -> Vec<(KindName, Rc<KindSchema>)> {
    let served = served(&document);
    let document = Rc::new(document);
    let mut found = Vec::new();
    for base in ["/components/schemas", "/definitions"] {
        let schemas = document.pointer(base).and_then(Value::as_object);
        for (name, schema) in schemas.into_iter().flatten() {
            let kinds = schema
                .get("x-kubernetes-group-version-kind")
                .and_then(Value::as_array);
            for kind in kinds.into_iter().flatten() {
                let kind_name = kind_name(kind);
                let known = KindSchema {
                    document: Rc::clone(&document),
                    pointer: format!("{base}/{}", name.replace('~', "~0").replace('/', "~1")),
                    namespaced: served.get(&kind_name).map(|served| served.0),
                    plural: served.get(&kind_name).and_then(|served| served.1.clone()),
                    // The success of a run is known, no matter where its fields come from.
                    built_in: bundled::names()
                        .any(|known| known == (kind_name.0.as_str(), kind_name.1.as_str())),
                };
                found.push((kind_name, Rc::new(known)));
            }
        }
    }
    found
}

/// Returns for each kind whether its objects are in a namespace, and its plural name, from the paths for creation. A
/// kind that is created below another object has no plural name of its own.
fn served(document: &Value) -> BTreeMap<KindName, (bool, Option<String>)> {
    let paths = document.get("paths").and_then(Value::as_object);
    let created = paths.into_iter().flatten().filter_map(|(path, item)| {
        let kind = item.pointer("/post/x-kubernetes-group-version-kind")?;
        let (above, last) = path.rsplit_once('/')?;
        let plural = (!above.ends_with("{name}")).then(|| last.to_owned());
        let is_namespaced = path.contains("/namespaces/{namespace}/");
        Some((kind_name(kind), (is_namespaced, plural)))
    });
    created.collect()
}

/// Returns the name in an `x-kubernetes-group-version-kind`.
fn kind_name(kind: &Value) -> KindName {
    let text = |key: &str| kind.get(key).and_then(Value::as_str).unwrap_or_default();
    let api_version = match (text("group"), text("version")) {
        ("", version) => version.to_owned(),
        (group, version) => format!("{group}/{version}"),
    };
    (api_version, text("kind").to_owned())
}
