//! Characters that a terminal acts upon, shows in another order or does not show, in every field that others write: no
//! command prints one of them.

use std::{collections::BTreeSet, fs, path::Path, thread};

use serde_json::{Value, json};

use crate::support::{Output, command, finish, played::Played};

/// Stands around the text that is searched for, so that it is seen where it is printed.
const MARK: &str = "EVIL";
/// Commands to a terminal, one of them a colour that this command paints with itself; and some to CI systems, which
/// read logs.
const COMMANDS: [&str; 6] = [
    "\u{1b}[2J",
    "\u{1b}]0;title\u{7}",
    "\u{1b}[31mEVIL",
    "\u{9b}2J",
    "\u{8}\r\u{7f}",
    "\n ::error::EVIL\n::add-mask::E\n##[error]E##vso[task.complete]",
];
const CHARACTERS: [char; 29] = [
    '\u{85}',
    '\u{9d}',
    '\u{202a}',
    '\u{202b}',
    '\u{202c}',
    '\u{202d}',
    '\u{202e}',
    '\u{2066}',
    '\u{2067}',
    '\u{2068}',
    '\u{2069}',
    '\u{200e}',
    '\u{200f}',
    '\u{61c}',
    '\u{200b}',
    '\u{200c}',
    '\u{200d}',
    '\u{2060}',
    '\u{feff}',
    '\u{ad}',
    '\u{2028}',
    '\u{2029}',
    '\u{e0001}',
    '\u{e0041}',
    '\u{e007f}',
    '\u{3164}',
    '\u{fe0f}',
    '\u{fffe}',
    '\u{ffff}',
];

fn hostile() -> String {
    let characters: String = CHARACTERS.iter().collect();
    [MARK, &COMMANDS.concat(), &characters, MARK].concat()
}

/// Returns the hostile part that is left in a text, colours of the command aside.
fn found_in(text: &str) -> Option<String> {
    let mut plain = text.replace("\u{1b}[31mEVIL", "\u{1b}!");
    for code in (0..=1).chain(31..=36).chain(91..=96) {
        plain = plain.replace(&format!("\u{1b}[{code}m"), "");
    }
    let is_wrong = |c: char| {
        let is_own = matches!(c, '\n' | '\t');
        !is_own && (c.is_control() || CHARACTERS.contains(&c))
    };
    let is_order = |line: &str| {
        let line = line.trim_start();
        // The place of a finding begins with three colons, which are no command.
        let begins_as_one = line.starts_with("::") && !line.starts_with(":::");
        let annotates = begins_as_one && !line.contains(" title=cartouche");
        annotates || line.contains("##[") || line.contains("##vso[")
    };
    let wrong = plain
        .lines()
        .find(|line| line.contains(is_wrong) || is_order(line));
    wrong.map(|line| format!("{line:?}"))
}

fn check(output: &Output, what: &str) {
    for text in [&output.out, &output.err] {
        assert_eq!(found_in(text), None, "{what}");
    }
}

fn template() -> Value {
    json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "ClusterRunTemplate",
        "metadata": { "name": "greet", "annotations": { "a.b/c": "note" } },
        "spec": {
            "inputSchema": {
                "type": "object", "required": ["name"], "description": "all inputs",
                "properties": {
                    "name": { "type": "string", "description": "whom", "default": "you", "example": "her", "pattern": "^[\\s\\S]*$" },
                    "size": { "type": "string", "enum": ["s", "m"], "default": "s" },
                },
            },
            "template": {
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": { "generateName": "$(runnable.metadata.name)$-", "labels": { "app": "greet" } },
                "data": { "said": "Hello, $(runnable.spec.inputs.name)$", "settings": "$(runnable.spec.inputs.size)$", "plain": "two\nlines" },
            },
            "healthRule": { "alwaysHealthy": {} },
            "outputs": { "said": ".data.said" },
            "optionalOutputs": ["said"],
        },
    })
}

fn runnable() -> Value {
    json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
        "metadata": { "name": "hello", "namespace": "demo", "annotations": { "a.b/c": "note" } },
        "spec": {
            "serviceAccountName": "greeter",
            "runTemplateRef": { "name": "greet" },
            "inputs": { "name": "world" },
            "inputsFrom": [{ "name": "size", "configMapKeyRef": { "name": "sizes", "key": "size" } }],
            "writeOutputsTo": [{ "kind": "ConfigMap", "name": "greeting" }],
        },
    })
}

fn sources() -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "sizes", "namespace": "demo" }, "data": { "size": "m" } })
}

fn case() -> Value {
    json!({ "description": "a greeting", "inputs": { "name": "moon" }, "sources": "sources.yaml" })
}

fn expected() -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "hello-x" }, "data": { "said": "Good evening" } })
}

/// Returns every document with one of its texts, or one of its keys, made hostile, and the name of that part.
fn variants(document: &Value) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    match document {
        Value::String(text) => found.push((String::new(), json!(text.clone() + &hostile()))),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                for (at, changed) in variants(item) {
                    let mut whole = document.clone();
                    whole[index] = changed;
                    found.push((format!("[{index}]{at}"), whole));
                }
            }
        }
        Value::Object(fields) => {
            for (key, value) in fields {
                let mut renamed = fields.clone();
                renamed.remove(key);
                renamed.insert(key.clone() + &hostile(), value.clone());
                found.push((format!(".{key} (key)"), Value::Object(renamed)));
                for (at, changed) in variants(value) {
                    let mut whole = document.clone();
                    whole[key] = changed;
                    found.push((format!(".{key}{at}"), whole));
                }
            }
        }
        _ => {}
    }
    found
}

/// Writes a file of JSON, which is YAML: with characters as they are, except for those that no YAML may have.
fn write(folder: &Path, file: &str, document: &Value) {
    let text: String = format!("{document:#}")
        .chars()
        .map(|c| match u32::from(c) {
            0x7f..=0x9f | 0xfeff | 0xfffe | 0xffff => format!("\\u{:04x}", u32::from(c)),
            _ => c.to_string(),
        })
        .collect();
    fs::write(folder.join(file), text).unwrap();
}

const COMMAND_LINES: [&[&str]; 15] = [
    &["render", "."],
    &["render", ".", "--explain"],
    &["render", ".", "-o", "json", "--explain"],
    &["validate", "."],
    &["validate", ".", "-o", "json"],
    &["validate", ".", "-o", "sarif"],
    &["validate", ".", "-o", "github"],
    &["test", "."],
    &["test", ".", "--list"],
    &["explain", "-f", "."],
    &["graph", "-f", "."],
    &["graph", "-f", ".", "-o", "dot"],
    &["graph", "-f", ".", "-o", "mermaid"],
    &["rbac", "-f", "."],
    &["migrate", "check", "."],
];

/// Creates the files, with this document in place of one of them.
fn play(file: &str, document: &Value) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let case_folder = folder.path().join("tests/one");
    fs::create_dir_all(&case_folder).unwrap();
    for (name, folder, whole) in [
        ("template.yaml", folder.path(), template()),
        ("runnable.yaml", folder.path(), runnable()),
        ("sources.yaml", folder.path(), sources()),
        ("case.yaml", folder.path(), case()),
        ("expected.yaml", case_folder.as_path(), expected()),
    ] {
        write(folder, name, if name == file { document } else { &whole });
    }
    folder
}

#[test]
fn no_command_prints_such_a_character_of_a_file() {
    let documents = [
        ("template.yaml", template()),
        ("runnable.yaml", runnable()),
        ("sources.yaml", sources()),
        ("case.yaml", case()),
        ("expected.yaml", expected()),
    ];
    let seen: Vec<_> = thread::scope(|scope| {
        let places = documents.iter().map(|(file, document)| {
            scope.spawn(move || lines_that_print_a_mark_of(file, document))
        });
        let places: Vec<_> = places.collect();
        places.into_iter().map(|it| it.join().unwrap()).collect()
    });
    for (line, command) in COMMAND_LINES.iter().enumerate() {
        let prints = seen.iter().any(|lines| lines.contains(&line));
        assert!(prints, "{command:?} prints nothing of it");
    }
}

/// Plays every variant of a file. Returns the command lines that print something of it, by their places.
fn lines_that_print_a_mark_of(file: &str, document: &Value) -> BTreeSet<usize> {
    let mut printing = BTreeSet::new();
    for (at, hostile) in variants(document) {
        let folder = play(file, &hostile);
        for (place, line) in COMMAND_LINES.iter().enumerate() {
            // Only `test` reads these files.
            if (file == "case.yaml" || file == "expected.yaml") && line[0] != "test" {
                continue;
            }
            let arguments = [&["--color", "always"], *line].concat();
            let output = finish(&mut command(folder.path(), &arguments));
            check(&output, &format!("{arguments:?}: {file} {at}"));
            if (output.out + &output.err).contains(MARK) {
                printing.insert(place);
            }
        }
    }
    printing
}

#[test]
fn no_command_prints_such_a_character_of_the_name_of_a_file_or_of_a_text() {
    let folder = play("", &Value::Null);
    let inner = folder
        .path()
        .join(format!("tests/{}", hostile().replace('/', "")));
    fs::create_dir_all(&inner).unwrap();
    fs::write(inner.join("expected-error.txt"), hostile()).unwrap();
    write(
        &inner,
        &format!("{MARK}\u{202e}\u{1b}[31mEVIL.yaml"),
        &template(),
    );
    for line in COMMAND_LINES {
        let arguments = [&["--color", "always"], line].concat();
        let output = finish(&mut command(folder.path(), &arguments));
        check(&output, &format!("{arguments:?}"));
    }
    let results = folder.path().join("results.xml");
    let arguments = ["test", ".", "--junit", results.to_str().unwrap()];
    finish(&mut command(folder.path(), &arguments));
    let results = fs::read_to_string(results).unwrap();
    assert!(results.contains(MARK), "{results}");
    assert_eq!(found_in(&results), None);
}

/// A document that is printed for programs is the same with its characters escaped.
#[test]
fn a_document_stays_the_same() {
    let mut given = runnable();
    given["spec"]["inputs"]["name"] = json!(hostile());
    let folder = play("runnable.yaml", &given);
    let said = format!("Hello, {}", hostile());
    let yaml = finish(&mut command(folder.path(), &["render", "."])).out;
    let run: Value = serde_saphyr::from_str(&yaml).unwrap();
    assert_eq!(run["data"]["said"], said);
    let json = finish(&mut command(folder.path(), &["render", ".", "-o", "json"])).out;
    let run: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(run["data"]["said"], said);
}

/// A Runnable of a cluster with such texts in every field that others write.
fn cluster() -> Played {
    let mut template = template();
    template["spec"]["template"]["data"]["said"] = json!(hostile());
    template["spec"]["inputSchema"]["description"] = json!(hostile());
    template["spec"]["inputSchema"]["properties"]["name"]["default"] = json!(hostile());
    let condition = |name: &str, status: &str| {
        json!({
            "type": name, "status": status, "reason": "R", "message": hostile(),
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        })
    };
    let mut runnable = runnable();
    runnable["metadata"]["uid"] = json!("u");
    runnable["metadata"]["annotations"] = json!({ "carto.run/rerun-token": hostile() });
    runnable["spec"]["inputs"]["name"] = json!(hostile());
    runnable["spec"]["inputs"]["size"] = json!("s");
    let spec = runnable["spec"].as_object_mut().unwrap();
    spec.retain(|key, _| key != "inputsFrom" && key != "writeOutputsTo");
    runnable["status"] = json!({
        "conditions": [condition("StampedObjectCondition", "False"), condition("Ready", "False")],
        "outputs": { "said": hostile(), hostile(): "x" },
    });
    Played::serve(move |request| {
        let path = request.path.split('?').next().unwrap_or_default();
        match path.rsplit('/').next().unwrap_or_default() {
            "hello" => Some(runnable.clone()),
            "greet" => Some(template.clone()),
            "runnables" => Some(json!({
                "apiVersion": "carto.run/v1alpha1", "kind": "RunnableList", "metadata": {}, "items": [runnable],
            })),
            _ => None,
        }
    })
}

#[test]
fn no_command_prints_such_a_character_of_a_cluster() {
    let cluster = cluster();
    for line in [
        &["get"][..],
        &["get", "-o", "yaml"],
        &["get", "-o", "json"],
        &["why", "hello"],
        &["why", "hello", "-o", "yaml"],
        &["tree", "hello"],
        &["tree", "hello", "-o", "json"],
        &["history", "hello"],
        &["outputs", "hello"],
        &["outputs", "hello", "-o", "json"],
        &["explain", "greet"],
        &["explain", "greet", "-o", "json"],
        &["render", "--cluster", "-r", "hello"],
        &["render", "--cluster", "-r", "hello", "-o", "json"],
        &["diff", "hello"],
        &["diff", "hello", "-o", "json"],
        &["diff", "hello", "-o", "markdown"],
    ] {
        let arguments = [&["--color", "always"], line].concat();
        check(&cluster.cartouche(&arguments), &format!("{arguments:?}"));
    }
}

#[test]
fn a_script_gets_a_value_as_it_is() {
    let cluster = cluster();
    let value = cluster.cartouche(&["outputs", "hello", "said"]);
    assert_eq!(value.out, hostile() + "\n", "{}", value.err);
}
