//! Templates that were objects of a cluster, annotations of other tools, and parameters of Tekton: faults that no
//! schema covers.

use crate::support::{Output, cartouche_in};

/// Runs `validate` on a template whose runs are this object, and on a Runnable with some metadata and spec.
fn validated(object: &str, metadata: &str, spec: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let object = object.trim_end().replace('\n', "\n    ");
    let template = format!(
        "apiVersion: carto.run/v1alpha1\nkind: ClusterRunTemplate\nmetadata: {{name: greet}}\nspec:\n  template:\n    {object}\n"
    );
    let runnable = format!(
        "apiVersion: carto.run/v1alpha1\nkind: Runnable\nmetadata: {{name: hello, namespace: team{metadata}}}\nspec:\n  runTemplateRef: {{name: greet}}\n{spec}"
    );
    std::fs::write(folder.path().join("template.yaml"), template).unwrap();
    std::fs::write(folder.path().join("runnable.yaml"), runnable).unwrap();
    cartouche_in(folder.path(), &["validate", "."])
}

fn is_said(output: &Output, sentences: &[&str]) {
    for sentence in sentences {
        assert!(output.out.contains(sentence), "{sentence}: {}", output.out);
    }
}

fn is_not_said(output: &Output, sentence: &str) {
    assert!(!output.out.contains(sentence), "{sentence}: {}", output.out);
}

/// Asserts the numbers of errors and warnings.
fn counts(output: &Output, errors: usize, warnings: usize) {
    let count = |what: &str| output.out.matches(what).count();
    assert_eq!(
        (count("error["), count("warning[")),
        (errors, warnings),
        "{}",
        output.out
    );
}

const POD: &str =
    "template: {spec: {restartPolicy: Never, containers: [{name: a, image: busybox}]}}";

fn job(metadata: &str, spec: &str) -> String {
    format!(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {{generateName: j-{metadata}}}\nspec:\n  {spec}\n"
    )
}

#[test]
fn what_the_cluster_had_put_into_an_exported_job_is_an_error() {
    let labels = "batch.kubernetes.io/controller-uid: 7ade, job-name: pi, app: pi";
    let of_pods = POD.replace(
        "{spec",
        &format!("{{metadata: {{labels: {{{labels}}}}}, spec"),
    );
    let selector = "selector: {matchLabels: {batch.kubernetes.io/controller-uid: 7ade}}\n  manualSelector: false";
    let metadata = format!(", uid: 7ade, labels: {{{labels}}}");
    let output = validated(&job(&metadata, &format!("{selector}\n  {of_pods}")), "", "");
    is_said(
        &output,
        &[
            "spec.selector of a Job is set by the cluster: remove it",
            "template.yaml:10:7",
            "the labels controller-uid, job-name, batch.kubernetes.io/* are those of another Job: remove them",
            "template.yaml:12:38",
            "template.yaml:8:",
        ],
    );
    // The uid is warned of as ever.
    counts(&output, 3, 1);
}

#[test]
fn a_job_with_a_selector_of_its_own_and_labels_that_are_meant_is_good() {
    let labels = POD.replace("{spec", "{metadata: {labels: {job-name: pi}}, spec");
    let own =
        format!("manualSelector: true\n  selector: {{matchLabels: {{job-name: pi}}}}\n  {labels}");
    counts(&validated(&job("", &own), "", ""), 0, 0);
    // At the Job itself this is a label like any other; at its pods the API server refuses it.
    counts(
        &validated(&job(", labels: {job-name: pi}", POD), "", ""),
        0,
        0,
    );
    counts(&validated(&job("", &labels), "", ""), 1, 0);
    let of_run = labels.replace("job-name: pi", "batch.kubernetes.io/job-name: $(run.name)$");
    counts(&validated(&job("", &of_run), "", ""), 0, 0);
}

#[test]
fn the_name_of_a_job_as_a_label_of_its_own_pods_is_good() {
    let own = POD.replace(
        "{spec",
        "{metadata: {labels: {job-name: pi, batch.kubernetes.io/job-name: pi}}, spec",
    );
    let named = |name: &str| job("", &own).replace("generateName: j-", &format!("name: {name}"));
    let of_another = "are those of another Job";
    is_not_said(&validated(&named("pi"), "", ""), of_another);
    is_said(&validated(&named("tau"), "", ""), &[of_another]);
    let with_uid = named("pi").replace("{job-name: pi", "{job-name: pi, controller-uid: 7ade");
    is_said(&validated(&with_uid, "", ""), &[of_another]);
}

#[test]
fn the_node_token_and_labels_of_an_exported_pod_are_told() {
    let pod = |metadata: &str, spec: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{generateName: p-{metadata}}}\nspec:\n  restartPolicy: Never\n  containers: [{{name: a, image: busybox}}]\n{spec}"
        )
    };
    let token =
        "  nodeName: n1\n  volumes:\n  - name: kube-api-access-x2x\n    projected: {sources: []}\n";
    let output = validated(
        &pod(", uid: 7ade, labels: {controller-uid: 7ade}", token),
        "",
        "",
    );
    is_said(
        &output,
        &[
            "spec.nodeName of a Pod is set by the scheduler: remove it",
            "the volume kube-api-access-x2x is the token of another Pod",
            "the labels controller-uid, job-name, batch.kubernetes.io/* are those of another Job",
        ],
    );
    counts(&output, 2, 2);
    // A node may be meant.
    counts(&validated(&pod("", "  nodeName: n1\n"), "", ""), 0, 0);
    let told = "is the token of another Pod";
    for (name, secret, is_token) in [
        ("default-token-x2b4z", "default-token-x2b4z", true),
        ("default-token-x2b4z", "mine", false),
        ("registry-token-store1", "registry-token-store1", false),
        ("registry-token-STORE", "registry-token-STORE", false),
    ] {
        let volume =
            format!("  volumes:\n  - name: {name}\n    secret: {{secretName: {secret}}}\n");
        let output = validated(&pod("", &volume), "", "");
        assert_eq!(output.out.contains(told), is_token, "{}", output.out);
    }
}

#[test]
fn the_address_of_an_exported_service_is_an_error_and_none_or_one_that_is_meant_is_not() {
    let service = |metadata: &str, spec: &str| {
        format!(
            "apiVersion: v1\nkind: Service\nmetadata: {{generateName: s-{metadata}}}\nspec:\n  ports: [{{port: 80}}]\n  {spec}\n"
        )
    };
    let output = validated(
        &service(
            ", uid: 7ade",
            "clusterIP: 10.0.0.1\n  clusterIPs: [10.0.0.1]",
        ),
        "",
        "",
    );
    is_said(
        &output,
        &[
            "spec.clusterIP of a Service is set by the cluster: remove it",
            "template.yaml:11:7",
        ],
    );
    // Nothing says when a Service has succeeded, and the uid is warned of.
    counts(&output, 2, 1);
    let none = service(", uid: 7ade", "clusterIP: None\n  clusterIPs: [None]");
    counts(&validated(&none, "", ""), 1, 1);
    let meant = service("", "clusterIP: 10.0.0.1");
    counts(&validated(&meant, "", ""), 1, 0);
}

#[test]
fn an_annotation_of_a_hook_is_warned_of_at_a_runnable_and_in_a_template() {
    let annotated = ", annotations: {argocd.argoproj.io/hook: PreSync, argocd.argoproj.io/hook-delete-policy: BeforeHookCreation}";
    let output = validated(
        &job(", annotations: {helm.sh/hook: pre-upgrade}", POD),
        annotated,
        "",
    );
    is_said(
        &output,
        &[
            "as a hook, Argo CD recreates this Runnable at every sync",
            "runnable.yaml:3:56",
            "a run is not a hook, because Helm does not apply it",
            "template.yaml:8:48",
        ],
    );
    counts(&output, 0, 2);
    let in_template = job(annotated, POD);
    let output = validated(&in_template, "", "");
    is_said(
        &output,
        &["a run is not a hook, because Argo CD does not apply it"],
    );
    counts(&output, 0, 1);
    let helm = ", annotations: {helm.sh/hook: post-install}";
    let output = validated(&job("", POD), helm, "");
    is_said(
        &output,
        &["as a hook, Helm recreates this Runnable at every release"],
    );
    let left_out =
        ", annotations: {argocd.argoproj.io/hook: Skip, argocd.argoproj.io/sync-wave: '1'}";
    counts(&validated(&job("", POD), left_out, ""), 0, 0);
}

fn pipeline_run(spec: &str) -> String {
    format!(
        "apiVersion: tekton.dev/v1\nkind: PipelineRun\nmetadata: {{generateName: p-}}\nspec:\n  pipelineRef: {{name: test}}\n  {spec}\n"
    )
}

#[test]
fn a_parameter_of_tekton_that_is_no_text_is_told_at_the_input() {
    let params = pipeline_run("params: $(runnable.spec.inputs.tekton-params)$");
    let inputs = "  inputs:
    tekton-params:
    - {name: url, value: https://git.example.com/shop}
    - {name: verbose, value: true}
    - {name: port, value: 8080}
    - {name: ports, value: ['80', 8080]}
    - {name: sizes, value: {a: '1', b: 2}}
    - {name: good, value: [a, b]}
    - {name: also, value: {a: b}}
";
    let output = validated(&params, "", inputs);
    is_said(
        &output,
        &[
            "warning[type]: Runnable hello: spec.params[1].value has to be a string, a list of strings or a map of strings, and is a boolean true",
            "put it in quotes: Tekton makes the text \"true\" of it",
            "runnable.yaml:9:30",
            "spec.params[2].value has to be",
            "is a number 8080",
            "runnable.yaml:10:27",
            "error[type]: Runnable hello: spec.params[3].value[1] has to be a string, and is a number 8080",
            "error[type]: Runnable hello: spec.params[4].value.b has to be a string, and is a number 2",
        ],
    );
    counts(&output, 2, 2);
}

#[test]
fn a_parameter_of_tekton_in_a_template_is_told_at_its_place() {
    let output = validated(&pipeline_run("params: [{name: a, value: 1}]"), "", "");
    is_said(&output, &["spec.params[0].value", "template.yaml:11:33"]);
    counts(&output, 0, 1);
    let one = pipeline_run("params: [{name: a, value: $(runnable.spec.inputs.port)$}]");
    let output = validated(&one, "", "  inputs: {port: 80}\n");
    is_said(
        &output,
        &["Runnable hello: spec.params[0].value", "runnable.yaml:6:18"],
    );
    let text = one.replace(
        "$(runnable.spec.inputs.port)$",
        "a-$(runnable.spec.inputs.port)$",
    );
    counts(&validated(&text, "", "  inputs: {port: 80}\n"), 0, 0);
    let embedded = "pipelineSpec: {params: [{name: a, default: 1}], tasks: [{name: t, params: [{name: a, value: [1]}]}]}";
    let output = validated(&pipeline_run(embedded), "", "");
    is_said(
        &output,
        &[
            "spec.pipelineSpec.params[0].default",
            "spec.pipelineSpec.tasks[0].params[0].value[0]",
        ],
    );
    counts(&output, 1, 1);
    // A Workflow takes numbers.
    let workflow = "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {generateName: w-}\nspec: {arguments: {parameters: [{name: a, value: 1}]}}";
    counts(&validated(workflow, "", ""), 0, 0);
}
