//! Output of the commands about the inputs that a template declares.

use std::fs;

use crate::support::{cartouche, cartouche_in, copy_of, edit};

#[test]
fn inputs_are_explained_as_kubectl_explains_fields() {
    let all = cartouche(&["explain", "-f", "examples/inputs"]);
    assert_eq!((all.code, all.err.as_str()), (0, ""));
    let one = cartouche(&["explain", "-f", "examples/inputs", "resize-images", "image"]);
    let deep = cartouche(&["explain", "-f", "examples/inputs", "sizes.width"]);
    insta::assert_snapshot!([all.out, one.out, deep.out].join("---\n"));
}

#[test]
fn the_schema_of_an_input_is_printed_for_machines() {
    let output = cartouche(&[
        "explain",
        "-f",
        "examples/inputs",
        "resize-images",
        "workers",
        "-o",
        "json",
    ]);
    let schema: serde_json::Value = serde_json::from_str(&output.out).unwrap();
    assert_eq!(
        (&schema["type"], &schema["default"]),
        (&"integer".into(), &2.into())
    );
}

#[test]
fn an_input_that_is_not_there_is_told_with_the_nearest_name() {
    let output = cartouche(&[
        "explain",
        "-f",
        "examples/inputs",
        "resize-images",
        "image.tga",
    ]);
    assert_eq!(output.code, 2);
    let told = "error: the input image has no field tga\nhint: did you mean 'tag'?\n";
    assert_eq!(output.err, told);
    let output = cartouche(&["explain", "-f", "examples/inputs", "worker"]);
    let told = "error: ClusterRunTemplate resize-images has no input worker\nhint: did you mean 'workers'?\n";
    assert_eq!(output.err, told);
}

#[test]
fn of_a_template_without_a_schema_the_inputs_that_it_reads_are_listed() {
    let output = cartouche(&["explain", "-f", "examples/job"]);
    assert_eq!(
        output.out,
        "TEMPLATE: greet\n\nIt declares no inputs in spec.inputSchema. Its tags read:\n  name\n"
    );
}

#[test]
fn a_default_is_traced_to_the_line_that_declares_it() {
    let folder = copy_of("inputs");
    edit(&folder, "runnable.yaml", "    workers: 3\n", "");
    let output = cartouche_in(folder.path(), &["render", ".", "--explain"]);
    assert_eq!(output.code, 0, "{}", output.err);
    let line = output
        .out
        .lines()
        .find(|line| line.contains("runnable.spec.inputs.workers = 2"))
        .unwrap();
    let declared = fs::read_to_string(folder.path().join("template.yaml")).unwrap();
    let number = declared
        .lines()
        .position(|line| line.trim() == "default: 2")
        .unwrap()
        + 1;
    assert!(
        line.contains(&format!("template.yaml:{number}:")) && line.ends_with("the default"),
        "{line}"
    );
}

#[test]
fn inputs_that_do_not_fit_are_told_by_render_at_their_lines() {
    let folder = copy_of("inputs");
    edit(&folder, "runnable.yaml", "workers: 3", "workers: three");
    let output = cartouche_in(folder.path(), &["render", "."]);
    assert_eq!((output.code, output.out.as_str()), (1, ""));
    insta::assert_snapshot!(output.err);
}
