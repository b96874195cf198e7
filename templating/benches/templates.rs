//! Costs of templates, by the number of their tags: each must grow no faster than the tags.
//!
//! `cargo bench --package cartouche-templating`

use cartouche_crds::ClusterRunTemplateSpec;
use cartouche_language::Owner;
use cartouche_templating::{Context, Stamp, Template, contains, stamp};
use divan::{Bencher, black_box};
use serde_json::{Map, Value, json};

const TAGS: [usize; 4] = [1, 10, 100, 1000];

fn main() {
    divan::main();
}

/// Returns a template with so many strings, each with or without a tag.
fn spec(strings: usize, tags: bool) -> ClusterRunTemplateSpec {
    let value = if tags {
        "value $(runnable.spec.inputs.revision)$ of it"
    } else {
        "value main of it"
    };
    let data: Map<String, Value> = (0..strings)
        .map(|index| (format!("field{index:04}"), value.into()))
        .collect();
    let template = json!({
        "apiVersion": "example.com/v1",
        "kind": "Build",
        "metadata": { "generateName": "build-" },
        "spec": data,
    });
    let outputs =
        json!({ "digest": ".status.digest", "url": "{.status.results[?(@.name==\"url\")].value}" });
    serde_json::from_value(json!({ "template": template, "outputs": outputs }))
        .unwrap_or_else(|error| fail(&error))
}

fn compiled(strings: usize, tags: bool) -> Template {
    Template::compile(&spec(strings, tags)).unwrap_or_else(|error| fail(&error))
}

fn context() -> Context {
    let runnable = json!({
        "metadata": { "name": "hello", "namespace": "default", "uid": "0b8f" },
        "spec": { "runTemplateRef": { "name": "build" }, "inputs": { "revision": "main", "url": "https://git.example.com/hello" } },
    });
    Context::new(&runnable, None).unwrap_or_else(|error| fail(&error))
}

/// Ends the process: a benchmark that cannot start is broken.
fn fail<T>(error: &dyn std::fmt::Display) -> T {
    eprintln!("error: {error}");
    std::process::exit(1)
}

#[divan::bench(args = TAGS)]
fn compile(bencher: Bencher, tags: usize) {
    let spec = spec(tags, true);
    bencher.bench_local(|| Template::compile(black_box(&spec)));
}

/// Includes the checks of the rendered document and its digest, as every reconcile of a Runnable does.
#[divan::bench(args = TAGS)]
fn render(bencher: Bencher, tags: usize) {
    let (template, context) = (compiled(tags, true), context());
    bencher.bench_local(|| template.render(black_box(&context)));
}

/// A document without tags: this leaves copying, checking and hashing it.
#[divan::bench(args = TAGS)]
fn digest(bencher: Bencher, strings: usize) {
    let (template, context) = (compiled(strings, false), context());
    bencher.bench_local(|| template.render(black_box(&context)));
}

#[divan::bench(args = TAGS)]
fn stamp_run(bencher: Bencher, tags: usize) {
    let rendered = compiled(tags, true)
        .render(&context())
        .unwrap_or_else(|error| fail(&error));
    let stamped = Stamp {
        owner: Owner {
            name: "hello",
            namespace: "default",
            uid: "0b8f",
        },
        template_name: "build",
        name: "build-abcdefghij",
        sequence: 1,
        input_hash: rendered.input_hash(),
        rerun_token: None,
        rerun_request: None,
        sources: None,
        profile: None,
        profile_refresh: None,
    };
    bencher.bench_local(|| stamp(black_box(&rendered), &stamped));
}

/// Comparison of an existing object with the rendered document, which a controller does when it takes over.
#[divan::bench(args = TAGS)]
fn adopt(bencher: Bencher, tags: usize) {
    let rendered = compiled(tags, true)
        .render(&context())
        .unwrap_or_else(|error| fail(&error));
    let live = rendered.document().clone();
    bencher.bench_local(|| contains(black_box(&live), &rendered));
}

/// Outputs of a run whose status has so many results.
#[divan::bench(args = TAGS)]
fn outputs(bencher: Bencher, results: usize) {
    let template = compiled(1, true);
    let results: Vec<Value> = (0..results)
        .map(|index| json!({ "name": if index == 0 { "url".to_owned() } else { format!("r{index}") }, "value": "v" }))
        .collect();
    let run = json!({
        "apiVersion": "example.com/v1", "kind": "Build",
        "status": { "digest": "sha256:0", "results": results },
    });
    bencher.bench_local(|| template.outputs(black_box(&run)));
}
