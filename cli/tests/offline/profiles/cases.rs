//! Template tests that are played with a profile.

use std::fs;

use super::{BASE, TEAM, reading};
use crate::support::{cartouche_in, edit};

#[test]
fn a_test_of_a_template_is_played_with_a_profile() {
    let folder = reading(&[TEAM, BASE]);
    fs::remove_dir_all(folder.path().join("tests")).unwrap();
    fs::write(folder.path().join("team.yaml"), TEAM).unwrap();
    let write = |case: &str, settings: &str| {
        let case = folder.path().join("tests").join(case);
        fs::create_dir_all(case.join("played")).unwrap();
        fs::write(case.join("case.yaml"), settings).unwrap();
        let played = "status: {conditions: [{type: Complete, status: \"True\"}]}\n";
        fs::write(case.join("played/1.yaml"), played).unwrap();
    };
    write("one", "profile: ../../team.yaml\n");
    write(
        "by-rules",
        "profiles: ../../profiles.yaml\nnamespaceLabels: {env: production}\n",
    );
    write(
        "misfit",
        "profiles: ../../profiles.yaml\nnamespaceLabels: {env: test}\n",
    );
    write("none", "inputs: {name: moon}\n");
    let update = cartouche_in(folder.path(), &["test", "--update"]);
    assert_eq!(update.code, 0, "{}{}", update.out, update.err);
    let read = |file: &str| fs::read_to_string(folder.path().join("tests").join(file)).unwrap();
    for case in ["one", "by-rules"] {
        let run = read(&format!("{case}/expected.yaml"));
        assert!(
            run.contains("carto.run/profile: team@7") && run.contains("pool: batch"),
            "{run}"
        );
        assert!(read(&format!("{case}/played/1.expected.yaml")).contains("result: Succeeded"));
    }
    assert!(read("misfit/expected-error.txt").contains("profile.values.registry"));
    assert!(read("none/expected-error.txt").contains("the run has no profile"));
    assert_eq!(cartouche_in(folder.path(), &["test"]).code, 0);
    // Another profile is another run.
    edit(&folder, "team.yaml", "pool: batch", "pool: large");
    let failed = cartouche_in(folder.path(), &["test", "--filter", "one"]);
    assert_eq!(failed.code, 1);
    assert!(failed.out.contains("pool: large"), "{}", failed.out);
    write("unknown", "profiles: ../../profiles.yaml\n");
    let unknown = cartouche_in(folder.path(), &["test", "--filter", "unknown"]);
    assert!(
        format!("{}{}", unknown.out, unknown.err).contains("namespaceLabels"),
        "{}",
        unknown.out
    );
}
