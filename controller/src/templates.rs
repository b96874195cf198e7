//! Templates, compiled once per generation.

mod reads;
mod warned;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use cartouche_crds::ClusterRunTemplate;
use cartouche_protocol::compiled::Compiled;
use futures::{Stream, StreamExt, stream};
use kube::{
    ResourceExt,
    runtime::reflector::{ObjectRef, Store},
};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{budget::check_weight, lock::lock};
use reads::TemplateRead;
pub use reads::TemplateUnread;
use warned::TemplateWarnings;

/// Fields that identify one state of a template.
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
    reads: Mutex<HashMap<String, TemplateRead>>,
    warned: TemplateWarnings,
}

impl Templates {
    /// Creates templates over a store that a watch fills.
    #[must_use]
    pub fn new(store: Store<ClusterRunTemplate>) -> Self {
        Self {
            store,
            compiled: Mutex::default(),
            reads: Mutex::default(),
            warned: TemplateWarnings::default(),
        }
    }

    /// Returns the template in the cache, compiled.
    #[must_use]
    pub fn find_cached(&self, name: &str) -> Option<Arc<Compiled>> {
        let object = self.store.get(&ObjectRef::new(name));
        if object.is_none() {
            lock(&self.compiled).remove(name);
        }
        Some(self.compile(&*object?))
    }

    /// Returns the template of an answer, which is parsed no further if this state is compiled already.
    fn answered(&self, answer: &RawValue) -> serde_json::Result<Arc<Compiled>> {
        let TemplateHead { metadata } = serde_json::from_str(answer.get())?;
        if let Some(kept) = self.kept(&metadata.name, Some(&metadata.uid), metadata.generation) {
            return Ok(kept);
        }
        check_weight(answer.get())?;
        Ok(self.compile(&serde_json::from_str(answer.get())?))
    }

    /// Returns a template that was read just now, compiled unless this state is compiled already.
    #[must_use]
    pub fn compile(&self, object: &ClusterRunTemplate) -> Arc<Compiled> {
        let (name, metadata) = (object.name_any(), &object.metadata);
        if let Some(kept) = self.kept(&name, metadata.uid.as_deref(), metadata.generation) {
            return kept;
        }
        let compiled = Arc::new(Compiled::new(object));
        let mut kept = lock(&self.compiled);
        // Deleted templates are dropped when another one comes.
        if kept.len() > self.store.len() {
            let exists = |name: &str| self.store.get(&ObjectRef::new(name)).is_some();
            kept.retain(|name, _| exists(name));
            self.warned.retain(exists);
        }
        kept.insert(name, compiled.clone());
        compiled
    }

    /// Returns the template, if this state of it is compiled already.
    fn kept(
        &self,
        name: &str,
        uid: Option<&str>,
        generation: Option<i64>,
    ) -> Option<Arc<Compiled>> {
        let kept = lock(&self.compiled).get(name).cloned()?;
        kept.is_of(uid, generation).then_some(kept)
    }

    /// Records the API server's warnings to the create of a run, if this state of the template is the cached one.
    pub fn warn(&self, compiled: &Compiled, texts: &[String]) {
        let Some(object) = self.store.get(&ObjectRef::new(&compiled.name)) else {
            return;
        };
        if compiled.is_of(object.metadata.uid.as_deref(), object.metadata.generation) {
            self.warned.add(&object, compiled, texts);
        }
    }

    /// Returns the warnings that the template itself has caused.
    #[must_use]
    pub fn warnings(&self, compiled: &Compiled) -> Vec<String> {
        self.warned.texts(compiled)
    }

    /// Returns a stream of the templates that get another warning. Only the first call returns the events.
    pub fn with_news(&self) -> impl Stream<Item = Arc<ClusterRunTemplate>> + use<> {
        let (news, store) = (self.warned.news(), self.store.clone());
        let names = stream::iter(news).flatten();
        names.filter_map(move |name| std::future::ready(store.get(&ObjectRef::new(&name))))
    }

    /// Returns the kinds of all templates that name theirs without a tag.
    pub fn literal_kinds(&self) -> impl Iterator<Item = (String, String)> {
        self.store.state().into_iter().filter_map(|object| {
            let compiled = self.compile(&object);
            let (api_version, kind) = compiled.template.as_ref().ok()?.literal_kind()?;
            Some((api_version.to_owned(), kind.to_owned()))
        })
    }
}
