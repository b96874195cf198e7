//! The hashes of documents that releases have rendered: no release may change one.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail like tests"
)]

mod collected;

use std::{collections::BTreeMap, env, fs, path::PathBuf};

use cartouche_crds::ClusterRunTemplateSpec;
use cartouche_templating::{Context, Rendered, Sourced, Template};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Environment variable that rewrites the file. Only until the first release.
const UPDATE: &str = "UPDATE_RENDERINGS";

/// The inputs of one rendering, with its hash.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub name: String,
    pub template: ClusterRunTemplateSpec,
    /// The Runnable, or its name among the shared objects.
    pub runnable: Value,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub selected: Value,
    /// The inputs from other objects, with the mark of the value if one refers to a Secret.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sources: BTreeMap<String, (Value, Option<String>)>,
    #[serde(default)]
    pub hash: String,
}

/// The content of the file.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Renderings {
    shared: Map<String, Value>,
    cases: Vec<Case>,
}

impl Renderings {
    fn object<'a>(&'a self, named: &'a Value) -> &'a Value {
        let name = named.as_str();
        name.map_or(named, |name| {
            self.shared.get(name).expect("a shared object")
        })
    }

    fn rendered(&self, case: &Case) -> Result<Rendered, String> {
        let said = |problems: cartouche_language::Diagnostics| problems.to_string();
        let template = Template::compile(&case.template).map_err(said)?;
        let selected = Some(self.object(&case.selected)).filter(|it| !it.is_null());
        let sources = case.sources.iter().map(|(name, (value, secret))| {
            let (value, secret) = (value.clone(), secret.clone());
            (name.clone(), Sourced { value, secret })
        });
        let context = Context::new(self.object(&case.runnable), selected).map_err(said)?;
        let context = context.with_sources(&sources.collect()).map_err(said)?;
        template.render(&context).map_err(said)
    }
}

fn file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/releases/renderings.json")
}

fn collect() -> Renderings {
    let mut found = Renderings {
        shared: collected::shared(),
        cases: Vec::new(),
    };
    for case in collected::cases() {
        // A case that cannot be rendered has no hash.
        if let Ok(rendered) = found.rendered(&case) {
            let hash = rendered.input_hash().to_owned();
            found.cases.push(Case { hash, ..case });
        }
    }
    found
}

#[test]
fn no_release_changes_the_hash_of_what_another_has_rendered() {
    if env::var_os(UPDATE).is_some() {
        let text = serde_json::to_string_pretty(&collect()).expect("JSON");
        fs::write(file(), text + "\n").expect("the file can be written");
    }
    let text = fs::read_to_string(file()).expect("the file is there");
    let known: Renderings = serde_json::from_str(&text).expect("it holds renderings");
    let is_of = |part: &str| {
        known
            .cases
            .iter()
            .filter(|it| it.name.starts_with(part))
            .count()
    };
    assert!(
        is_of("examples/") >= 15 && is_of("docs/") >= 3,
        "it lacks examples"
    );
    assert!(known.cases.len() >= 200, "only {} cases", known.cases.len());
    let changed = known
        .cases
        .iter()
        .filter_map(|case| match known.rendered(case) {
            Ok(rendered) if rendered.input_hash() == case.hash => None,
            Ok(rendered) => Some(format!("{}: {:#}", case.name, rendered.document())),
            Err(problems) => Some(format!("{} is refused: {problems}", case.name)),
        });
    let changed: Vec<String> = changed.collect();
    assert!(
        changed.is_empty(),
        "{} documents have another hash now: a release with this change would run each Runnable once more that renders such a one.\n\
         Take the change back, or hash it by a new `HashVersion` (CONTRIBUTING.md, \"Another hash\"). \
         Only until the first release: {UPDATE}=1.\n{}",
        changed.len(),
        changed.join("\n")
    );
}

#[test]
fn every_example_has_a_hash() {
    let text = fs::read_to_string(file()).expect("the file is there");
    let known: Renderings = serde_json::from_str(&text).expect("it holds renderings");
    let names: Vec<&str> = known.cases.iter().map(|it| it.name.as_str()).collect();
    for folder in collected::example_folders() {
        let prefix = format!("examples/{folder}/");
        assert!(names.iter().any(|it| it.starts_with(&prefix)), "{folder}");
    }
}
