//! Where a kind lives on the API server.

/// The path of a kind, in a namespace or in the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourcePath {
    base: String,
}

impl ResourcePath {
    /// `api_version` as in a manifest, the plural `resource`, and the namespace if there is one.
    #[must_use]
    pub fn new(api_version: &str, resource: &str, namespace: Option<&str>) -> Self {
        let root = if api_version.contains('/') {
            "/apis/"
        } else {
            "/api/"
        };
        let base = match namespace {
            Some(namespace) => format!("{root}{api_version}/namespaces/{namespace}/{resource}"),
            None => format!("{root}{api_version}/{resource}"),
        };
        Self { base }
    }

    /// All objects.
    #[must_use]
    pub fn all(&self) -> &str {
        &self.base
    }

    /// One object.
    #[must_use]
    pub fn named(&self, name: &str) -> String {
        format!("{}/{name}", self.base)
    }
}

#[cfg(test)]
mod tests {
    use super::ResourcePath;

    #[test]
    fn core_kinds_live_under_api_and_all_others_under_apis() {
        assert_eq!(
            ResourcePath::new("v1", "pods", Some("a")).named("p"),
            "/api/v1/namespaces/a/pods/p"
        );
        assert_eq!(
            ResourcePath::new("batch/v1", "jobs", None).all(),
            "/apis/batch/v1/jobs"
        );
    }
}
