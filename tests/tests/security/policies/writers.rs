//! Writers, and the ways to write a status.

use anyhow::{Result, bail};
use serde_json::{Value, json};

use crate::approval::place::Place;

/// A user with all rights, or at least with the right to statuses.
#[derive(Debug)]
pub(super) enum Writer {
    /// The administrator of the cluster, of the group `system:masters`.
    Admin,
    /// The user who edits Runnables and has the right to their status.
    Editor,
    /// A user of this name and these groups.
    As(String, Vec<&'static str>),
}

impl Writer {
    pub(super) fn user(&self, place: &Place) -> String {
        match self {
            Self::Admin => "admin".to_owned(),
            Self::Editor => place.editor.user(),
            Self::As(user, _) => user.clone(),
        }
    }

    /// Runs kubectl in the namespace, as this user.
    pub(super) async fn kubectl(
        &self,
        place: &Place,
        arguments: &[&str],
        input: &str,
    ) -> Result<String> {
        let mut all = vec!["-n", place.served.namespace.as_str()];
        let user = self.user(place);
        let groups = match self {
            Self::Admin => &[][..],
            Self::Editor => return place.kubectl(&place.editor, arguments, input).await,
            Self::As(_, groups) => groups,
        };
        if !groups.is_empty() {
            all.extend(["--as", &user]);
        }
        for group in groups {
            all.extend(["--as-group", group]);
        }
        all.extend(arguments);
        place.served.cluster.kubectl_with_input(&all, input).await
    }

    /// Returns the answer to something that this user must not do.
    pub(super) async fn refused(
        &self,
        place: &Place,
        arguments: &[String],
        input: &str,
    ) -> Result<String> {
        match self.kubectl(place, &words(arguments), input).await {
            Ok(done) => bail!("{self:?}: {arguments:?} was done: {done}"),
            Err(error) => Ok(format!("{error:#}")),
        }
    }
}

/// Returns users who are no writers of statuses, each with the right to write them.
pub(super) fn all_others(place: &Place) -> Vec<Writer> {
    let own = format!(
        "system:serviceaccount:{}:cartouche-controller",
        place.served.namespace
    );
    let named = [
        // The same name in another namespace, and names that only begin or end like it.
        own.as_str(),
        "cartouche-controller",
        "system:serviceaccount:cartouche-system:cartouche-controller2",
        "system:serviceaccount:cartouche-system:default",
        "system:serviceaccount:kube-system:generic-garbage-collector",
        "system:serviceaccount:kube-system:namespace-controller",
        "system:kube-controller-manager",
        "system:node:worker",
    ];
    let named = named.map(|user| Writer::As(user.to_owned(), vec!["system:masters"]));
    [Writer::Admin, Writer::Editor]
        .into_iter()
        .chain(named)
        .collect()
}

/// Returns the ways to write the status of an object, with the standard input of kubectl.
pub(super) fn ways(kind: &str, object: &Value) -> Vec<(&'static str, Vec<String>, String)> {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let mut forged = json!({
        "apiVersion": object["apiVersion"], "kind": object["kind"], "metadata": { "name": name },
        "spec": object["spec"], "status": { "observedGeneration": 0 },
    });
    let applied = forged.to_string();
    forged["metadata"]["resourceVersion"] = object["metadata"]["resourceVersion"].clone();
    let replaced = forged.to_string();
    let merge = json!({ "status": { "observedGeneration": 0 } }).to_string();
    let steps = json!([{ "op": "add", "path": "/status", "value": { "observedGeneration": 0 } }])
        .to_string();
    let away = json!([{ "op": "remove", "path": "/status" }]).to_string();
    let patch = |how: &str, patch: &str| {
        let words = [
            "patch",
            kind,
            name,
            "--subresource=status",
            how,
            "-p",
            patch,
        ];
        words.map(str::to_owned).to_vec()
    };
    let file = |verb: &[&str]| {
        let words = [verb, &["--subresource=status", "-f", "-"]].concat();
        words.into_iter().map(str::to_owned).collect()
    };
    let apply = ["apply", "--server-side", "--force-conflicts"];
    let mut ways = vec![
        ("merge", patch("--type=merge", &merge), String::new()),
        ("steps", patch("--type=json", &steps), String::new()),
        ("replace", file(&["replace"]), replaced),
        ("apply", file(&apply), applied),
    ];
    if !object["status"].is_null() {
        ways.push(("remove", patch("--type=json", &away), String::new()));
    }
    ways
}

pub(super) fn words(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}
