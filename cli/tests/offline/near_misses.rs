//! Objects among files that contradict each other, or whose name is close to a reference.

use crate::support::validated;

const TEMPLATE: &str = "\
apiVersion: carto.run/v1alpha1
kind: ClusterRunTemplate
metadata: {name: greet}
spec:
  template:
    apiVersion: batch/v1
    kind: Job
    metadata: {generateName: greet-}
    spec:
      backoffLimit: 0
      template:
        spec:
          restartPolicy: Never
          containers:
            - {name: main, image: 'registry.example.com/a:1', command: [a, $(runnable.spec.inputs.text)$]}
  outputs: {words: .terminationMessage.words, token: .terminationMessage.token}
";

fn said(template: &str, others: &[String]) -> (i32, String) {
    validated(&[&[template.to_owned()], others].concat().join("---\n"))
}

fn runnable(name: &str, spec: &str) -> String {
    format!(
        "apiVersion: carto.run/v1alpha1\nkind: Runnable\nmetadata: {{name: {name}, namespace: demo}}\nspec: {{runTemplateRef: {{name: greet}}, {spec}}}\n"
    )
}

fn profile(spec: &str) -> String {
    format!(
        "apiVersion: carto.run/v1alpha1\nkind: ClusterRunProfile\nmetadata: {{name: gpu}}\nspec: {{{spec}}}\n"
    )
}

fn is_said(found: &(i32, String), code: i32, message: &str, help: &str) {
    let (is, text) = found;
    assert_eq!(*is, code, "{text}");
    assert!(text.contains(message), "{message}: {text}");
    assert!(text.contains(&format!("= help: {help}")), "{help}: {text}");
}

#[test]
fn an_input_of_an_object_that_is_nearly_called_so_or_is_elsewhere_is_told() {
    let object = |namespace: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: conf, namespace: {namespace}}}\ndata: {{a: '{{\"b\": 1}}'}}\n"
        )
    };
    let from =
        |reference: &str| runnable("r", &format!("inputsFrom: [{{name: text, {reference}}}]"));
    let near = from("configMapKeyRef: {name: cnof, key: a}");
    is_said(
        &said(TEMPLATE, &[near, object("demo")]),
        0,
        "input text comes from ConfigMap cnof, which is not among these files",
        "did you mean 'conf'?",
    );
    let elsewhere = from("configMapKeyRef: {name: conf, key: a}");
    is_said(
        &said(TEMPLATE, &[elsewhere, object("other")]),
        0,
        "which is not in the namespace demo, but in other",
        "move one of the two",
    );
    let runnables = [
        runnable("build", "inputs: {text: a}"),
        from("runnableRef: {name: biuld, output: words}"),
    ];
    is_said(
        &said(TEMPLATE, &runnables),
        0,
        "input text comes from Runnable biuld, which is not among these files",
        "did you mean 'build'?",
    );
    is_said(
        &said(
            TEMPLATE,
            &[from(
                "objectRef: {apiVersion: v1, kind: Deployment, name: web, path: .spec.replicas}",
            )],
        ),
        1,
        "there is no kind Deployment in v1",
        "Deployment is in apps/v1",
    );
    is_said(
        &said(
            TEMPLATE,
            &[
                from("objectRef: {apiVersion: v1, kind: ConfigMap, name: conf, path: .dtaa.a}"),
                object("demo"),
            ],
        ),
        1,
        "has nothing at .dtaa.a",
        "did you mean 'data'?",
    );
    let optional = from("optional: true, configMapKeyRef: {name: quite-another, key: a}");
    is_said(
        &said(TEMPLATE, &[optional]),
        0,
        "input text is optional, and the template reads it and has no default",
        "remove optional",
    );
    let parts = TEMPLATE.replace("inputs.text", "inputs.text.b");
    let text = from("configMapKeyRef: {name: conf, key: a}");
    is_said(
        &said(&parts, &[text, object("demo")]),
        1,
        "does not give 'b' in its inputs",
        "the input is a text, though it looks like JSON: write as: JSON beside its key",
    );
    let wrapped = from("valueFrom: {configMapKeyRef: {name: conf, key: a}}");
    is_said(
        &said(TEMPLATE, &[wrapped, object("demo")]),
        1,
        "unknown field 'valueFrom'",
        "remove 'valueFrom': configMapKeyRef is here without it",
    );
}

#[test]
fn two_runnables_do_not_write_one_object() {
    let sink = "inputs: {text: a}, writeOutputsTo: [{kind: ConfigMap, name: result}]";
    is_said(
        &said(TEMPLATE, &[runnable("a", sink), runnable("b", sink)]),
        1,
        "Runnable b: outputs go to ConfigMap result, and those of Runnable a do as well",
        "give the object of one of them another name",
    );
    let other = runnable("b", sink).replace("demo", "other");
    assert!(
        said(TEMPLATE, &[runnable("a", sink), other])
            .1
            .contains("no errors")
    );
}

#[test]
fn keys_of_a_sink_have_to_name_the_outputs() {
    let of = |keys: &str| {
        let sinks = format!("writeOutputsTo: [{{kind: Secret, name: s, keys: {keys}}}]");
        runnable("r", &format!("inputs: {{text: a}}, {sinks}"))
    };
    let sensitive = format!("{TEMPLATE}  sensitiveOutputs: [token]\n");
    is_said(
        &said(&sensitive, &[of("{words: WORDS}")]),
        0,
        "the sensitive output token is in no key of its Secret s",
        "add it to the keys of the Secret, token: KEY",
    );
    is_said(
        &said(TEMPLATE, &[of("{WORDS: words}")]),
        1,
        "output \"WORDS\" cannot be written to Secret s: the template declares no such output",
        "write words: WORDS",
    );
    is_said(
        &said(TEMPLATE, &[of("{wrods: WORDS}")]),
        1,
        "the template declares no such output",
        "did you mean 'words'?",
    );
}

#[test]
fn a_profile_that_is_asked_for_and_outranked_is_told() {
    let asks = runnable("r", "profileName: gpu, inputs: {text: a}");
    let more = profile("rules: [{templates: [greet]}]").replace("gpu", "more");
    let all = profile("rules: [{}]");
    is_said(
        &said(TEMPLATE, &[asks.clone(), more.clone(), all]),
        0,
        "Runnable r: no run is made: spec.profileName is 'gpu', and the profile that matches is 'more', whose rule is more specific",
        "set spec.profileName to one that matches, or remove it",
    );
    // The labels of the namespace decide which of these is more specific.
    let stage = profile("rules: [{namespaceSelector: {matchLabels: {stage: prod}}}]");
    let unknown = said(TEMPLATE, &[asks, more, stage]);
    assert!(unknown.1.contains("no errors"), "{}", unknown.1);
}

#[test]
fn profiles_that_match_nothing_are_told() {
    let greet = runnable("r", "inputs: {text: a}");
    let required = format!("{TEMPLATE}  profile: Required\n");
    let is_silent = said(
        &required,
        &[greet.clone(), profile("rules: [{templates: [greet]}]")],
    );
    assert!(is_silent.1.contains("no errors"), "{}", is_silent.1);
    let typo = profile("rules: [{templates: [gret]}]");
    let found = said(&required, &[greet.clone(), typo]);
    is_said(
        &found,
        0,
        "names the template 'gret'",
        "did you mean 'greet'?",
    );
    is_said(
        &found,
        0,
        "Runnable r: no profile among these files matches it, and its template makes no run without a profile",
        "add such a rule to a profile: rules: [{templates: [greet]}]",
    );
    let stage = "rules: [{templates: [greet], namespaceSelector: {matchLabels: {stage: prod}}}]";
    let namespace =
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: demo, labels: {stage: production}}\n";
    is_said(
        &said(
            &required,
            &[greet.clone(), profile(stage), namespace.to_owned()],
        ),
        0,
        "not the profile 'gpu': it asks for stage=prod of the namespace, which has stage=production",
        "label the namespace stage=prod, or let a rule of gpu select stage=production",
    );
    let asks = runnable("r", "inputs: {text: a}, profileName: gpu");
    is_said(
        &said(&required, &[asks, profile(stage), namespace.to_owned()]),
        0,
        "none of its rules matches this Runnable",
        "label the namespace stage=prod, or let a rule of gpu select stage=production",
    );
    // The API server gives each namespace the label with its name.
    let by_name = stage.replace("stage: prod", "kubernetes.io/metadata.name: prod");
    is_said(
        &said(
            &required,
            &[greet.clone(), profile(&by_name), namespace.to_owned()],
        ),
        0,
        "no profile among these files matches it",
        "let a rule of gpu select kubernetes.io/metadata.name=demo",
    );
    // Labels that no file gives are not known.
    let bare = "apiVersion: v1\nkind: Namespace\nmetadata: {name: demo}\n".to_owned();
    let labelled = bare.replace("demo", "demo, labels: {team: a}");
    for others in [vec![], vec![bare], vec![labelled]] {
        let objects = [vec![greet.clone(), profile(stage)], others].concat();
        let unknown = said(&required, &objects);
        assert!(unknown.1.contains("no errors"), "{}", unknown.1);
    }
    is_said(
        &said(TEMPLATE, &[greet, profile("podTemplate: {}")]),
        0,
        "ClusterRunProfile gpu has no rules",
        "add rules: spec.rules",
    );
    let asking = |name: &str| runnable("r", &format!("inputs: {{text: a}}, profileName: {name}"));
    is_said(
        &said(TEMPLATE, &[asking("gpuu"), profile("rules: [{}]")]),
        0,
        "asks for the profile 'gpuu'",
        "did you mean 'gpu'?",
    );
    is_said(
        &said(
            TEMPLATE,
            &[
                asking("gpu"),
                profile("rules: [{runnableSelector: {matchLabels: {a: b}}}]"),
            ],
        ),
        0,
        "none of its rules matches this Runnable",
        "remove spec.profileName",
    );
}

#[test]
fn what_a_profile_merges_has_fields_that_there_are() {
    let of = |spec: &str| {
        said(
            TEMPLATE,
            &[profile(&format!("rules: [{{templates: [greet]}}], {spec}"))],
        )
    };
    is_said(
        &of("podTemplate: {spec: {nodeselector: {pool: gpu}}}"),
        1,
        "unknown field 'nodeselector' in spec.podTemplate.spec",
        "did you mean 'nodeSelector'?",
    );
    is_said(
        &of("patches: [{apiVersion: batch/v1, kind: Job, patch: {spec: {backofLimit: 1}}}]"),
        1,
        "unknown field 'backofLimit' in spec.patches[0].patch.spec",
        "did you mean 'backoffLimit'?",
    );
    is_said(
        &of(
            "podTemplate: {spec: {containers: [{name: '*', volumeMounts: [{name: ca, mountPath: /ca}]}]}}",
        ),
        0,
        "each container mounts the volume 'ca', and neither this profile nor a template of its rules has it",
        "add it under volumes of podTemplate.spec",
    );
    let right = of(
        "podTemplate: {spec: {priority: $(profile.values.p)$, containers: [{name: main, resources: {limits: {memory: 1Gi}}}]}}, values: {p: 1}",
    );
    assert!(right.1.contains("no errors"), "{}", right.1);
}

#[test]
fn resources_and_verbs_that_there_are_not_are_told() {
    let of = |requires: &str| said(&format!("{TEMPLATE}  requires: [{{{requires}}}]\n"), &[]);
    for (requires, message, help) in [
        (
            "resource: deployments, verbs: [get]",
            "there is no resource 'deployments' in the core group",
            "deployments are in the group apps: write apiGroup: apps, resource: deployments",
        ),
        (
            "apiGroup: batch, resource: job, verbs: [get]",
            "there is no resource 'job' in batch",
            "write the plural: jobs",
        ),
        (
            "resource: pods, verbs: [read]",
            "there is no verb 'read'",
            "did you mean 'get'?",
        ),
    ] {
        is_said(&of(requires), 0, message, help);
    }
    for requires in [
        "resource: pods/log, verbs: [get]",
        "apiGroup: example.com, resource: things, verbs: [get, annihilate]",
        "resource: '*', verbs: ['*']",
    ] {
        assert!(of(requires).1.contains("no errors"), "{requires}");
    }
}

#[test]
fn a_selector_that_picks_none_of_its_kind_is_told_why() {
    let object =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: other, labels: {a: b}}\n";
    let select = "inputs: {text: a}, selector: {resource: {apiVersion: v1, kind: ConfigMap}, matchingLabels: {a: b}}";
    let found = said(TEMPLATE, &[runnable("r", select), object.to_owned()]);
    is_said(
        &found,
        0,
        "no object among these files matches the selector of Runnable r",
        "correct the labels or the namespace of one of the two",
    );
    assert!(
        found
            .1
            .contains("not ConfigMap c: it is in the namespace other"),
        "{}",
        found.1
    );
}

#[test]
fn shapes_of_fields_that_have_others_below_them_are_told_with_the_value() {
    let of = |spec: &str| {
        said(
            TEMPLATE,
            &[runnable("r", &format!("inputs: {{text: a}}, {spec}"))],
        )
    };
    is_said(
        &of("retry: 5"),
        1,
        "spec.retry has to be an object",
        "write retry: {limit: 5}",
    );
    is_said(
        &of("start: 1m"),
        1,
        "spec.start has to be an object",
        "write start: {debounce: 1m}",
    );
    is_said(
        &of("retry: {retryOn: [TimedOut]}"),
        0,
        "only runs that timed out are retried, and no run has a timeout",
        "give spec.timeout a duration",
    );
}
