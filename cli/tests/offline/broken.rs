//! Broken templates, and the findings of `cartouche validate` about each: the message alone has to be enough to mend
//! it.

use std::path::Path;

use crate::support::cartouche_in;

#[test]
fn every_broken_template_is_told_what_is_wrong_where_and_what_to_do() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/broken");
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert!(files.len() > 40);
    for file in files {
        let output = cartouche_in(&folder, &["validate", &file]);
        let name = file.trim_end_matches(".yaml");
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(format!("broken-{name}"), format!("{}{}", output.out, output.err));
        });
        let only_warnings = [
            "another-group-of-the-runnable",
            "another-kind-of-template",
            "chain-undeclared-optional-output",
            "fixed-name",
            "input-that-is-null",
            "input-that-may-be-left-out",
            "job-that-is-suspended",
            "longest-pause-that-is-the-shorter-one",
            "misspelt-template-name",
            "pod-that-is-always-restarted",
            "source-of-a-secret-in-a-text",
            "tag-of-a-shell",
            "tag-of-helm",
            "text-with-the-markers-of-a-tag",
            "timeout-of-a-kind-that-nobody-can-stop",
            "values-that-break-their-text",
        ];
        assert_eq!(
            output.code,
            i32::from(!only_warnings.contains(&name)),
            "{file}"
        );
        assert!(output.out.contains("= help: "), "{file} gets no hint");
    }
}
