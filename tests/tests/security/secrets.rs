//! What passes through the controller is never written down: not in logs at any level, not in events,
//! not in metrics.

use anyhow::{Result, ensure};
use cartouche_tests::{
    cluster::{Rights, Seen},
    controller::{Controller, Settings},
};
use serde_json::{Value, json};

use crate::ground::{self, DEMO, SOON, apply, condition, echo, runnable, template};

/// Planted where a secret could be, each in a place of its own.
const INPUT: &str = "planted-in-an-input";
const OUTPUT: &str = "planted-in-an-output";
const SELECTED: &str = "planted-in-a-selected-object";
const REFUSED: &str = "planted-in-an-object-that-is-refused";
const SECRET: &str = "planted-in-a-secret";
const ECHOED: &str = "planted!as!no!label";

/// Templates and Runnables that carry all of it about.
fn objects(namespace: &str) -> Vec<Value> {
    let map = |data: Value| {
        json!({
            "template": {
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": { "generateName": "run-" }, "data": data,
            },
            "outputs": { "all": ".data" },
        })
    };
    let secret = json!({
        "template": {
            "apiVersion": "v1", "kind": "Secret",
            "metadata": { "generateName": "run-" },
            "stringData": { "token": "$(runnable.spec.inputs.say)$" },
        },
        "outputs": { "token": ".data.token" },
    });
    // The API server answers with what it was sent: immutable must be a truth.
    let mut refused = map(json!({ "a": "b" }));
    refused["template"]["immutable"] = "$(runnable.spec.inputs.say)$".into();
    let mut selects = runnable(namespace, "selects", "selects", &json!({}));
    selects["spec"]["selector"] = json!({
        "resource": { "apiVersion": "v1", "kind": "ConfigMap" },
        "matchingLabels": { "pick": "me" },
    });
    // The API server quotes a label that is none.
    let mut echoed = map(json!({ "a": "b" }));
    echoed["template"]["metadata"]["labels"] =
        json!({ "app": "$(selected.metadata.annotations.pass)$" });
    let mut labelled = runnable(namespace, "refused-label", "echoed", &json!({}));
    labelled["spec"]["selector"] = json!({
        "resource": { "apiVersion": "v1", "kind": "Secret" },
        "matchingLabels": { "pick": "me" },
    });
    vec![
        json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {
                "name": "picked", "namespace": namespace, "labels": { "pick": "me" },
                "annotations": { "pass": ECHOED },
            },
        }),
        template("echoed", &echoed),
        labelled,
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": "picked", "namespace": namespace, "labels": { "pick": "me" } },
            "data": { "password": SELECTED },
        }),
        echo(),
        template(
            "selects",
            &map(json!({ "copy": "$(selected.data.password)$" })),
        ),
        template("fixed", &map(json!({ "said": OUTPUT }))),
        template("refused", &refused),
        template("secret", &secret),
        runnable(namespace, "input", "echo", &json!({ "say": INPUT })),
        runnable(namespace, "output", "fixed", &json!({})),
        runnable(namespace, "refused", "refused", &json!({ "say": REFUSED })),
        runnable(namespace, "secret", "secret", &json!({ "say": SECRET })),
        selects,
    ]
}

#[tokio::test]
async fn no_value_reaches_a_log_an_event_or_a_metric() -> Result<()> {
    let cluster = ground::cluster().await?;
    let namespace = cluster.namespace("planted").await?;
    let rights = ["configmaps", "secrets"].map(|resource| Rights::of_a_runnable("", resource));
    let account = cluster
        .service_account(&namespace, "runner", &rights)
        .await?;
    for identity in ["impersonate", "token"] {
        // What a token is read from must not be written down either.
        let arguments = [
            "--log",
            "trace",
            "--log-format",
            "json",
            "--identity",
            identity,
        ];
        if identity == "token" {
            let overlay = cartouche_tests::repository().join("config/overlays/tokens");
            cluster.apply_kustomization(&overlay).await?;
        }
        let controller =
            Controller::start(DEMO, &cluster, &Settings::with_arguments(&arguments)).await?;
        if identity == "impersonate" {
            apply(&cluster, &objects(&namespace)).await?;
        } else {
            let again = [
                "-n",
                &namespace,
                "annotate",
                "runnables",
                "--all",
                "carto.run/rerun-token=2",
            ];
            cluster.kubectl(&again).await?;
        }
        let sequence = if identity == "token" { 2 } else { 1 };
        cluster
            .eventually("all Runnables to have settled", SOON, || async {
                let runnables = ground::all(&cluster, &namespace, "runnables").await?;
                let open: Vec<&Value> = runnables
                    .iter()
                    .filter(|it| !settled(it, sequence))
                    .map(|it| &it["status"])
                    .collect();
                Ok(if open.is_empty() && runnables.len() == 6 {
                    Seen::Done(())
                } else {
                    Seen::NotYet(format!("{open:#?}"))
                })
            })
            .await?;
        let log = controller.log()?;
        ensure!(log.contains("\"TRACE\""), "the log has all there is");
        let events = ground::all(&cluster, &namespace, "events").await?;
        ensure!(!events.is_empty());
        let events = serde_json::to_string(&events)?;
        let metrics = controller.get("/metrics").await?;
        for planted in [INPUT, OUTPUT, SELECTED, REFUSED, SECRET, ECHOED] {
            let encoded = base64(planted);
            for text in [planted, encoded.as_str()] {
                for (place, written) in [("log", &log), ("events", &events), ("metrics", &metrics)]
                {
                    let line = written.lines().find(|line| line.contains(text));
                    ensure!(line.is_none(), "{text} is in the {place}: {line:?}");
                }
            }
        }
        // Tokens are JSON Web Tokens: of the account, and the controller's own.
        let token = log.lines().find(|line| line.contains("eyJhbGciOi"));
        ensure!(
            token.is_none(),
            "a token of {} or the controller: {token:?}",
            account.user()
        );
        controller.stop().await?;
    }
    let runnables = ground::all(&cluster, &namespace, "runnables").await?;
    let named = |name: &str| runnables.iter().find(|it| it["metadata"]["name"] == name);
    let status = |name: &str| {
        named(name)
            .map(|it| it["status"].clone())
            .unwrap_or_default()
    };
    // The values did pass: else nothing was shown.
    assert_eq!(status("input")["outputs"]["said"], INPUT);
    assert_eq!(status("output")["outputs"]["all"]["said"], OUTPUT);
    assert_eq!(status("selects")["outputs"]["all"]["copy"], SELECTED);
    assert!(!status("secret").to_string().contains(SECRET));
    let label = status("refused-label").to_string();
    assert!(
        label.contains("Invalid value: (withheld)") && !label.contains(ECHOED),
        "{label}"
    );
    assert!(
        !status("refused").to_string().contains(REFUSED),
        "{}",
        status("refused")
    );
    Ok(())
}

fn settled(runnable: &Value, sequence: i64) -> bool {
    let ready = condition(runnable, "Ready");
    let current = &runnable["status"]["currentRun"]["sequence"];
    match runnable["metadata"]["name"].as_str() {
        Some("refused" | "refused-label") => ready["status"] == "False",
        Some("secret") => ready["status"] == "False" && *current == sequence,
        _ => ready["status"] == "True" && *current == sequence,
    }
}

/// As it stands in a Secret.
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
