//! Writes: each is sent once, with preconditions for what it changes.

use cartouche_crds::{API_VERSION, FIELD_MANAGER};
use http::Method;
use kube::Resource;
use serde::{
    Serialize,
    de::{DeserializeOwned, IgnoredAny},
};
use serde_json::{Value, json};

use super::{ApiError, Requests, ResourcePath, warnings};

/// Timeout of the API server for a create or a status write. [`cartouche_protocol::ledger::MINIMUM_AGE`] derives from
/// it, and so does the wait for an entry that was withdrawn.
const WRITE_TIMEOUT: &str = "10s";

/// Mode of a create.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreateMode {
    /// Creates the object.
    Real,
    /// Only returns the object that the server would create.
    DryRun,
}

/// The parts of an object that a write of its status must contain.
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
    /// Creates an object, and returns the part of the answer that the caller asks for. Never sent twice.
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

    /// Creates an object likewise, and returns the warnings: dropped fields, and deprecations (KEP-2885).
    pub async fn create_with_warnings<T: DeserializeOwned>(
        &self,
        path: &ResourcePath,
        object: &Value,
    ) -> Result<(T, Vec<String>), ApiError> {
        let uri = created_at(path, "&fieldValidation=Warn");
        let (head, text) = self.exchange(Method::POST, &uri, bytes(object)?).await?;
        Ok((self.decoded(&text).await?, warnings::read_warnings(&head)))
    }

    /// Replaces the status of an object of the controller's own kinds, if it is at this resourceVersion. Its `spec` is
    /// ignored by the server, but required by the schema. If `in_doubt`, a dry run comes first, so that nothing is
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

    /// Replaces an object, if it is at the resourceVersion in `object`.
    pub async fn replace<T: DeserializeOwned>(
        &self,
        path: &ResourcePath,
        name: &str,
        object: &Value,
    ) -> Result<T, ApiError> {
        let named = path.object_path(name);
        let uri = format!("{named}?fieldManager={FIELD_MANAGER}&timeout={WRITE_TIMEOUT}");
        self.once(Method::PUT, &uri, bytes(object)?).await
    }

    /// Sends a JSON merge patch (RFC 7386). With a uid in it, another object of the same name is not changed.
    pub async fn merge(
        &self,
        path: &ResourcePath,
        name: &str,
        change: &Value,
    ) -> Result<(), ApiError> {
        let uri = format!("{}?fieldManager={FIELD_MANAGER}", path.object_path(name));
        let body = bytes(change)?;
        self.once::<IgnoredAny>(Method::PATCH, &uri, body)
            .await
            .map(drop)
    }

    /// Deletes the object with this uid, and its dependents afterwards.
    pub async fn delete(&self, path: &ResourcePath, name: &str, uid: &str) -> Result<(), ApiError> {
        self.delete_if(path, name, "Background", json!({ "uid": uid }))
            .await
    }

    /// Deletes the object likewise, if it still has this resourceVersion.
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

    /// Deletes the object with this uid, if it still has this resourceVersion, once its dependents are gone.
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
        self.once::<IgnoredAny>(Method::DELETE, &path.object_path(name), bytes(&options)?)
            .await
            .map(drop)
    }
}

/// Returns the URI of the status of an object of the controller's own kinds.
fn status_of<K: Resource<DynamicType = ()>>(object: &K) -> String {
    let meta = object.meta();
    let path = ResourcePath::new(API_VERSION, &K::plural(&()), meta.namespace.as_deref());
    let named = path.object_path(meta.name.as_deref().unwrap_or_default());
    format!("{named}/status?fieldManager={FIELD_MANAGER}&timeout={WRITE_TIMEOUT}")
}

/// Returns the body of a write of a status.
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

/// Returns the URI of a create, with further parameters.
fn created_at(path: &ResourcePath, way: &str) -> String {
    let all = path.all();
    format!("{all}?fieldManager={FIELD_MANAGER}&timeout={WRITE_TIMEOUT}{way}")
}

fn bytes(object: &impl Serialize) -> Result<Vec<u8>, ApiError> {
    serde_json::to_vec(object).map_err(|error| ApiError::Unsent(error.to_string()))
}
