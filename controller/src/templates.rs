//! The templates, compiled once per generation.

mod reads;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use cartouche_crds::ClusterRunTemplate;
use cartouche_protocol::compiled::Compiled;
use kube::{
    ResourceExt,
    runtime::reflector::{ObjectRef, Store},
};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::lock::lock;
use reads::Read;
pub use reads::TemplateUnread;

/// What tells one state of a template from another.
#[derive(Deserialize)]
struct TemplateHead {
    metadata: TemplateHeadMeta,
}

#[derive(Deserialize)]
struct TemplateHeadMeta {
    name: String,
    uid: String,
    generation: Option<i64>,
}

/// All templates, compiled when first used.
pub struct Templates {
    store: Store<ClusterRunTemplate>,
    compiled: Mutex<HashMap<String, Arc<Compiled>>>,
    reads: Mutex<HashMap<String, Read>>,
}

impl Templates {
    /// Templates out of a store that a watch fills.
    #[must_use]
    pub fn new(store: Store<ClusterRunTemplate>) -> Self {
        Self {
            store,
            compiled: Mutex::default(),
            reads: Mutex::default(),
        }
    }

    /// The template as the cache has it.
    #[must_use]
    pub fn cached(&self, name: &str) -> Option<Arc<Compiled>> {
        let object = self.store.get(&ObjectRef::new(name));
        if object.is_none() {
            lock(&self.compiled).remove(name);
        }
        Some(self.compile(&*object?))
    }

    /// The answer to a read of a template, which is read no further if it is compiled already.
    fn answered(&self, answer: &RawValue) -> serde_json::Result<Arc<Compiled>> {
        let TemplateHead { metadata } = serde_json::from_str(answer.get())?;
        match self.kept(&metadata.name, Some(&metadata.uid), metadata.generation) {
            Some(kept) => Ok(kept),
            None => Ok(self.compile(&serde_json::from_str(answer.get())?)),
        }
    }

    /// A template that was read just now, compiled unless it is the one that is compiled already.
    #[must_use]
    pub fn compile(&self, object: &ClusterRunTemplate) -> Arc<Compiled> {
        let (name, metadata) = (object.name_any(), &object.metadata);
        if let Some(kept) = self.kept(&name, metadata.uid.as_deref(), metadata.generation) {
            return kept;
        }
        let compiled = Arc::new(Compiled::new(object));
        let mut kept = lock(&self.compiled);
        // Those that are gone leave when another one comes.
        if kept.len() > self.store.len() {
            kept.retain(|name, _| self.store.get(&ObjectRef::new(name)).is_some());
        }
        kept.insert(name, compiled.clone());
        compiled
    }

    /// The template, if this state of it is compiled already.
    fn kept(
        &self,
        name: &str,
        uid: Option<&str>,
        generation: Option<i64>,
    ) -> Option<Arc<Compiled>> {
        let kept = lock(&self.compiled).get(name).cloned()?;
        kept.is_of(uid, generation).then_some(kept)
    }

    /// The kinds of all templates that name theirs without a tag.
    pub fn literal_kinds(&self) -> impl Iterator<Item = (String, String)> {
        self.store.state().into_iter().filter_map(|object| {
            let compiled = self.compile(&object);
            let (api_version, kind) = compiled.template.as_ref().ok()?.literal_kind()?;
            Some((api_version.to_owned(), kind.to_owned()))
        })
    }
}
