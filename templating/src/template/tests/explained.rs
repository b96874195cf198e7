use cartouche_language::{
    bounds::MAX_RENDERED_BYTES,
    explained::{Explained, explain},
};
use serde_json::{Value, json};

use crate::{Context, Template};

/// Explains an output with this path.
fn of_output(path: &str) -> Explained {
    let spec = serde_json::from_value(json!({
        "template": {
            "apiVersion": "batch/v1", "kind": "Job", "metadata": { "generateName": "a-" },
        },
        "outputs": { "x": path },
    }));
    explain(&Template::compile(&spec.unwrap()).unwrap_err()[0])
}

/// Explains a tag with this path.
fn of_tag_with(path: &str, inputs: &Value) -> Explained {
    let spec = serde_json::from_value(json!({ "template": {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "generateName": "a-" },
        "data": { "a": format!("$({path})$"), "b": format!("$({path})$") },
    } }));
    let runnable = json!({ "metadata": { "name": "r" }, "spec": { "inputs": inputs } });
    let selected = json!({ "metadata": { "name": "s" } });
    let context = Context::new(&runnable, Some(&selected)).unwrap();
    let template = Template::compile(&spec.unwrap()).unwrap();
    explain(&template.render(&context).unwrap_err()[0])
}

#[test]
fn of_a_text_to_compare_with_it_is_said_that_it_needs_quotes() {
    let said = of_output(".status.conditions[?(@.type==Complete)].status");
    assert!(
        said.text
            .ends_with("compares with Complete, which has no quotes"),
        "{}",
        said.text
    );
    let help = said.help.unwrap();
    assert_eq!(help, "put a text to compare with in quotes: \"Complete\"");
}

#[test]
fn a_word_in_the_way_elsewhere_still_needs_its_space_taken_away() {
    let said = of_output(".status phase");
    assert!(
        said.text.ends_with("has a space where none may be"),
        "{}",
        said.text
    );
}

#[test]
fn a_tag_where_a_path_stands_is_told_as_such() {
    let said = of_output("$(.metadata.name)$");
    assert_eq!(said.text, "'$(.metadata.name)$' is a tag");
    let help = said.help.unwrap();
    assert_eq!(help, "write a path here and no tag: .metadata.name");
    let help = of_output("$(runnable.metadata.name)$").help.unwrap();
    assert!(help.ends_with("for example .metadata.name"), "{help}");
}

#[test]
fn of_a_status_that_is_not_there_nothing_is_said_that_only_a_file_can_lack() {
    let help = of_tag_with("selected.status.outputs.rows", &json!({}))
        .help
        .unwrap();
    assert_eq!(
        help,
        "look for a misspelt name in the path, or wait until the selected object has it"
    );
}

#[test]
fn of_what_is_too_large_it_is_said_how_to_make_it_smaller() {
    let large = json!({ "large": "x".repeat(MAX_RENDERED_BYTES * 2 / 3) });
    let said = of_tag_with("runnable.spec.inputs.large", &large);
    assert_eq!(
        said.text,
        "with the tag $(runnable.spec.inputs.large)$, the rendered document is larger than 524288 bytes"
    );
    assert!(
        said.help
            .unwrap()
            .starts_with("give fewer or smaller inputs")
    );
}
