//! Missing permissions.

use std::fmt;

/// The user who lacks a permission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    /// A `ServiceAccount`, by namespace and name, and the Runnable that uses it.
    Account(String, String, String),
    /// The controller, by its user name at the API server.
    Controller(String),
}

/// A missing permission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denied {
    /// The verbs.
    pub verbs: Vec<String>,
    /// `resource[.group]`.
    pub resource: String,
    /// The name of the object. A permission to create or list objects has none.
    pub name: Option<String>,
    /// The namespace, if it is not the Runnable's.
    pub namespace: Option<String>,
}

impl Denied {
    /// Returns the permission for one verb.
    #[must_use]
    pub fn one(verb: &str, resource: &str) -> Self {
        Self {
            verbs: vec![verb.to_owned()],
            resource: resource.to_owned(),
            name: None,
            namespace: None,
        }
    }

    /// Returns the same for the object with this name, unless the verb is create or list.
    #[must_use]
    pub fn with_name(self, name: &str) -> Self {
        let is_of_all = |verb: &String| matches!(verb.as_str(), "create" | "list");
        let is_named = !name.is_empty() && !self.verbs.iter().any(is_of_all);
        Self {
            name: is_named.then(|| name.to_owned()),
            ..self
        }
    }

    /// Returns the same in another namespace than the Runnable's, if one is given.
    #[must_use]
    pub fn in_namespace(self, namespace: Option<&str>) -> Self {
        let namespace = namespace.map(str::to_owned);
        Self { namespace, ..self }
    }

    /// Adds it to the list, merged with the entry for the same objects.
    pub fn add_to(self, all: &mut Vec<Self>) {
        let is_same = |known: &&mut Self| {
            let known = (&known.resource, &known.name, &known.namespace);
            known == (&self.resource, &self.name, &self.namespace)
        };
        match all.iter_mut().find(is_same) {
            Some(known) => {
                let new = self
                    .verbs
                    .into_iter()
                    .filter(|verb| !known.verbs.contains(verb));
                let new: Vec<String> = new.collect();
                known.verbs.extend(new);
            }
            None => all.push(self),
        }
    }
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verbs.join("/"), self.resource)?;
        if let Some(name) = &self.name {
            write!(f, " {name:?}")?;
        }
        match &self.namespace {
            Some(namespace) => write!(f, " in the namespace {namespace}"),
            None => Ok(()),
        }
    }
}
