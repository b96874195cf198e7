//! Cases to render: examples, whole templates of the docs, corpora of the fuzzer, and random documents.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use cartouche_crds::ClusterRunTemplateSpec;
use cartouche_templating::secret_mark;
use serde_json::{Map, Value, json};

use super::Case;

/// Number of random documents.
const BY_CHANCE: u64 = 200;

/// Returns the objects that many cases share.
pub fn shared() -> Map<String, Value> {
    let object = json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
        "metadata": {
            "name": "rn", "namespace": "ns", "uid": "0f5c9f62-2b0e-4c8e-a2d4-7a2a1f6a3c10", "generation": 3,
            "labels": { "app.kubernetes.io/name": "shop", "a": "b" },
            "annotations": { "carto.run/rerun-token": "1", "team": "shop" },
        },
        "spec": {
            "runTemplateRef": { "name": "t" }, "serviceAccountName": "sa",
            "inputs": {
                "text": "x", "number": 7, "large": 9_223_372_036_854_775_807_i64, "part": 0.5, "whole": 2.0, "no": false,
                "nil": null, "list": [1, [2, 3], { "name": "a", "value": 1 }, { "name": "b", "value": "2" }, null],
                "": "empty", "é": "accent", "a b": "blank", "tag": "$(runnable.kind)$",
            },
        },
        "status": { "results": [{ "name": "digest", "value": "sha256:abc" }], "phase": "Succeeded" },
    });
    let mut secret = object.clone();
    secret["kind"] = "Secret".into();
    secret["data"] = json!({ "pin": "NzMwNg==" });
    [("object", object), ("secret", secret)]
        .map(|(name, it)| (name.to_owned(), it))
        .into_iter()
        .collect()
}

pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for folder in example_folders() {
        let files = yaml_in(&root().join("examples").join(&folder));
        let texts = files.iter().map(|file| read(file));
        let objects: Vec<_> = texts.flat_map(|text| objects(&text)).collect();
        cases.extend(of_objects(&format!("examples/{folder}"), &objects));
    }
    let folders = files_in(&root().join("docs"));
    let pages = folders.iter().filter(|it| it.is_dir());
    let pages = pages.flat_map(|folder| files_in(folder));
    for page in pages.filter(|it| it.extension().is_some_and(|it| it == "md")) {
        let name = page.strip_prefix(root().join("docs")).expect("below docs");
        let name = name.to_string_lossy().into_owned();
        let objects: Vec<_> = blocks(&read(&page))
            .iter()
            .flat_map(|text| objects(text))
            .collect();
        cases.extend(of_objects(&format!("docs/{name}"), &objects));
    }
    cases.extend(of_corpus("tag", |text| Some(config_map(json!(text)))));
    cases.extend(of_corpus("digest", |text| {
        Some(config_map(serde_json::from_str(text).ok()?))
    }));
    cases.extend(of_corpus("template", |text| {
        serde_json::from_str(text).ok()
    }));
    cases.extend((0..BY_CHANCE).map(by_chance));
    cases
}

/// Returns the folders of examples that hold a Runnable.
pub fn example_folders() -> Vec<String> {
    let folders = files_in(&root().join("examples"));
    let folders = folders.iter().filter(|it| it.is_dir());
    let with_runnable = folders.filter(|folder| {
        let mut texts = yaml_in(folder).into_iter().map(|file| read(&file));
        texts.any(|text| objects(&text).iter().any(|it| it["kind"] == "Runnable"))
    });
    let names = with_runnable.map(|it| it.file_name().expect("a name").to_string_lossy());
    names.map(Cow::into_owned).collect()
}

/// Returns each Runnable with its template.
fn of_objects(place: &str, objects: &[Value]) -> Vec<Case> {
    let named = |kind: &str, name: &Value| {
        let mut all = objects.iter();
        all.find(|it| it["kind"] == kind && it["metadata"]["name"] == *name)
    };
    let runnables = objects.iter().filter(|it| it["kind"] == "Runnable");
    let cases = runnables.filter_map(|runnable| {
        let template = named(
            "ClusterRunTemplate",
            &runnable["spec"]["runTemplateRef"]["name"],
        )?;
        let mut runnable = runnable.clone();
        runnable["metadata"]["uid"] = "0f5c9f62-2b0e-4c8e-a2d4-7a2a1f6a3c10".into();
        let asked = &runnable["spec"]["selector"]["resource"];
        let selected = objects
            .iter()
            .find(|it| !asked.is_null() && it["kind"] == asked["kind"]);
        let spec: ClusterRunTemplateSpec = serde_json::from_value(template["spec"].clone()).ok()?;
        Some(Case {
            name: format!("{place}/{}", runnable["metadata"]["name"].as_str()?),
            template: spec,
            selected: selected.cloned().unwrap_or_default(),
            sources: sources(&runnable),
            runnable,
            hash: String::new(),
        })
    });
    cases.collect()
}

/// Returns a value for each required input from another object.
fn sources(runnable: &Value) -> BTreeMap<String, (Value, Option<String>)> {
    let inputs = runnable["spec"]["inputsFrom"].as_array();
    let inputs = inputs.into_iter().flatten();
    let needed = inputs.filter(|it| it["optional"] != true);
    let given = needed.filter_map(|input| {
        let name = input["name"].as_str()?.to_owned();
        let secret = &input["secretKeyRef"];
        let given = if let Some(key) = secret["key"].as_str() {
            let reference = json!({ "name": secret["name"], "key": key });
            (reference, Some(secret_mark("uid", key, b"value")))
        } else if input["configMapKeyRef"]["as"] == "JSON" {
            (json!({ "batch": 500, "dryRun": false }), None)
        } else {
            (json!("9f2d1c7a5b3e"), None)
        };
        Some((name, given))
    });
    given.collect()
}

fn of_corpus(target: &str, template: impl Fn(&str) -> Option<Value>) -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/corpus")
        .join(target);
    let cases = files_in(&folder).into_iter().filter_map(|file| {
        let text = fs::read_to_string(&file).ok()?;
        let name = file.file_name()?.to_string_lossy().into_owned();
        case(
            format!("corpus/{target}/{name}"),
            &template(&text)?,
            "object",
        )
    });
    cases.collect()
}

fn case(name: String, template: &Value, selected: &str) -> Option<Case> {
    Some(Case {
        name,
        template: serde_json::from_value(json!({ "template": template })).ok()?,
        runnable: "object".into(),
        selected: selected.into(),
        sources: BTreeMap::new(),
        hash: String::new(),
    })
}

fn config_map(data: Value) -> Value {
    let mut template = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "generateName": "x-" },
    });
    template["data"] = data;
    template
}

/// Values in random documents; the selected object is a Secret in some of them.
const LEAVES: [&str; 16] = [
    "$(runnable.spec.inputs.text)$",
    "$(runnable.spec.inputs.number)$",
    "$(runnable.spec.inputs.large)$",
    "$(runnable.spec.inputs.part)$ parts",
    "$(runnable.spec.inputs.whole)$",
    "$(runnable.spec.inputs.no)$",
    "$(runnable.spec.inputs.nil)$",
    "$(runnable.spec.inputs.list)$",
    "$(runnable.spec.inputs['é'])$",
    "$(runnable.metadata)$",
    "$(runnable.metadata.labels.app\\.kubernetes\\.io/name)$",
    "$(selected.status.results[0].value)$",
    "$(selected.metadata.name)$-$(runnable.metadata.name)$",
    "$(run.name)$",
    "$(runnable.spec)$",
    "plain",
];

fn by_chance(seed: u64) -> Case {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut template = config_map(random.value(3));
    let labels = json!({ "team": "$(runnable.metadata.labels.a)$" });
    if random.below(3) == 0 {
        template["metadata"]["labels"] = labels;
    }
    let selected = if random.below(4) == 0 {
        "secret"
    } else {
        "object"
    };
    case(format!("chance/{seed}"), &template, selected).expect("a template")
}

/// A generator of the same numbers each time.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }

    fn value(&mut self, deep: u64) -> Value {
        let kind = if deep == 0 { 9 } else { self.below(10) };
        let length = 1 + self.below(3);
        match kind {
            0..=2 => (0..length).map(|_| self.value(deep - 1)).collect(),
            3..=5 => {
                let entries = (0..length).map(|n| (format!("k{n}"), self.value(deep - 1)));
                Value::Object(entries.collect())
            }
            6 => json!(self.below(1 << 40)),
            7 => [
                json!(null),
                json!(true),
                json!(1.5),
                json!(-3),
                json!(1e300),
            ]
            .into_iter()
            .nth(usize::try_from(self.below(5)).unwrap_or_default())
            .unwrap_or_default(),
            _ => {
                let at = usize::try_from(self.below(16)).unwrap_or_default();
                LEAVES[at].into()
            }
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    let mut files: Vec<_> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    files
}

fn yaml_in(folder: &Path) -> Vec<PathBuf> {
    let mut files = files_in(folder);
    files.retain(|file| file.extension().is_some_and(|it| it == "yaml"));
    files
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).expect("a file")
}

/// Returns the objects in a text of YAML, without other values.
fn objects(text: &str) -> Vec<Value> {
    let documents = text.split("\n---");
    let read = documents.filter_map(|it| serde_saphyr::from_str::<Value>(it).ok());
    read.filter(Value::is_object).collect()
}

/// Returns the blocks of YAML in a page.
fn blocks(page: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for line in page.lines() {
        let indent = line.len() - line.trim_start().len();
        match &mut open {
            None if line.trim_start().starts_with("```yaml") => {
                open = Some((indent, String::new()));
            }
            None => {}
            Some(_) if line.trim_start().starts_with("```") => {
                blocks.extend(open.take().map(|(_, text)| text));
            }
            Some((indent, text)) => {
                text.push_str(line.get(*indent..).unwrap_or_default());
                text.push('\n');
            }
        }
    }
    blocks
}
