//! Values that pass through the controller are never written down: not in logs at any level, not in events,
//! not in metrics.

use anyhow::{Result, ensure};
use cartouche_tests::{
    controller::{Controller, Settings},
    fixture::{Fixture, objects::name_of},
    kind::{CONFIG_MAP, EVENT, Kind, RUNNABLE, SECRET},
    repository,
};
use serde_json::{Value, json};

use crate::ground::{self, DEMO, condition, echo, is_ready, says};

/// Planted where a secret could be, each in a place of its own.
const INPUT: &str = "planted-in-an-input";
const OUTPUT: &str = "planted-in-an-output";
const SELECTED: &str = "planted-in-a-selected-object";
const REFUSED: &str = "planted-in-an-object-that-is-refused";
const SECRET_VALUE: &str = "planted-in-a-secret";
const ECHOED: &str = "planted!as!no!label";
const PLANTED: [&str; 6] = [INPUT, OUTPUT, SELECTED, REFUSED, SECRET_VALUE, ECHOED];

/// Returns a template of config maps that are an output.
fn map(data: &Value) -> Value {
    json!({
        "template": {
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "generateName": "run-" }, "data": data,
        },
        "outputs": { "all": ".data" },
    })
}

fn templates() -> [(&'static str, Value); 6] {
    let secret = json!({
        "template": {
            "apiVersion": "v1", "kind": "Secret",
            "metadata": { "generateName": "run-" },
            "stringData": { "token": "$(runnable.spec.inputs.say)$" },
        },
        "outputs": { "token": ".data.token" },
    });
    // The API server quotes the body in its answer: immutable must be a boolean.
    let mut refused = map(&json!({ "a": "b" }));
    refused["template"]["immutable"] = "$(runnable.spec.inputs.say)$".into();
    // The API server quotes an invalid label.
    let mut echoed = map(&json!({ "a": "b" }));
    let annotation = "$(selected.metadata.annotations.pass)$";
    echoed["template"]["metadata"]["labels"] = json!({ "app": annotation });
    let selects = map(&json!({ "copy": "$(selected.data.password)$" }));
    [
        ("input", echo()),
        ("output", map(&json!({ "said": OUTPUT }))),
        ("refused", refused),
        ("refused-label", echoed),
        ("secret", secret),
        ("selects", selects),
    ]
}

/// Returns the spec of the Runnable of a template.
fn spec(template: &str) -> Value {
    let picks = |kind: Kind| {
        let resource = json!({ "apiVersion": kind.api_version(), "kind": kind.name });
        json!({ "selector": { "resource": resource, "matchingLabels": { "pick": "me" } } })
    };
    let mut spec = match template {
        "input" => says(INPUT),
        "refused" => says(REFUSED),
        "secret" => says(SECRET_VALUE),
        "refused-label" => picks(SECRET),
        "selects" => picks(CONFIG_MAP),
        _ => json!({}),
    };
    spec["runTemplateRef"] = json!({ "name": template });
    spec
}

/// Makes templates and Runnables that carry all the values, and the objects that they select.
async fn plant(tenant: &Fixture) -> Result<()> {
    let picked = json!({ "name": "picked", "labels": { "pick": "me" } });
    let mut secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": picked });
    secret["metadata"]["annotations"] = json!({ "pass": ECHOED });
    let mut map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": picked });
    map["data"] = json!({ "password": SELECTED });
    tenant.put(secret).await?;
    tenant.put(map).await?;
    for (name, template) in templates() {
        tenant.template_named(name, template).await?;
        tenant.runnable(name, spec(name)).await?;
    }
    Ok(())
}

/// Searches everything that the controller has written for the planted values, and for tokens.
async fn nothing_is_written(tenant: &Fixture, controller: &Controller) -> Result<()> {
    let log = controller.log()?;
    ensure!(log.contains("\"TRACE\""), "the log has all there is");
    let events = tenant.list(EVENT, "").await?;
    ensure!(!events.is_empty());
    let (events, metrics) = (json!(events).to_string(), controller.get("/metrics").await?);
    for (place, written) in [("log", &log), ("events", &events), ("metrics", &metrics)] {
        let encoded = PLANTED.map(base64);
        for text in PLANTED
            .into_iter()
            .chain(encoded.iter().map(String::as_str))
        {
            let line = written.lines().find(|line| line.contains(text));
            ensure!(line.is_none(), "{text} is in the {place}: {line:?}");
        }
    }
    // Tokens are JSON Web Tokens: of the account, and the controller's own.
    let token = log.lines().find(|line| line.contains("eyJhbGciOi"));
    let user = tenant.account.user();
    ensure!(
        token.is_none(),
        "a token of {user} or the controller: {token:?}"
    );
    Ok(())
}

/// Checks that the values did pass: otherwise nothing was proved.
async fn all_has_passed(tenant: &Fixture) -> Result<()> {
    let status = async |name: &str| {
        let runnable = tenant.get(RUNNABLE, name).await?;
        anyhow::Ok(runnable["status"].clone())
    };
    assert_eq!(status("input").await?["outputs"]["said"], INPUT);
    assert_eq!(status("output").await?["outputs"]["all"]["said"], OUTPUT);
    assert_eq!(status("selects").await?["outputs"]["all"]["copy"], SELECTED);
    let secret = status("secret").await?.to_string();
    assert!(!secret.contains(SECRET_VALUE), "{secret}");
    let label = status("refused-label").await?.to_string();
    let withheld = label.contains("Invalid value: (withheld)");
    assert!(withheld && !label.contains(ECHOED), "{label}");
    let refused = status("refused").await?.to_string();
    assert!(!refused.contains(REFUSED), "{refused}");
    Ok(())
}

#[tokio::test]
async fn no_value_reaches_a_log_an_event_or_a_metric() -> Result<()> {
    let cluster = ground::cluster().await?;
    let rights = [CONFIG_MAP, SECRET].map(Kind::rights_of_a_runnable);
    let tenant = ground::namespace(&cluster, "planted", &rights).await?;
    // The sources of a token must not be written down either.
    for (sequence, identity) in [(1, "impersonate"), (2, "token")] {
        if identity == "token" {
            let overlay = repository().join("config/overlays/tokens");
            cluster.apply_kustomization(&overlay).await?;
        }
        let settings = [
            "--log",
            "trace",
            "--log-format",
            "json",
            "--identity",
            identity,
        ];
        let settings = Settings::with_arguments(&settings);
        let controller = Controller::start(DEMO, &cluster, &settings).await?;
        if sequence == 1 {
            plant(&tenant).await?;
        } else {
            let again = "carto.run/rerun-token=2";
            let namespace = &tenant.namespace;
            let annotate = ["-n", namespace, "annotate", "runnables", "--all", again];
            cluster.kubectl(&annotate).await?;
        }
        let settled = |it: &Value| settled(it, sequence);
        let what = "all Runnables to have settled";
        tenant.all_observed(PLANTED.len(), what, settled).await?;
        nothing_is_written(&tenant, &controller).await?;
        controller.stop().await?;
    }
    all_has_passed(&tenant).await
}

fn settled(runnable: &Value, sequence: i64) -> bool {
    let is_current = runnable["status"]["currentRun"]["sequence"] == sequence;
    let refused = condition(runnable, "Ready")["status"] == "False";
    match name_of(runnable) {
        "refused" | "refused-label" => refused,
        "secret" => refused && is_current,
        _ => is_ready(runnable) && is_current,
    }
}

/// Returns a text as a Secret has it.
pub(crate) fn base64(text: &str) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut encoded = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for index in 0..4 {
            let letter = bits >> (18 - 6 * index) & 63;
            encoded.push(if index <= chunk.len() {
                char::from(LETTERS[letter as usize])
            } else {
                '='
            });
        }
    }
    encoded
}

#[test]
fn what_is_looked_for_is_encoded_as_in_a_secret() {
    assert_eq!(base64("planted"), "cGxhbnRlZA==");
    assert_eq!(base64("plante"), "cGxhbnRl");
}
