use super::*;

fn fault(what: &str, cure: &str) -> Fault {
    Fault {
        what: what.to_owned(),
        place: String::new(),
        cure: (!cure.is_empty()).then(|| cure.to_owned()),
    }
}

#[test]
fn each_cure_is_told_once() {
    let faults = vec![
        fault("a", "x"),
        fault("b", ""),
        fault("c", "x"),
        fault("d", "y"),
    ];
    let diagnosis = Diagnosis::Unacceptable(faults);
    let wanted = "it would fail for every Runnable: a; b; c; d; to do: x; y";
    assert_eq!(diagnosis.message(None), wanted);
}

#[test]
fn cures_that_differ_are_told_with_their_places_and_one_for_all_is_not() {
    let at = |place: &str, cure: &str| Fault {
        place: place.to_owned(),
        ..fault("wrong", cure)
    };
    let faults = vec![
        at("region", "give it"),
        at("version", "put it in quotes"),
        at("workers", "give it"),
        at("colour", ""),
    ];
    assert_eq!(
        Diagnosis::Unacceptable(faults).cure(),
        "region, workers: give it; version: put it in quotes"
    );
    let faults = vec![at("region", "give it"), at("workers", "give it")];
    assert_eq!(Diagnosis::Unacceptable(faults).cure(), "give it");
}

#[test]
fn each_wrong_input_is_told_with_what_to_do_about_it() {
    let spec = serde_json::from_value(serde_json::json!({
        "template": {
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "generateName": "a-" },
        },
        "inputSchema": {
            "type": "object", "required": ["region"],
            "properties": {
                "region": { "type": "string", "enum": ["eu", "us"] },
                "version": { "type": "string" },
                "workers": { "type": "integer" },
            },
        },
    }));
    let template = cartouche_templating::Template::compile(&spec.unwrap()).unwrap();
    let runnable = serde_json::json!({
        "metadata": { "name": "r" }, "spec": { "inputs": { "version": 1, "workers": "2" } },
    });
    let context = cartouche_templating::Context::new(&runnable, None).unwrap();
    let faults = Fault::all(&template.render(&context).unwrap_err());
    assert_eq!(
        Diagnosis::Unacceptable(faults).cure(),
        "version: put it in quotes; workers: take the quotes away; \
         region: it has to be one of \"eu\", \"us\""
    );
}

#[test]
fn what_asks_again_can_be_run_as_it_stands() {
    let invalid = Diagnosis::Invalid {
        kind: "Job".to_owned(),
        why: "no".to_owned(),
        namespace: "pay".to_owned(),
        runnable: "migrate".to_owned(),
    };
    let command = "`cartouche diff migrate -n pay --server-dry-run` checks it again";
    assert!(invalid.cure().ends_with(command), "{}", invalid.cure());
}

#[test]
fn of_many_mistakes_the_first_ten_are_told_and_the_others_counted() {
    let outputs: serde_json::Map<_, _> = (0..23).map(|n| (format!("o{n}"), "".into())).collect();
    let spec = serde_json::from_value(serde_json::json!({
        "template": { "apiVersion": "v1", "kind": "Pod", "metadata": { "generateName": "a-" } },
        "outputs": outputs,
    }));
    let problems = cartouche_templating::Template::compile(&spec.unwrap()).unwrap_err();
    let faults = Fault::all(&problems);
    assert_eq!(faults.len(), 11);
    assert_eq!(faults[10].what, "and 13 more");
}

#[test]
fn who_lacks_a_permission_is_told_with_what_grants_it() {
    let account = Who::Account("shop".to_owned(), "builder".to_owned(), "build".to_owned());
    let mut denied = vec![Denied::one("list", "jobs.batch")];
    for (verb, resource) in [("create", "jobs.batch"), ("list", "pods"), ("list", "pods")] {
        Denied::one(verb, resource).add_to(&mut denied);
    }
    // The same in another namespace is another permission.
    let mut elsewhere = denied.clone();
    let there = Denied::one("list", "pods").in_namespace(Some("ci"));
    there.add_to(&mut elsewhere);
    let elsewhere = Diagnosis::Forbidden(account.clone(), elsewhere).to_string();
    assert!(
        elsewhere.ends_with("list pods and list pods in the namespace ci"),
        "{elsewhere}"
    );
    let mut named = vec![Denied::one("get", "secrets").with_name("other")];
    Denied::one("get", "secrets")
        .with_name("other")
        .add_to(&mut named);
    Denied::one("create", "secrets")
        .with_name("other")
        .add_to(&mut named);
    let named = Diagnosis::Forbidden(account.clone(), named).to_string();
    assert!(
        named.ends_with("may not get secrets \"other\" and create secrets"),
        "{named}"
    );
    let unnamed = Who::Account("shop".to_owned(), "default".to_owned(), "build".to_owned());
    assert_eq!(
        Diagnosis::Forbidden(unnamed, denied.clone()).cure(),
        "set spec.serviceAccountName to an account with the permission; \
         `cartouche rbac --runnable build --namespace shop` prints the Role to apply"
    );
    let cause = Diagnosis::Forbidden(account, denied);
    assert_eq!(
        cause.message(Some("no")),
        "ServiceAccount \"builder\" in namespace \"shop\" may not list/create jobs.batch and list pods; \
         to do: `cartouche rbac --runnable build --namespace shop` prints the Role to apply; in full: no"
    );
    let own = Diagnosis::Forbidden(
        Who::Controller("system:serviceaccount:c:c".to_owned()),
        vec![Denied::one("impersonate", "serviceaccounts")],
    );
    assert!(
        own.to_string()
            .starts_with("the controller itself may not impersonate")
    );
    assert!(
        own.cure().contains("system:serviceaccount:c:c"),
        "{}",
        own.cure()
    );
}

#[test]
fn every_mistake_of_a_template_is_told_with_its_place_and_its_cure() {
    let spec = serde_json::from_value(serde_json::json!({ "template": {
        "apiVersion": "batch/v1", "kind": "Job", "metadata": { "generateName": "a-" },
        "spec": { "a": "$(runnable.spec.inputs.wrong)$" },
    } }));
    let template = cartouche_templating::Template::compile(&spec.unwrap()).unwrap();
    let runnable = serde_json::json!({ "metadata": { "name": "r" }, "spec": { "inputs": {} } });
    let context = cartouche_templating::Context::new(&runnable, None).unwrap();
    let faults = Fault::all(&template.render(&context).unwrap_err());
    let cause = Diagnosis::Unrendered("t".to_owned(), faults);
    assert_eq!(
        cause.message(None),
        "ClusterRunTemplate \"t\" cannot be rendered for this Runnable: spec.a: the tag $(runnable.spec.inputs.wrong)$ leads to no value; \
         to do: look for a misspelt name in the path, or give it a value"
    );
}

#[test]
fn a_quota_is_to_be_raised_and_what_anything_else_denies_is_for_its_own_answer_to_cure() {
    let cure = |why: &str| Diagnosis::NotAdmitted(why.to_owned()).cure();
    let quota =
        cure("jobs.batch \"a\" is forbidden: exceeded quota: q, requested: count/jobs.batch=1");
    assert!(
        quota.starts_with("raise that ResourceQuota, or delete what it counts"),
        "{quota}"
    );
    let webhook = cure("admission webhook \"a.example\" denied the request: no");
    assert!(webhook.starts_with("do as the answer says"), "{webhook}");
}

#[test]
fn every_diagnosis_is_shown_in_the_docs_and_has_a_cure() {
    let shown: std::collections::HashSet<_> = Diagnosis::examples()
        .iter()
        .map(std::mem::discriminant)
        .collect();
    // The number of variants: a new one needs an example.
    assert_eq!(shown.len(), 52);
    for diagnosis in Diagnosis::examples() {
        assert!(!diagnosis.cure().is_empty(), "{diagnosis}");
    }
}
