//! Writes: each is sent once, with what it must find as a condition.

use cartouche_crds::{API_VERSION, FIELD_MANAGER};
use http::Method;
use kube::Resource;
use serde::{
    Serialize,
    de::{DeserializeOwned, IgnoredAny},
};
use serde_json::{Value, json};

use super::{ApiError, Requests, ResourcePath, warnings};

/// How long the API server may work on a create, or on a status, before it gives up; the basis of
/// [`cartouche_protocol::ledger::MINIMUM_AGE`], and of how long an entry that was withdrawn is waited for.
const WRITE_TIMEOUT: &str = "10s";

/// What a create asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreateMode {
    /// The object.
    Real,
    /// Only what the server would make of it.
    DryRun,
}

/// An object as far as a write of its status must give it: which one, and the status.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StatusUpdate<'a, Status> {
    api_version: &'static str,
    kind: String,
    metadata: Value,
    spec: Value,
    status: &'a Status,
}

impl Requests {
    /// Creates an object, and gives what of the answer the caller wants to know. Never sent twice.
    pub async fn create<T: DeserializeOwned>(
        &self,
        path: &ResourcePath,
        object: &Value,
        mode: CreateMode,
    ) -> Result<T, ApiError> {
        let uri = created_at(
            path,
            if mode == CreateMode::DryRun {
                "&dryRun=All"
            } else {
                ""
            },
        );
        let body = bytes(object)?;
        self.once(Method::POST, &uri, body).await
    }

    /// The same, with what the API server warns of: fields that it drops, and what is deprecated (KEP-2885).
    pub async fn create_with_warnings<T: DeserializeOwned>(
        &self,
        path: &ResourcePath,
        object: &Value,
    ) -> Result<(T, Vec<String>), ApiError> {
        let uri = created_at(path, "&fieldValidation=Warn");
        let (head, text) = self.exchange(Method::POST, &uri, bytes(object)?).await?;
        Ok((self.decoded(&text).await?, warnings::of(&head)))
    }

    /// Replaces the status of an object of ours, on the condition that it is at this resourceVersion. Its
    /// `spec` is ignored by the server, but its schema wants one. In doubt it is first tried without effect, so that nothing is
    /// written of which the server would drop a part.
    pub async fn replace_status<T, K>(
        &self,
        object: &K,
        resource_version: &str,
        (spec, status): (Value, &impl Serialize),
        in_doubt: bool,
    ) -> Result<T, ApiError>
    where
        T: DeserializeOwned,
        K: Resource<DynamicType = ()>,
    {
        let uri = status_of(object);
        let update = update_of(object, resource_version, spec, status);
        if in_doubt {
            let trial = format!("{uri}&dryRun=All");
            self.put_status::<IgnoredAny>(&trial, &update).await?;
        }
        self.put_status(&uri, &update).await
    }

    async fn put_status<T: DeserializeOwned>(
        &self,
        uri: &str,
        update: &impl Serialize,
    ) -> Result<T, ApiError> {
        let (head, text) = self.exchange(Method::PUT, uri, bytes(update)?).await?;
        match warnings::dropped_of_status(&head) {
            dropped if dropped.is_empty() => self.decoded(&text).await,
            dropped => Err(ApiError::Dropped(dropped)),
        }
    }

    /// Replaces an object, on the condition that it is at the resourceVersion that it carries.
    pub async fn replace<T: DeserializeOwned>(
        &self,
        path: &ResourcePath,
        name: &str,
        object: &Value,
    ) -> Result<T, ApiError> {
        let named = path.named(name);
        let uri = format!("{named}?fieldManager={FIELD_MANAGER}&timeout={WRITE_TIMEOUT}");
        self.once(Method::PUT, &uri, bytes(object)?).await
    }

    /// Sends a JSON merge patch (RFC 7386); with a uid in it an object that has taken the name is left alone.
    pub async fn merge(
        &self,
        path: &ResourcePath,
        name: &str,
        change: &Value,
    ) -> Result<(), ApiError> {
        let uri = format!("{}?fieldManager={FIELD_MANAGER}", path.named(name));
        let body = bytes(change)?;
        self.once::<IgnoredAny>(Method::PATCH, &uri, body)
            .await
            .map(drop)
    }

    /// Deletes the object with this uid, and what it owns after it.
    pub async fn delete(&self, path: &ResourcePath, name: &str, uid: &str) -> Result<(), ApiError> {
        self.delete_if(path, name, "Background", json!({ "uid": uid }))
            .await
    }

    /// The same of one that is still as it was read, in this resourceVersion.
    pub async fn delete_as_read(
        &self,
        path: &ResourcePath,
        name: &str,
        (uid, version): (&str, &str),
    ) -> Result<(), ApiError> {
        let preconditions = json!({ "uid": uid, "resourceVersion": version });
        self.delete_if(path, name, "Background", preconditions)
            .await
    }

    /// Deletes the object with this uid, if it still has this resourceVersion, once all that it owns is gone.
    pub async fn delete_last(
        &self,
        path: &ResourcePath,
        name: &str,
        (uid, version): (&str, Option<u64>),
    ) -> Result<(), ApiError> {
        let version = version.map(|version| version.to_string());
        let preconditions = json!({ "uid": uid, "resourceVersion": version });
        self.delete_if(path, name, "Foreground", preconditions)
            .await
    }

    async fn delete_if(
        &self,
        path: &ResourcePath,
        name: &str,
        propagation: &str,
        preconditions: Value,
    ) -> Result<(), ApiError> {
        let options = json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation, "preconditions": preconditions,
        });
        self.once::<IgnoredAny>(Method::DELETE, &path.named(name), bytes(&options)?)
            .await
            .map(drop)
    }
}

/// The URI of the status of an object of ours.
fn status_of<K: Resource<DynamicType = ()>>(object: &K) -> String {
    let meta = object.meta();
    let path = ResourcePath::new(API_VERSION, &K::plural(&()), meta.namespace.as_deref());
    let named = path.named(meta.name.as_deref().unwrap_or_default());
    format!("{named}/status?fieldManager={FIELD_MANAGER}&timeout={WRITE_TIMEOUT}")
}

/// The body of a write to it.
fn update_of<'a, K: Resource<DynamicType = ()>, Status: Serialize>(
    object: &K,
    resource_version: &str,
    spec: Value,
    status: &'a Status,
) -> StatusUpdate<'a, Status> {
    let meta = object.meta();
    StatusUpdate {
        api_version: API_VERSION,
        kind: K::kind(&()).into_owned(),
        metadata: json!({
            "name": meta.name, "namespace": meta.namespace, "uid": meta.uid, "resourceVersion": resource_version,
        }),
        spec,
        status,
    }
}

/// Where an object is created, in which way.
fn created_at(path: &ResourcePath, way: &str) -> String {
    let all = path.all();
    format!("{all}?fieldManager={FIELD_MANAGER}&timeout={WRITE_TIMEOUT}{way}")
}

fn bytes(object: &impl Serialize) -> Result<Vec<u8>, ApiError> {
    serde_json::to_vec(object).map_err(|error| ApiError::Unsent(error.to_string()))
}
