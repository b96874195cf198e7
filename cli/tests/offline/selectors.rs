//! Output of `validate` and `render` about the objects that a selector meets.

use std::fs;

use crate::support::{cartouche, cartouche_in, copy_of, edit};

#[test]
fn the_object_that_is_selected_is_named() {
    let output = cartouche(&["validate", "examples/selector"]);
    assert_eq!((output.code, output.out.as_str()), (0, ""));
    let named = "Runnable shop-smoke-test selects ConfigMap release-record (examples/selector/release-record.yaml:";
    assert!(
        output.err.contains(named)
            && output
                .err
                .starts_with("1 template and 1 Runnable: no errors\n"),
        "{}",
        output.err
    );
    let json = cartouche(&["validate", "examples/selector", "-o", "json"]);
    assert_eq!(json.err, "");
}

#[test]
fn all_that_a_selector_matches_are_named_and_shown() {
    let folder = copy_of("selector");
    let record = fs::read_to_string(folder.path().join("release-record.yaml")).unwrap();
    for number in 1..=6 {
        let other = record.replace("name: release-record", &format!("name: record-{number}"));
        fs::write(folder.path().join(format!("record-{number}.yaml")), other).unwrap();
    }
    for command in ["validate", "render"] {
        let output = cartouche_in(folder.path(), &[command, "."]);
        let said = output.out + &output.err;
        assert_eq!(output.code, 1, "{said}");
        for part in [
            "the selector of Runnable shop-smoke-test matches 7 objects",
            "it matches ConfigMap record-1",
            "record-1.yaml:5",
            "it matches 2 more",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }
}

#[test]
fn objects_of_the_kind_that_are_not_selected_say_why() {
    let folder = copy_of("selector");
    edit(&folder, "release-record.yaml", "app: shop", "app: bakery");
    let output = cartouche_in(folder.path(), &["validate", ".", "--notes"]);
    assert_eq!(output.code, 0, "{}", output.out);
    let why = "not ConfigMap release-record: its label example.com/app is not shop";
    assert!(output.out.contains(why), "{}", output.out);
    assert!(!output.out.contains("not Role"), "{}", output.out);
    assert!(!output.err.contains("selects"), "{}", output.err);
}
