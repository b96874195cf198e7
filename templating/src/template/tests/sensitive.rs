//! Values of sensitive outputs in the reports about a run.

use cartouche_engines::Verdict;

use super::*;

const WITHHELD: &str = "withheld: it contains the value of the sensitive output [pin]";
const UNSAID: &str =
    "the run's own message is not shown, because its template has sensitive outputs";

/// Returns a template of runs of this kind whose output `pin` is sensitive, with more fields of a spec.
fn compiled(kind: (&str, &str), pin: &str, more: &Value) -> Result<Template, Diagnostics> {
    let (api_version, kind) = kind;
    let mut spec = json!({
        "template": { "apiVersion": api_version, "kind": kind, "metadata": { "generateName": "r-" } },
        "outputs": { "pin": pin },
        "sensitiveOutputs": ["pin"],
    });
    for (field, value) in more.as_object().unwrap() {
        if field == "outputs" {
            let more = value.as_object().unwrap().clone();
            spec["outputs"].as_object_mut().unwrap().extend(more);
        } else {
            spec[field] = value.clone();
        }
    }
    Template::compile(&serde_json::from_value(spec).unwrap())
}

const TRIAL: (&str, &str) = ("example.com/v1", "Trial");
const POD: (&str, &str) = ("v1", "Pod");

fn rule(side: &Value) -> Value {
    let never = json!({ "matchFields": [{ "key": ".never", "operator": "Exists" }] });
    json!({ "healthRule": { "multiMatch": { "healthy": side, "unhealthy": never } } })
}

fn showing(path: &str) -> Value {
    rule(
        &json!({ "matchFields": [{ "key": ".status", "operator": "Exists", "messagePath": path }] }),
    )
}

/// Spellings of the place, of values that contain it, and of values in it.
#[test]
fn a_template_that_may_show_one_is_refused_wherever_a_status_would() {
    let pin = ".status.db.pin";
    for path in [
        ".status.db.pin",
        "{.status['db'].pin}",
        ".status",
        ".status.db",
        ".status.*",
        ".*.db",
        "..pin",
        ".status['db','x']",
        ".status.db.pin.digits",
        ".status.db['x','pin']",
    ] {
        for (more, at) in [
            (json!({ "outputs": { "open": path } }), "outputs.open"),
            (
                json!({ "failureOutputs": { "open": path } }),
                "failureOutputs.open",
            ),
            (
                showing(path),
                "healthRule.multiMatch.healthy.matchFields[0].messagePath",
            ),
        ] {
            let said = compiled(TRIAL, pin, &more).unwrap_err().to_string();
            let expected = format!("{at}: it shows the sensitive output pin, or may");
            assert!(said.starts_with(&expected), "{path}: {said}");
        }
    }
    // A name may have dots.
    let dotted = json!({ "outputs": { "a.b[0]": pin } });
    let said = compiled(TRIAL, pin, &dotted).unwrap_err();
    assert_eq!(said[0].at, Segment::keys(["outputs", "a.b[0]"]));
    for path in [".status.db.user", ".status.user", ".spec..pin"] {
        for more in [json!({ "outputs": { "open": path } }), showing(path)] {
            assert!(compiled(TRIAL, pin, &more).is_ok(), "{path}");
        }
    }
}

#[test]
fn the_message_of_a_condition_is_shown_by_the_rule_that_asks_for_the_condition() {
    let of = |condition: &str| format!(".status.conditions[?(@.type==\"{condition}\")].message");
    let single = json!({ "healthRule": { "singleConditionType": "Done" } });
    let matching = rule(&json!({ "matchConditions": [{ "type": "Done", "status": "True" }] }));
    for (more, at) in [
        (&single, "healthRule.singleConditionType"),
        (
            &matching,
            "healthRule.multiMatch.healthy.matchConditions[0]",
        ),
    ] {
        for pin in [
            &of("Done"),
            ".status.conditions[0].message",
            ".status.conditions",
        ] {
            let said = compiled(TRIAL, pin, more).unwrap_err().to_string();
            assert!(said.starts_with(at), "{pin}: {said}");
        }
        assert!(compiled(TRIAL, &of("Other"), more).is_ok());
        assert!(compiled(TRIAL, ".status.pin", more).is_ok());
    }
}

/// The termination message is a copy of a text in the status of a pod.
#[test]
fn the_words_of_containers_are_one_place_however_they_are_read() {
    let message = "state.terminated.message";
    let mut places = vec![".terminationMessage".to_owned(), ".status".to_owned()];
    for list in [
        "containerStatuses",
        "initContainerStatuses",
        "ephemeralContainerStatuses",
    ] {
        places.push(format!(".status.{list}[0].{message}"));
        places.push(format!(
            ".status.{list}[?(@.name==\"a\")]['state'].terminated"
        ));
        places.push(format!(".status.{list}[-1].lastState.terminated.message"));
        places.push(format!(".status['{list}'][0:1].*.terminated.message"));
    }
    for place in &places {
        let more = json!({ "outputs": { "log": place } });
        for (pin, more) in [
            (".terminationMessage.password", &more),
            (
                place,
                &json!({ "outputs": { "log": ".terminationMessage.user" } }),
            ),
            (".terminationMessage.password", &showing(place)),
            (
                ".terminationMessage.password",
                &json!({ "failureOutputs": { "log": place } }),
            ),
        ] {
            assert!(compiled(POD, pin, more).is_err(), "{pin} {more}");
        }
    }
    let apart = json!({
        "outputs": { "user": ".terminationMessage.user", "code": ".status.containerStatuses[0].state.terminated.exitCode" },
        "failureOutputs": { "reason": ".status.containerStatuses[0].state.terminated.reason", "phase": ".status.phase" },
    });
    assert!(compiled(POD, ".terminationMessage.password", &apart).is_ok());
}

#[test]
fn outputs_that_contain_one_are_not_taken() {
    let template = compiled(
        TRIAL,
        ".status.pin",
        &json!({ "outputs": { "url": ".status.url" } }),
    );
    let template = template.unwrap();
    let run = |url: &str| json!({ "status": { "pin": "hunter22", "url": url } });
    assert!(template.outputs(&run("https://db")).is_ok());
    let run = run("https://me:hunter22@db");
    let said = template.outputs(&run).unwrap_err().to_string();
    assert_eq!(
        said,
        "output [url] is withheld, and all others with it: it contains the value of the sensitive output [pin]"
    );
}

#[test]
fn failure_outputs_that_contain_one_say_that_they_are_withheld() {
    let more = json!({ "failureOutputs": { "log": ".status.log", "code": ".status.code" } });
    let template = compiled(TRIAL, ".status.pin", &more).unwrap();
    let mut run = json!({ "status": { "pin": "hunter22", "log": "with hunter22: no", "code": 3 } });
    let given = template.failure_outputs(&run);
    assert_eq!(given["log"], WITHHELD);
    assert_eq!(given["code"], 3);
    // Without the value they are unchanged.
    run["status"]["pin"] = json!(null);
    assert_eq!(template.failure_outputs(&run)["log"], "with hunter22: no");
}

fn ended(pin: &Value, message: &str) -> Value {
    let condition = json!({
        "type": "Succeeded", "status": "False", "reason": "hunter22", "message": message,
    });
    json!({ "status": { "pin": pin, "conditions": [condition] } })
}

#[test]
fn what_an_engine_says_is_told_unless_it_contains_one() {
    let template = compiled(TRIAL, ".status.pin", &json!({})).unwrap();
    let health = template.health(&ended(&json!("hunter22"), "hunter22 was refused"));
    assert_eq!(health.verdict, Verdict::Failed);
    assert_eq!(
        (health.message.as_str(), health.cause.as_str()),
        (WITHHELD, "")
    );
    let health = template.health(&ended(&json!("another"), "no disk"));
    assert_eq!(
        (health.message.as_str(), health.cause.as_str()),
        ("no disk", "hunter22")
    );
    // If it cannot be read, any text may be it.
    let several = compiled(TRIAL, ".status.pins[*]", &json!({})).unwrap();
    let mut run = ended(&json!(null), "hunter22 was refused");
    run["status"]["pins"] = json!(["hunter22", "other"]);
    assert_eq!(several.health(&run).message, WITHHELD);
}

#[test]
fn of_words_that_may_be_one_nothing_is_told() {
    let run = ended(&json!("x"), "abc");
    let said = |pin: &str| {
        let health = compiled(TRIAL, pin, &json!({})).unwrap().health(&run);
        (health.message, health.cause)
    };
    for pin in [
        ".status",
        ".status.conditions[0].message",
        "..message",
        ".status.conditions[?(@.type==\"Succeeded\")].reason",
    ] {
        assert_eq!(said(pin), (UNSAID.to_owned(), String::new()), "{pin}");
    }
    assert_eq!(said(".status.pin").0, "abc");
}

#[test]
fn no_rule_shows_what_a_run_says_where_there_are_sensitive_outputs() {
    let run = json!({ "status": { "pin": "abc", "said": "abc", "conditions": [
        { "type": "Done", "status": "True", "reason": "Ended", "message": "abc" },
    ] } });
    for rule in [
        showing(".status.said"),
        rule(&json!({ "matchConditions": [{ "type": "Done", "status": "True" }] })),
        json!({ "healthRule": { "singleConditionType": "Done" } }),
    ] {
        let health = compiled(TRIAL, ".status.pin", &rule).unwrap().health(&run);
        assert_eq!(health.verdict, Verdict::Succeeded);
        assert_eq!(health.message, UNSAID);
    }
    // Words of Cartouche's own are shown.
    let other = json!({ "healthRule": { "singleConditionType": "Other" } });
    let template = compiled(TRIAL, ".status.pin", &other).unwrap();
    assert_eq!(
        template.health(&run).message,
        "the run has no Other condition yet"
    );
}

#[test]
fn a_pod_that_says_one_is_silent_also_where_it_fails() {
    let template = compiled(POD, ".terminationMessage.password", &json!({})).unwrap();
    let pod = json!({ "apiVersion": "v1", "kind": "Pod", "status": {
        "phase": "Failed", "message": "hunter22 is too short", "containerStatuses": [{ "name": "a", "state": { "terminated": {
            "exitCode": 1, "message": "{\"password\":\"hunter22\"}",
        } } }],
    } });
    assert_eq!(template.health(&pod).message, WITHHELD);
}

#[test]
fn why_a_run_goes_on_shows_no_field_of_it() {
    let wanted =
        json!({ "matchFields": [{ "key": ".status.pin", "operator": "In", "values": ["ok"] }] });
    let template = compiled(TRIAL, ".status.pin", &rule(&wanted)).unwrap();
    let judged = template.choose_rule(&json!({ "status": { "pin": "hunter22" } }));
    assert_eq!(judged.missing, ["field .status.pin is there, none of ok"]);
}
