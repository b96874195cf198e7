//! What somebody may not do.

use std::fmt;

/// Who lacks a permission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    /// A `ServiceAccount`, by namespace and name, in which name a Runnable (the last) is served.
    Account(String, String, String),
    /// The controller, by the name that the API server knows it by.
    Controller(String),
}

/// What somebody may not do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denied {
    /// The verbs.
    pub verbs: Vec<String>,
    /// `resource[.group]`.
    pub resource: String,
    /// The name of the object. A right to make or list objects has none.
    pub name: Option<String>,
    /// In which namespace, if that is another than the Runnable's.
    pub namespace: Option<String>,
}

impl Denied {
    /// One verb.
    #[must_use]
    pub fn one(verb: &str, resource: &str) -> Self {
        Self {
            verbs: vec![verb.to_owned()],
            resource: resource.to_owned(),
            name: None,
            namespace: None,
        }
    }

    /// The same of the object with this name, unless it makes or lists objects.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        let is_of_all = |verb: &String| matches!(verb.as_str(), "create" | "list");
        let is_named = !name.is_empty() && !self.verbs.iter().any(is_of_all);
        Self {
            name: is_named.then(|| name.to_owned()),
            ..self
        }
    }

    /// The same in another namespace than the Runnable's, if one is given.
    #[must_use]
    pub fn in_namespace(self, namespace: Option<&str>) -> Self {
        let namespace = namespace.map(str::to_owned);
        Self { namespace, ..self }
    }

    /// Adds it to what else is denied.
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
