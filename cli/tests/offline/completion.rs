//! Completions of a shell. Names of a cluster are in the live tests.

use std::{
    fs,
    net::TcpListener,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use crate::support::{Output, cartouche, command, finish, played::Played, repository};
use serde_json::{Value, json};

/// Returns the completions after `cartouche`, by the protocol of kubectl.
fn complete(words: &[&str], kubeconfig: &Path) -> Output {
    let mut command = command(&repository(), &["--", "kubectl-cartouche"]);
    command
        .args(words)
        .env("CARTOUCHE_COMPLETE", "kubectl")
        .env("KUBECONFIG", kubeconfig);
    finish(&mut command)
}

fn values(words: &[&str]) -> Vec<String> {
    let Output { out, err, code } = complete(words, Path::new("/nonexistent"));
    assert_eq!((code, err.as_str()), (0, ""), "{words:?}");
    let value = |line: &str| line.split('\t').next().unwrap().to_owned();
    out.lines().map(value).collect()
}

#[test]
fn commands_options_and_values_are_completed() {
    let commands = values(&[""]);
    for command in ["render", "validate", "rbac", "init", "why", ":4"] {
        assert!(
            commands.iter().any(|it| it == command),
            "{command}: {commands:?}"
        );
    }
    assert_eq!(values(&["rb"]), ["rbac", ":4"]);
    assert_eq!(values(&["des"]), ["describe", ":4"]);
    assert_eq!(values(&["rbac", "--che"]), ["--check", ":4"]);
    assert_eq!(values(&["rbac", "-o", ""]), ["yaml", "json", ":4"]);
    assert_eq!(values(&["init", "--kind", "T"]), ["TaskRun", ":4"]);
    assert_eq!(values(&["rbac", "-f", "exampl"]), ["examples/", ":6"]);
}

#[test]
fn a_cluster_that_is_not_there_completes_nothing_and_says_nothing() {
    assert!(
        !values(&["why", ""])
            .iter()
            .any(|it| it.starts_with(char::is_alphabetic))
    );
}

#[test]
fn names_beyond_the_first_answer_of_the_cluster_are_completed() {
    let page = |names: &[&str], next: &str| {
        let item = |name: &&str| json!({ "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": { "name": name } });
        let items: Vec<Value> = names.iter().map(item).collect();
        json!({
            "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList",
            "metadata": { "continue": next }, "items": items,
        })
    };
    let played = Played::serve(move |request| match &request.path {
        path if path.contains("continue=two") => Some(page(&["c"], "three")),
        // A late page hides none of the earlier names.
        path if path.contains("continue=three") => {
            std::thread::sleep(Duration::from_secs(5));
            None
        }
        _ => Some(page(&["a", "b"], "two")),
    });
    let asked = complete(&["why", ""], played.kubeconfig());
    assert!(asked.out.starts_with("a\nb\nc\n"), "{}", asked.out);
}

#[test]
fn a_cluster_that_does_not_answer_is_not_waited_for() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let kubeconfig = tempfile::NamedTempFile::new().unwrap();
    let text = format!(
        "{{apiVersion: v1, kind: Config, current-context: a, contexts: [{{name: a, context: {{cluster: a, user: a}}}}], \
         users: [{{name: a, user: {{}}}}], clusters: [{{name: a, cluster: {{server: 'http://{}'}}}}]}}",
        silent.local_addr().unwrap()
    );
    fs::write(kubeconfig.path(), text).unwrap();
    let begin = Instant::now();
    let asked = complete(&["why", "a"], kubeconfig.path());
    let took = begin.elapsed();
    assert_eq!(
        (asked.code, asked.out.as_str(), asked.err.as_str()),
        (0, ":4\n", "")
    );
    assert!(
        (Duration::from_secs(1)..Duration::from_secs(6)).contains(&took),
        "{took:?}"
    );
}

#[test]
fn every_shell_has_a_script_that_asks_the_command() {
    for shell in ["bash", "elvish", "fish", "kubectl", "powershell", "zsh"] {
        let printed = cartouche(&["completions", shell]);
        assert_eq!((printed.code, printed.err.as_str()), (0, ""), "{shell}");
        assert!(
            printed.out.contains("CARTOUCHE_COMPLETE"),
            "{shell}: {}",
            printed.out
        );
    }
    assert_eq!(cartouche(&["completions", "csh"]).code, 2);
    // As kubectl, helm and flux call it.
    let [one, other] = ["completion", "completions"].map(|name| cartouche(&[name, "bash"]));
    assert_eq!((one.code, one.out), (0, other.out));
}

#[test]
fn bash_completes_with_what_is_printed() {
    let folder = Path::new(env!("CARGO_BIN_EXE_cartouche")).parent().unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let script = "source <(cartouche completions bash); COMP_WORDS=(cartouche rba); COMP_CWORD=1
        _clap_complete_cartouche cartouche rba; echo ${COMPREPLY[@]}";
    let mut bash = Command::new("bash");
    let done = finish(bash.args(["-c", script]).env("PATH", path));
    assert_eq!(done.out, "rbac\n", "{}", done.err);
}
