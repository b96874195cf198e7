//! The schemas that the checks know.

use std::rc::Rc;

use crate::schema::{catalog::Catalog, kind_schema::KindSchema, own};

/// The schemas that the checks know.
pub struct Knowledge {
    pub(crate) catalog: Catalog,
    pub(crate) runnable: Rc<KindSchema>,
    pub(crate) template: Rc<KindSchema>,
}

impl Knowledge {
    /// Returns the schemas of a catalog, with those of the kinds of Cartouche.
    #[must_use]
    pub fn new(catalog: Catalog) -> Self {
        Self {
            catalog,
            runnable: own::runnable(),
            template: own::cluster_run_template(),
        }
    }
}
