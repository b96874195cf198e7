//! The catalog of known kinds.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use serde_json::Value;

use super::{
    bundled, definitions,
    kind_schema::{KindName, KindSchema},
};
use crate::source::Document;

/// All kinds that are known: those given win over the built-in ones.
#[derive(Default)]
pub struct Catalog {
    given: BTreeMap<KindName, Rc<KindSchema>>,
    /// Made when first asked for: most are never needed.
    built_in: RefCell<BTreeMap<KindName, Rc<KindSchema>>>,
}

impl Catalog {
    /// Takes the schemas out of documents that hold some: `CustomResourceDefinition`s and OpenAPI.
    pub fn add(&mut self, documents: &[Document]) {
        for document in documents {
            self.given
                .extend(definitions::of_custom_resource(&document.value));
        }
    }

    /// Takes the schemas out of an OpenAPI document.
    pub fn add_open_api(&mut self, document: Value) {
        self.given.extend(definitions::of_open_api(document));
    }

    /// Returns the schema of a kind, if it is known.
    #[must_use]
    pub fn get(&self, api_version: &str, kind: &str) -> Option<Rc<KindSchema>> {
        let name = (api_version.to_owned(), kind.to_owned());
        if let Some(given) = self.given.get(&name) {
            return Some(Rc::clone(given));
        }
        if let Some(made) = self.built_in.borrow().get(&name) {
            return Some(Rc::clone(made));
        }
        let made = Rc::new(bundled::kind(api_version, kind)?);
        self.built_in.borrow_mut().insert(name, Rc::clone(&made));
        Some(made)
    }

    /// Returns true if all kinds of an API version are known.
    pub(crate) fn is_complete(api_version: &str) -> bool {
        bundled::names().any(|(known, _)| known == api_version)
    }

    /// Returns every kind that is known by name.
    pub(crate) fn names(&self) -> BTreeSet<(&str, &str)> {
        let mut names: BTreeSet<(&str, &str)> = bundled::names().collect();
        names.extend(
            self.given
                .keys()
                .map(|(version, kind)| (version.as_str(), kind.as_str())),
        );
        names
    }
}
