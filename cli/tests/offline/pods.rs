//! Findings of `cartouche validate` about pods that the schema allows, and that the API server or the node refuses or
//! no author means.

mod commands;

use std::{fs, path::Path};

use crate::support::{cartouche_in, validated};

/// Returns the findings about a template of a Job with this pod, and about the objects beside it.
fn said(pod: &str, beside: &str) -> (i32, String) {
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
      template: {{spec: {{restartPolicy: Never, {pod}}}}}
{beside}"
    );
    validated(&template)
}

/// A pod with one container that has these fields beside its name and its image.
fn container(fields: &str) -> String {
    format!("containers: [{{name: main, image: 'registry.example.com/a:1', {fields}}}]")
}

/// Asserts the message and the help for each pod. An error ends with 1.
fn are_said(cases: &[(String, bool, &str, &str)]) {
    for (pod, is_error, message, help) in cases {
        let (code, text) = said(pod, "");
        assert_eq!(code, i32::from(*is_error), "{pod}: {text}");
        assert!(text.contains(message), "{message}: {text}");
        assert!(text.contains(&format!("= help: {help}")), "{help}: {text}");
        let found = text.matches("error[").count() + text.matches("warning[").count();
        assert_eq!(found, 1, "{pod}: {text}");
    }
}

#[test]
fn a_command_that_only_a_shell_would_read_is_told() {
    let of = |command: &str, message: &'static str, help: &'static str| {
        (container(command), false, message, help)
    };
    are_said(&[
        of(
            "command: [/bin/runner count hello]",
            "runs a program whose name is '/bin/runner count hello'",
            r#"write each word by itself: command: ["/bin/runner","count","hello"]"#,
        ),
        of(
            "command: ['sh -c \"echo hello\"']",
            "runs a program whose name is",
            r#"write it as a list: command: ["sh","-c","echo hello"]"#,
        ),
        of(
            "command: ['cat a | wc']",
            "runs a program whose name is 'cat a | wc'",
            r#"run it in a shell: command: ["sh","-c","cat a | wc"]"#,
        ),
        of(
            "command: [sh, 'echo hello']",
            "sh takes 'echo hello' for a file",
            r#"write -c before it: ["sh","-c","echo hello"]"#,
        ),
        of(
            "command: [sh, -c, echo, hello, world]",
            "sh -c runs only 'echo'",
            r#"write all of it in one text: "echo hello world""#,
        ),
        of(
            "command: [sh, -x, -c, npm ci, npm test]",
            "sh -c runs only 'npm ci'",
            r#"write all of it in one text: "npm ci && npm test""#,
        ),
        of(
            r#"command: ["/bin/sh -c \"psql -c 'select 1'\""]"#,
            "runs a program whose name is",
            r#"write it as a list: command: ["/bin/sh","-c","psql -c 'select 1'"]"#,
        ),
        of(
            "command: [make, all, '&&', make, test]",
            "make gets '&&' as an argument",
            "run it in a shell",
        ),
        of(
            "command: [curl, $(ULR)], env: [{name: URL, value: a}]",
            "has no variable ULR in env",
            "did you mean $(URL)?",
        ),
    ]);
}

/// Manifests that the API server takes, and the engines run, have no finding.
#[test]
fn valid_manifests_have_no_finding() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/valid");
    let files: Vec<_> = fs::read_dir(&folder).unwrap().collect();
    assert!(files.len() > 4);
    for file in files {
        let file = file.unwrap().file_name().into_string().unwrap();
        let output = cartouche_in(&folder, &["validate", "--deny-warnings", &file]);
        assert_eq!(output.code, 0, "{file}: {}{}", output.err, output.out);
    }
}

#[test]
fn commands_as_they_are_to_be_are_silent() {
    for command in [
        "command: [sh, -c, 'echo $1', --, hello]",
        "command: [/bin/sh, -ec, 'a && b | c > d']",
        "command: [/bin/runner, count, 'a b']",
        "args: [--flag, a b]",
        "command: [curl, $(URL)], env: [{name: URL, value: a}]",
        "command: [find, ., -name, '*', '|', x]",
        "command: [/script.sh]",
    ] {
        let (code, text) = said(&container(command), "");
        assert!(code == 0 && text.contains("no errors"), "{command}: {text}");
        assert!(!text.contains("warning"), "{command}: {text}");
    }
}

#[test]
fn volumes_and_mounts_have_to_agree() {
    let mount = |name: &str| container(&format!("volumeMounts: [{{name: {name}, mountPath: /v}}]"));
    are_said(&[
        (
            mount("cache"),
            false,
            "mounts the volume 'cache', and the pod has none of this name",
            "add it under volumes of the pod: - {name: cache, emptyDir: {}}",
        ),
        (
            format!("{}, volumes: [{{name: cache}}]", mount("cahce")),
            true,
            "mounts the volume 'cahce'",
            "did you mean 'cache'?",
        ),
        (
            format!("{}, volumes: [{{name: v}}, {{name: v}}]", mount("v")),
            true,
            "the pod has two volumes 'v'",
            "rename or remove one of them",
        ),
        (
            format!(
                "{}, volumes: [{{name: v, emptyDir: {{}}, secret: {{secretName: s}}}}]",
                mount("v")
            ),
            true,
            "the volume 'v' is emptyDir and secret at once",
            "keep one of them",
        ),
    ]);
    let profile = "---\napiVersion: carto.run/v1alpha1\nkind: ClusterRunProfile\nmetadata: {name: p}\nspec: {rules: [{}], podTemplate: {spec: {volumes: [{name: cache, emptyDir: {}}]}}}\n";
    let (code, text) = said(&mount("cache"), profile);
    assert!(code == 0 && !text.contains("warning"), "{text}");
    let (code, text) = said(&mount("cache"), "  profile: Required\n");
    assert!(
        code == 0 && text.contains("a profile may bring it"),
        "{text}"
    );
}

#[test]
fn amounts_that_nobody_means_are_told() {
    let of = |resources: &str| container(&format!("resources: {resources}"));
    are_said(&[
        (
            of("{requests: {memory: 128Mi}, limits: {memory: 64Mi}}"),
            true,
            "requests 128Mi of memory, and its limit is 64Mi",
            "lower the request to 64Mi at most, or raise the limit to 128Mi at least",
        ),
        (
            of("{limits: {memory: 128m}}"),
            false,
            "memory 128m is less than any container needs",
            "write 128Mi for MiB",
        ),
        (
            of("{limits: {cpu: 4000}}"),
            false,
            "cpu 4000 is 4000 cores",
            "write 4000m for thousandths of a core",
        ),
        (
            of("{limits: {gpu: 1}}"),
            true,
            "there is no resource 'gpu'",
            "write the name of its vendor: nvidia.com/gpu",
        ),
        (
            of("{limits: {memroy: 1Gi}}"),
            true,
            "there is no resource 'memroy'",
            "did you mean 'memory'?",
        ),
    ]);
    let right = of(
        "{requests: {cpu: 500m, memory: 64Mi, nvidia.com/gpu: 1}, limits: {cpu: '1', memory: 1Gi, nvidia.com/gpu: 1}}",
    );
    assert!(said(&right, "").1.contains("no errors"));
}

#[test]
fn what_contradicts_itself_or_has_another_name_is_told() {
    are_said(&[
        (
            format!(
                "securityContext: {{runAsNonRoot: true, runAsUser: 0}}, {}",
                container("command: [a]")
            ),
            true,
            "would run as user 0, which is root, and runAsNonRoot forbids that",
            "give runAsUser another number, such as 1000",
        ),
        (
            container("securityContext: {privileged: true, allowPrivilegeEscalation: false}"),
            true,
            "is privileged, and allowPrivilegeEscalation is false",
            "remove one of the two",
        ),
        (
            container("imagePullPolicy: ifNotPresent"),
            true,
            "imagePullPolicy cannot be 'ifNotPresent'",
            "did you mean 'IfNotPresent'?",
        ),
        (
            format!(
                "tolerations: [{{effect: NoRun}}], {}",
                container("command: [a]")
            ),
            true,
            "in tolerations, effect cannot be 'NoRun'",
            "write one of NoSchedule, PreferNoSchedule, NoExecute",
        ),
        (
            container("env: [{name: A=b}]"),
            true,
            "the name of a variable cannot be 'A=b'",
            "write {name: A, value: \"b\"}",
        ),
        (
            container("env: [{name: A, value: b}, {name: A, value: c}]"),
            false,
            "has the variable A twice",
            "remove one of the two",
        ),
        (
            "containers: [{name: my_main, image: a}]".to_owned(),
            true,
            "'my_main' is not allowed as the name of a container",
            "write my-main",
        ),
        (
            "containers: [{name: a, image: a}, {name: a, image: b}]".to_owned(),
            true,
            "the pod has two containers 'a'",
            "give one of them another name",
        ),
        (
            "containers: [{name: a, image: 'https://ghcr.io/a/b:1'}]".to_owned(),
            true,
            "'https://ghcr.io/a/b:1' is not a valid image",
            "remove https://: ghcr.io/a/b:1",
        ),
        (
            container(
                "terminationMessagePath: /out, command: [sh, -c, 'date > /dev/termination-log']",
            ),
            false,
            "its termination message is read from /out",
            "remove terminationMessagePath",
        ),
    ]);
}

#[test]
fn objects_that_pods_name_are_compared_with_those_of_the_files() {
    let objects = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop-config, namespace: a}\ndata: {version: '1'}\n";
    let of = |name: &str, key: &str| {
        container(&format!(
            "env: [{{name: A, valueFrom: {{configMapKeyRef: {{name: {name}, key: {key}}}}}}}]"
        ))
    };
    for (name, key, message, help) in [
        (
            "shop-confg",
            "version",
            "there is no ConfigMap 'shop-confg' among these files",
            "did you mean 'shop-config'?",
        ),
        (
            "shop-conf",
            "version",
            "there is no ConfigMap 'shop-conf' among these files",
            "did you mean 'shop-config'?",
        ),
        (
            "shop-config",
            "verison",
            "ConfigMap shop-config has no key 'verison'",
            "did you mean 'version'?",
        ),
    ] {
        let (code, text) = said(&of(name, key), objects);
        assert!(
            code == 0 && text.contains(message) && text.contains(help),
            "{text}"
        );
    }
    for (name, key) in [("shop-config", "version"), ("quite-another", "x")] {
        assert!(said(&of(name, key), objects).1.contains("no errors"));
    }
    // Two names with different endings may both be meant by the pod that has both; a slip is none of these.
    let both = |name: &str| {
        let whole = "], envFrom: [{configMapRef: {name: shop-config}}]}]";
        said(&of(name, "version").replace("]}]", whole), objects).1
    };
    assert!(both("shop-conf").contains("no errors"));
    assert!(both("shop-confg").contains("did you mean 'shop-config'?"));
    let accounts = "\
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: deployer}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: deployer}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}
subjects: [{kind: ServiceAccount, name: deployer}]
";
    let pod = format!("serviceAccountName: deploy, {}", container("command: [a]"));
    let (code, text) = said(&pod, accounts);
    let is_said = text.contains("no ServiceAccount 'deploy' among") && text.contains("'deployer'?");
    assert!(code == 0 && is_said, "{text}");
    // Each namespace of OpenShift has this one.
    let (_, text) = said(
        &pod.replace(": deploy,", ": deployer,"),
        &accounts.replace("deployer", "deploy"),
    );
    assert!(text.contains("no errors"), "{text}");
}

#[test]
fn a_value_of_a_runnable_is_looked_at_as_one_of_the_template() {
    let runnable = "---\napiVersion: carto.run/v1alpha1\nkind: Runnable\nmetadata: {name: r, namespace: a}\nspec: {runTemplateRef: {name: t}, inputs: {image: 'Acme/App:1'}}\n";
    let pod = "containers: [{name: a, image: $(runnable.spec.inputs.image)$}]";
    let (code, text) = said(pod, runnable);
    assert_eq!(code, 1, "{text}");
    assert!(
        text.contains("Runnable r: 'Acme/App:1' is not a valid image"),
        "{text}"
    );
    assert!(text.contains("write acme/app:1"), "{text}");
}

/// Two values together are wrong, and one of them comes from a tag.
#[test]
fn a_value_of_a_runnable_is_looked_at_beside_those_of_the_template() {
    let runnable = "---\napiVersion: carto.run/v1alpha1\nkind: Runnable\nmetadata: {name: r, namespace: a}\nspec: {runTemplateRef: {name: t}, inputs: {value: VALUE}}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: credentials, namespace: a}\n";
    for (fields, value, is_error, message) in [
        (
            "resources: {requests: {memory: 1Gi}, limits: {memory: VALUE}}",
            "512Mi",
            true,
            "requests 1Gi of memory, and its limit is 512Mi",
        ),
        (
            "securityContext: {runAsUser: 0, runAsNonRoot: VALUE}",
            "true",
            true,
            "would run as user 0",
        ),
        (
            "volumeMounts: [{name: VALUE, mountPath: /a}]",
            "nope",
            false,
            "mounts the volume 'nope'",
        ),
        (
            "envFrom: [{secretRef: {name: VALUE}}]",
            "credentals",
            false,
            "there is no Secret 'credentals' among these files",
        ),
    ] {
        let pod = container(&fields.replace("VALUE", "$(runnable.spec.inputs.value)$"));
        let (code, text) = said(&pod, &runnable.replace("VALUE", value));
        assert_eq!(code, i32::from(is_error), "{text}");
        assert!(
            text.contains("Runnable r: ") && text.contains(message),
            "{text}"
        );
    }
}

#[test]
fn rights_of_files_are_octal_numbers() {
    let volume = |source: &str| {
        let volumes = "volumes: [{name: v, SOURCE}]".replace("SOURCE", source);
        format!("{}, {volumes}", container("command: [a]"))
    };
    are_said(&[
        (
            volume("configMap: {name: c, defaultMode: 755}"),
            true,
            "755 is read as a decimal number, and a file mode is at most 511 (octal 0777)",
            "write 0755 in YAML, which is octal, or its decimal 493",
        ),
        (
            volume(
                "projected: {sources: [{secret: {name: c, items: [{key: a, path: a, mode: 640}]}}]}",
            ),
            true,
            "640 is read as a decimal number",
            "write 0640 in YAML",
        ),
        (
            volume("secret: {secretName: c, defaultMode: 999}"),
            true,
            "999 is read as a decimal number",
            "write an octal number in YAML, such as 0644",
        ),
    ]);
    for fine in ["0755", "420", "0400", "511"] {
        let (_, text) = said(
            &volume(&format!("configMap: {{name: c, defaultMode: {fine}}}")),
            "",
        );
        assert!(!text.contains("rights of files"), "{fine}: {text}");
    }
}
