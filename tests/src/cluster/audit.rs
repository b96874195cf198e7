//! The API server's audit log: the requests that arrived and their effects.

use std::{
    fs::File,
    io::{BufRead, BufReader, Seek, SeekFrom},
    path::PathBuf,
};

use anyhow::{Context, Result};
use k8s_openapi::jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::Cluster;

/// Reader of the audit log, which has the effect of every answered request.
#[derive(Clone, Debug)]
pub struct AuditLog {
    file: PathBuf,
    begin: u64,
}

/// One request to the API server. The log has a watch when it begins and again when it ends; here it is one
/// event, of its beginning.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditEvent {
    #[serde(rename = "auditID")]
    audit_id: String,
    stage: String,
    /// `create`, `get`, `list`, `watch`, `update`, `patch`, `delete`, `deletecollection`.
    pub verb: String,
    /// The path with its query.
    #[serde(rename = "requestURI")]
    pub request_uri: String,
    /// Time of arrival.
    #[serde(default, rename = "requestReceivedTimestamp")]
    pub received: Option<Timestamp>,
    user: User,
    #[serde(default)]
    impersonated_user: Option<User>,
    #[serde(default)]
    object_ref: ObjectRef,
    #[serde(default)]
    response_status: ResponseStatus,
    /// Body of the request: for creates, for deletes, and for writes of Cartouche's own kinds.
    #[serde(default)]
    pub request_object: Option<Value>,
    /// Body of the answer, for the same requests.
    #[serde(default)]
    pub response_object: Option<Value>,
}

#[derive(Clone, Debug, Deserialize)]
struct User {
    username: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ObjectRef {
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
    api_group: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct ResponseStatus {
    code: u16,
}

impl AuditEvent {
    /// Returns the user in whose name the request was made: the impersonated one, if there is one.
    #[must_use]
    pub fn acting_as(&self) -> &str {
        &self
            .impersonated_user
            .as_ref()
            .unwrap_or(&self.user)
            .username
    }

    /// Returns the user that sent the request.
    #[must_use]
    pub fn user(&self) -> &str {
        &self.user.username
    }

    /// Returns true if a ServiceAccount sent the request: all controllers do, and no test does.
    #[must_use]
    pub fn is_of_an_account(&self) -> bool {
        self.user().starts_with("system:serviceaccount:")
    }

    /// Returns the resource in plural, with its group and subresource: `runnables.carto.run/status`, `pods`.
    #[must_use]
    pub fn resource(&self) -> String {
        let mut name = self.object_ref.resource.clone();
        if !self.object_ref.api_group.is_empty() {
            name = format!("{name}.{}", self.object_ref.api_group);
        }
        if !self.object_ref.subresource.is_empty() {
            name = format!("{name}/{}", self.object_ref.subresource);
        }
        name
    }

    /// Returns the namespace, empty for a request across namespaces or for a cluster-scoped kind.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.object_ref.namespace
    }

    /// Returns the name of the object: for a create with `generateName`, the generated one.
    #[must_use]
    pub fn name(&self) -> &str {
        let answered = self.response_object.as_ref();
        let generated = answered.and_then(|o| o.pointer("/metadata/name")?.as_str());
        match self.object_ref.name.as_str() {
            "" => generated.unwrap_or_default(),
            name => name,
        }
    }

    /// Returns the HTTP status of the answer.
    #[must_use]
    pub fn code(&self) -> u16 {
        self.response_status.code
    }

    /// Returns true if the effect of the request is unknown: its sender died or gave it up, or the API server
    /// died. It may have taken effect.
    #[must_use]
    pub fn was_given_up(&self) -> bool {
        !(200..500).contains(&self.code()) && !self.is_dry_run()
    }

    fn is_dry_run(&self) -> bool {
        self.request_uri.contains("dryRun=")
    }

    /// Returns true if the request succeeded and was no dry run.
    #[must_use]
    pub fn took_effect(&self) -> bool {
        (200..300).contains(&self.code()) && !self.is_dry_run()
    }
}

impl AuditLog {
    /// Returns the requests answered since this value was made, oldest first.
    pub fn events(&self) -> Result<Vec<AuditEvent>> {
        self.matching(|_| true, |_| true)
    }

    /// Returns the requests in a namespace, as [`Self::events`] does.
    pub fn in_namespace(&self, namespace: &str) -> Result<Vec<AuditEvent>> {
        // Most lines of a shared log belong to other tests: do not parse them.
        let marker = format!("\"namespace\":\"{namespace}\"");
        self.matching(
            |line| line.contains(&marker),
            |event| event.namespace() == namespace,
        )
    }

    /// Returns the number of objects of a resource (`jobs.batch`) that were created in a namespace.
    pub fn creates(&self, namespace: &str, resource: &str) -> Result<usize> {
        self.effects(namespace, resource, "create")
    }

    /// Returns the number of objects of a resource that were deleted one by one in a namespace.
    pub fn deletes(&self, namespace: &str, resource: &str) -> Result<usize> {
        self.effects(namespace, resource, "delete")
    }

    /// Returns the number of requests of a user (impersonating or not) with a verb on a resource, in any
    /// namespace and with any result.
    pub fn requests(&self, user: &str, verb: &str, resource: &str) -> Result<usize> {
        let quoted = format!("\"{user}\"");
        let found = self.matching(
            |line| line.contains(&quoted),
            |event| event.user() == user && event.verb == verb && event.resource() == resource,
        )?;
        Ok(found.len())
    }

    fn effects(&self, namespace: &str, resource: &str, verb: &str) -> Result<usize> {
        let events = self.in_namespace(namespace)?;
        let effect = |event: &&AuditEvent| {
            event.verb == verb && event.resource() == resource && event.took_effect()
        };
        Ok(events.iter().filter(effect).count())
    }

    fn matching(
        &self,
        line_wanted: impl Fn(&str) -> bool,
        wanted: impl Fn(&AuditEvent) -> bool,
    ) -> Result<Vec<AuditEvent>> {
        let reading = || format!("reading {}", self.file.display());
        let mut file = File::open(&self.file).with_context(reading)?;
        file.seek(SeekFrom::Start(self.begin))
            .with_context(reading)?;
        let mut events: Vec<AuditEvent> = Vec::new();
        let mut begun = std::collections::BTreeSet::new();
        for line in BufReader::new(file).split(b'\n') {
            let line = String::from_utf8_lossy(&line.with_context(reading)?).into_owned();
            if !line_wanted(&line) {
                continue;
            }
            // A line that is being written, or was when the server was killed, is not answered yet.
            let Ok(event) = serde_json::from_str::<AuditEvent>(&line) else {
                continue;
            };
            let again = event.stage == "ResponseComplete" && begun.contains(&event.audit_id);
            if again || !wanted(&event) {
                continue;
            }
            if event.stage == "ResponseStarted" {
                begun.insert(event.audit_id.clone());
            }
            events.push(event);
        }
        Ok(events)
    }
}

impl Cluster {
    /// Returns the audit log from now on. Fails if the cluster was started without one.
    pub fn audit(&self) -> Result<AuditLog> {
        let file = self
            .control_plane()?
            .audit_log()
            .context("this control plane was started without an audit log")?;
        let begin = std::fs::metadata(&file).map_or(0, |metadata| metadata.len());
        Ok(AuditLog { file, begin })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = r#"
{"auditID":"1","stage":"ResponseComplete","verb":"create","requestURI":"/apis/batch/v1/namespaces/a/jobs?timeout=10s","user":{"username":"c"},"impersonatedUser":{"username":"sa"},"objectRef":{"resource":"jobs","namespace":"a","apiGroup":"batch","name":"j1"},"responseStatus":{"code":201}}
{"auditID":"2","stage":"ResponseComplete","verb":"create","requestURI":"/apis/batch/v1/namespaces/a/jobs?dryRun=All","user":{"username":"c"},"objectRef":{"resource":"jobs","namespace":"a","apiGroup":"batch","name":"j2"},"responseStatus":{"code":201}}
{"auditID":"3","stage":"ResponseComplete","verb":"create","requestURI":"/apis/batch/v1/namespaces/a/jobs","user":{"username":"c"},"objectRef":{"resource":"jobs","namespace":"a","apiGroup":"batch","name":"j1"},"responseStatus":{"code":409}}
{"auditID":"4","stage":"ResponseComplete","verb":"create","requestURI":"/apis/batch/v1/namespaces/b/jobs","user":{"username":"c"},"objectRef":{"resource":"jobs","namespace":"b","apiGroup":"batch"},"responseStatus":{"code":201},"responseObject":{"metadata":{"name":"j-x7k2p"}}}
{"auditID":"5","stage":"ResponseStarted","verb":"watch","requestURI":"/apis/carto.run/v1alpha1/runnables?watch=1","user":{"username":"c"},"objectRef":{"resource":"runnables","apiGroup":"carto.run"},"responseStatus":{"code":200}}
{"auditID":"5","stage":"ResponseComplete","verb":"watch","requestURI":"/apis/carto.run/v1alpha1/runnables?watch=1","user":{"username":"c"},"objectRef":{"resource":"runnables","apiGroup":"carto.run"},"responseStatus":{"code":200}}
{"auditID":"6","stage":"Respo"#;

    fn log() -> (tempfile::NamedTempFile, AuditLog) {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), LINES).unwrap();
        let log = AuditLog {
            file: file.path().to_owned(),
            begin: 0,
        };
        (file, log)
    }

    #[test]
    fn dry_runs_and_refused_creates_took_no_effect() {
        let (_file, log) = log();
        assert_eq!(log.creates("a", "jobs.batch").unwrap(), 1);
        assert_eq!(log.requests("c", "create", "jobs.batch").unwrap(), 4);
    }

    #[test]
    fn a_watch_counts_once() {
        let (_file, log) = log();
        assert_eq!(
            log.requests("c", "watch", "runnables.carto.run").unwrap(),
            1
        );
    }

    #[test]
    fn a_generated_name_is_read_from_the_answer() {
        let (_file, log) = log();
        assert_eq!(log.in_namespace("b").unwrap()[0].name(), "j-x7k2p");
    }

    #[test]
    fn an_impersonated_request_tells_both_users() {
        let (_file, log) = log();
        let event = &log.events().unwrap()[0];
        assert_eq!((event.user(), event.acting_as()), ("c", "sa"));
    }

    #[test]
    fn a_line_that_is_still_being_written_is_left_for_later() {
        let (_file, log) = log();
        assert_eq!(log.events().unwrap().len(), 5);
    }
}
