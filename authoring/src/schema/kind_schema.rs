//! The schema of one kind, and its name.

use std::rc::Rc;

use serde_json::Value;

use super::Schema;

/// The schema of one kind.
#[derive(Debug)]
pub struct KindSchema {
    /// A document with the schema and all that it refers to.
    pub(crate) document: Rc<Value>,
    /// JSON pointer to the schema in the document.
    pub(crate) pointer: String,
    /// True if its objects are in a namespace; `None` if that is not known.
    pub namespaced: Option<bool>,
    /// The plural name of its resource for RBAC, if that is known.
    pub plural: Option<String>,
    /// True for a built-in kind.
    pub built_in: bool,
}

impl KindSchema {
    pub(crate) fn schema(&self) -> Option<Schema<'_>> {
        Schema::new(&self.document, &self.pointer)
    }
}

/// An `apiVersion` and a kind.
pub(crate) type KindName = (String, String);
