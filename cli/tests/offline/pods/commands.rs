//! Commands of pods, and lists that are written as texts.

use super::{container, said};
use crate::support::validated;

#[test]
fn tags_of_engines_stay_text_in_a_job() {
    for (text, help) in [
        (
            "{{inputs.parameters.text}}",
            "write $(runnable.spec.inputs.text)$",
        ),
        ("$(params.text)", "write $(runnable.spec.inputs.text)$"),
        ("${{ inputs.text }}", "write $(runnable.spec.inputs.text)$"),
        (
            "$(results.digest.path)",
            "only Tekton has results: write a JSON object to /dev/termination-log",
        ),
        (
            "cd $(workspaces.src.path)",
            "only Tekton has workspaces: write the path",
        ),
        (
            "cd $(workspaces.src.path)\\n",
            "only Tekton has workspaces: write the path",
        ),
        (
            "$(workspaces.src.bound)",
            "only Tekton has workspaces: write what",
        ),
        ("$(params['text'])", "write $(runnable.spec.inputs.text)$"),
        (
            "echo $(params.text) > $(results.out.path)",
            "write $(runnable.spec.inputs.text)$",
        ),
        (
            "{{ .Values.x }} $(results.sh)",
            "write $(runnable.spec.inputs.x)$",
        ),
    ] {
        let (code, said) = said(&container(&format!("command: [a, \"{text}\"]")), "");
        assert!(
            code == 0 && said.contains("this is another tool's syntax and is not replaced"),
            "{said}"
        );
        assert!(said.contains(help), "{said}");
    }
    for command in [
        "$(results.sh)",
        "$(params.sh)",
        "$(params.rb)",
        "$(context.local.sh)",
        "{\"apiVersion\": \"tekton.dev/v1\", \"value\": \"$(params.text)\"}",
        "$(params.sh -x)",
        "$(results.digest.path -x)",
        "$(context.sh) $(tasks.py)",
        "$(workspaces.sh)",
    ] {
        let (_, said) = said(&container(&format!("command: [sh, -c, '{command}']")), "");
        assert!(said.contains("no errors"), "{said}");
    }
}

#[test]
fn a_text_of_several_lines_in_place_of_a_list_is_one_element_or_has_the_elements() {
    let of = |fields: &str| {
        let template = format!(
            "\
apiVersion: carto.run/v1alpha1
kind: ClusterRunTemplate
metadata: {{name: t}}
spec:
  template:
    apiVersion: batch/v1
    kind: Job
    metadata: {{generateName: t-}}
    spec:
      backoffLimit: 0
      template:
        spec:
          restartPolicy: Never
          {fields}
"
        );
        validated(&template)
    };
    let args = "containers:\n          - name: a\n            image: b:1\n            args: ";
    for (fields, help) in [
        (
            format!("{args}|\n              set -e\n              make"),
            "= help: write the key alone, and `- |` in the line below it",
        ),
        (
            format!("{args}|\n              - a\n              - b"),
            "= help: remove the |",
        ),
        (
            format!("{args}|-\n              - a"),
            "= help: remove the |-",
        ),
        (
            format!(
                "{}|\n              set -e\n              make",
                args.replace("args", "command")
            ),
            "= help: write command: [sh, -c], and the text below args: as `- |`",
        ),
        (
            "containers: |\n            - name: a\n              image: b".to_owned(),
            "= help: remove the |",
        ),
    ] {
        let (code, text) = of(&fields);
        assert!(code == 1 && text.contains(help), "{fields}: {text}");
    }
    // In quotes it is neither.
    let (code, text) = of(&format!(r#"{args}"a\nb\n""#));
    assert!(code == 1 && !text.contains('`'), "{text}");
    assert!(!text.contains("take the"), "{text}");
}

#[test]
fn a_container_that_never_ends_is_named() {
    let two = |lists: &str, fields: &str| {
        let beside = format!("{lists}{{name: b, image: 'registry.example.com/b:1', {fields}}}]");
        container("command: [make]").replacen("]}]", &format!("]}}{beside}"), 1)
    };
    for command in [
        "command: [tail, -F, /var/log/a]",
        "command: [/usr/bin/tail, -f, /dev/null]",
        "command: [sh, -c, 'tail -n0 -f a']",
        "command: [/usr/bin/bash, -ec, \"exec tail -f a\\n\"]",
        "command: [bash, -lc, 'while true; do sleep 30; done']",
        "command: [sleep], args: [infinity]",
        "args: [/bin/sleep, infinity]",
    ] {
        let so = "the container 'b' never ends by itself, and a Job succeeds only when all its containers have ended";
        let begin = "the container 'b' never ends by itself, and no other container starts before";
        let alone = container(command).replace("main", "b");
        let not_shared = format!("shareProcessNamespace: false, {}", two(", ", command));
        for (pod, message, help) in [
            (
                two(", ", command),
                so,
                "move it to initContainers with restartPolicy: Always",
            ),
            (not_shared, so, "move it to initContainers"),
            (alone, so, "run a command that ends"),
            (
                two("], initContainers: [", command),
                begin,
                "give it restartPolicy: Always",
            ),
        ] {
            let (code, text) = said(&pod, "");
            assert!(code == 0 && text.contains(message), "{pod}: {text}");
            assert!(text.contains(&format!("= help: {help}")), "{pod}: {text}");
        }
        let sidecar = format!("restartPolicy: Always, {command}");
        for silent in [
            two("], initContainers: [", &sidecar),
            format!("shareProcessNamespace: true, {}", two(", ", command)),
        ] {
            let (_, text) = said(&silent, "");
            assert!(text.contains("no errors"), "{silent}: {text}");
        }
    }
    for command in [
        "command: [tail, -n, '1', a]",
        "command: [tail, --retry, a]",
        "command: [tail, --pid=1, -f, a]",
        "command: [sleep, '9']",
        "command: [sh, -c, 'tail -f a & make']",
        "command: [sh, -c, 'tail -n1 `make -f b`']",
        "command: [sh, -c, \"tail -n1 a\\nmake -f b\\n\"]",
        "command: [sh, -c, \"while true; do sleep 9; test -e a && exit 0; done\"]",
    ] {
        let (_, text) = said(&two(", ", command), "");
        assert!(text.contains("no errors"), "{text}");
    }
}
