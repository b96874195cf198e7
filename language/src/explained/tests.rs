use super::*;

#[test]
fn the_termination_message_of_a_status_is_beside_it_however_the_path_is_written() {
    for path in [
        ".status.terminationMessage.x",
        "status.terminationMessage.x",
        "{.status.terminationMessage.x}",
        ".status['terminationMessage'].x",
        "{.status['terminationMessage'].x}",
    ] {
        let cure = beside_status(path).unwrap();
        assert!(cure.ends_with(": write .terminationMessage.x"), "{cure}");
    }
    let whole = beside_status(".status.terminationMessage").unwrap();
    assert!(whole.ends_with("write .terminationMessage"), "{whole}");
    for path in [
        ".terminationMessage.x",
        ".status.terminationMessages",
        ".status",
    ] {
        assert_eq!(beside_status(path), None, "{path}");
    }
}
