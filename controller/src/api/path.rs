//! Paths and queries of the API server.

use std::fmt::Write as _;

/// Path of a kind, in a namespace or in the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourcePath {
    base: String,
}

impl ResourcePath {
    /// Creates a path from an `api_version` as in a manifest, the plural `resource`, and a namespace, if there is one.
    #[must_use]
    pub fn new(api_version: &str, resource: &str, namespace: Option<&str>) -> Self {
        let root = api_root(api_version);
        let base = match namespace {
            Some(namespace) => format!("{root}/namespaces/{namespace}/{resource}"),
            None => format!("{root}/{resource}"),
        };
        Self { base }
    }

    /// Returns the path of all objects.
    #[must_use]
    pub fn all(&self) -> &str {
        &self.base
    }

    /// Returns the path of one object.
    #[must_use]
    pub fn object_path(&self, name: &str) -> String {
        let name = match name {
            // These would be read as steps of the path.
            "." => "%2E".to_owned(),
            ".." => "%2E%2E".to_owned(),
            name => percent_encoded(name),
        };
        format!("{}/{name}", self.base)
    }
}

/// Returns the path of an API version.
#[must_use]
pub fn api_root(api_version: &str) -> String {
    let root = if api_version.contains('/') {
        "apis"
    } else {
        "api"
    };
    format!("/{root}/{api_version}")
}

/// Returns the query for objects with these labels.
#[must_use]
pub fn label_query<'a>(labels: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let pairs = labels
        .into_iter()
        .map(|(key, value)| format!("{key}={value}"));
    let pairs: Vec<String> = pairs.collect();
    format!("labelSelector={}", percent_encoded(&pairs.join(",")))
}

/// Returns the query that selects by fields.
pub fn field_query<'a>(fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let pairs = fields
        .into_iter()
        .map(|(field, value)| format!("{field}={}", literal(value)));
    let pairs: Vec<String> = pairs.collect();
    format!("fieldSelector={}", percent_encoded(&pairs.join(",")))
}

/// Escapes the special characters of a value in a field selector (`k8s.io/apimachinery/pkg/fields`).
fn literal(value: &str) -> String {
    let mut literal = String::with_capacity(value.len());
    for character in value.chars() {
        if matches!(character, '\\' | ',' | '=') {
            literal.push('\\');
        }
        literal.push(character);
    }
    literal
}

/// Encodes everything but letters, digits and `-._~`, so that a name or a label is never read as anything else.
#[must_use]
pub fn percent_encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing into a String cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::ResourcePath;

    #[test]
    fn a_name_cannot_leave_its_place() {
        let pods = ResourcePath::new("v1", "pods", Some("a"));
        assert_eq!(pods.object_path("x?y"), "/api/v1/namespaces/a/pods/x%3Fy");
        assert_eq!(pods.object_path("../b"), "/api/v1/namespaces/a/pods/..%2Fb");
        assert_eq!(pods.object_path(".."), "/api/v1/namespaces/a/pods/%2E%2E");
        assert_eq!(
            pods.object_path("Bad Name"),
            "/api/v1/namespaces/a/pods/Bad%20Name"
        );
    }

    #[test]
    fn core_kinds_live_under_api_and_all_others_under_apis() {
        assert_eq!(
            ResourcePath::new("v1", "pods", Some("a")).object_path("p"),
            "/api/v1/namespaces/a/pods/p"
        );
        assert_eq!(
            ResourcePath::new("batch/v1", "jobs", None).all(),
            "/apis/batch/v1/jobs"
        );
    }
}
