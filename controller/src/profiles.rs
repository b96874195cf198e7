//! The profiles of the cluster, and the labels of namespaces while a rule selects them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use cartouche_crds::ClusterRunProfile;
use cartouche_protocol::profiles::{KnownProfile, Labels, Profiles};
use kube::{ResourceExt, api::ObjectMeta};
use tokio::sync::watch;

use crate::lock::lock;

/// Every profile, and what their rules need.
pub struct ClusterProfiles {
    all: Mutex<Arc<Vec<Arc<KnownProfile>>>>,
    /// By namespace. `None` until the watch has shown all of them, and where no rule asks for them.
    namespaces: Mutex<Option<HashMap<String, Arc<Labels>>>>,
    /// Why the labels of namespaces cannot be had, while they cannot.
    namespaces_failing: Mutex<Option<String>>,
    needs_namespaces: watch::Sender<bool>,
}

impl Default for ClusterProfiles {
    fn default() -> Self {
        Self {
            all: Mutex::default(),
            namespaces: Mutex::default(),
            namespaces_failing: Mutex::default(),
            needs_namespaces: watch::Sender::new(false),
        }
    }
}

impl ClusterProfiles {
    /// What is known where it is decided about a Runnable in this namespace. A namespace that the watch has not shown has no
    /// labels that anybody knows.
    #[must_use]
    pub fn for_runnable(&self, namespace: &str) -> Profiles {
        let namespaces = lock(&self.namespaces);
        Profiles {
            all: lock(&self.all).clone(),
            namespace_labels: namespaces
                .as_ref()
                .and_then(|all| all.get(namespace).cloned()),
        }
    }

    /// Whether profiles or the labels of the namespace have changed since.
    #[must_use]
    pub fn have_changed(&self, known: &Profiles, namespace: &str) -> bool {
        let now = self.for_runnable(namespace);
        !Arc::ptr_eq(&now.all, &known.all) || now.namespace_labels != known.namespace_labels
    }

    /// Takes in what a profile says now. Whether that is another than before: writes of its status do not count.
    pub fn put(&self, object: &ClusterRunProfile) -> bool {
        let (name, uid) = (object.name_any(), object.metadata.uid.as_deref());
        let generation = object.metadata.generation.unwrap_or_default();
        let mut all = lock(&self.all);
        let at = all.iter().position(|it| it.version.name == name);
        let known = at.map(|at| &all[at]);
        if known
            .is_some_and(|it| Some(it.uid.as_str()) == uid && it.version.generation == generation)
        {
            return false;
        }
        let profile = Arc::new(KnownProfile::new(object));
        let profiles = Arc::make_mut(&mut all);
        match at {
            Some(at) => profiles[at] = profile,
            None => profiles.push(profile),
        }
        self.settle_needs(&all);
        true
    }

    /// A profile is gone, or cannot be read.
    pub fn remove(&self, name: &str) {
        let mut all = lock(&self.all);
        Arc::make_mut(&mut all).retain(|it| it.version.name != name);
        self.settle_needs(&all);
    }

    /// These are all.
    pub fn relist(&self, objects: &[Arc<ClusterRunProfile>]) {
        let profiles = objects
            .iter()
            .map(|object| Arc::new(KnownProfile::new(object)));
        let mut all = lock(&self.all);
        *all = Arc::new(profiles.collect());
        self.settle_needs(&all);
    }

    fn settle_needs(&self, all: &[Arc<KnownProfile>]) {
        let needs = all.iter().any(|it| it.selects_namespaces());
        if !needs {
            *lock(&self.namespaces) = None;
            *lock(&self.namespaces_failing) = None;
        }
        self.needs_namespaces.send_if_modified(|before| {
            let changes = *before != needs;
            *before = needs;
            changes
        });
    }

    /// Tells whether a rule selects namespaces.
    #[must_use]
    pub fn needs_namespaces(&self) -> watch::Receiver<bool> {
        self.needs_namespaces.subscribe()
    }

    /// The labels of namespaces cannot be had, for this reason.
    pub fn without_namespaces(&self, why: String) {
        *lock(&self.namespaces_failing) = Some(why);
    }

    /// Why the labels of namespaces cannot be had, as far as it is known.
    #[must_use]
    pub fn why_without_namespaces(&self) -> Option<String> {
        lock(&self.namespaces_failing).clone()
    }

    /// Takes in all namespaces.
    pub fn put_namespaces(&self, all: impl IntoIterator<Item = ObjectMeta>) {
        let known = all.into_iter().map(|metadata| {
            let labels = Arc::new(metadata.labels.unwrap_or_default());
            (metadata.name.unwrap_or_default(), labels)
        });
        *lock(&self.namespaces) = Some(known.collect());
        *lock(&self.namespaces_failing) = None;
    }

    /// Takes in one. Whether its labels are others than before.
    pub fn put_namespace(&self, metadata: &ObjectMeta) -> bool {
        let (name, labels) = (metadata.name.clone(), metadata.labels.clone());
        let (name, labels) = (name.unwrap_or_default(), labels.unwrap_or_default());
        let mut namespaces = lock(&self.namespaces);
        let Some(all) = namespaces.as_mut() else {
            return false;
        };
        if all.get(&name).is_some_and(|known| **known == labels) {
            return false;
        }
        all.insert(name, Arc::new(labels));
        true
    }

    /// One is gone.
    pub fn remove_namespace(&self, name: &str) {
        if let Some(all) = lock(&self.namespaces).as_mut() {
            all.remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn profile(name: &str, generation: i64, rules: &Value) -> ClusterRunProfile {
        let object = json!({
            "metadata": { "name": name, "uid": name, "generation": generation }, "spec": { "rules": rules },
        });
        serde_json::from_value(object).unwrap()
    }

    fn namespace(name: &str, env: &str) -> ObjectMeta {
        serde_json::from_value(json!({ "name": name, "labels": { "env": env } })).unwrap()
    }

    #[test]
    fn a_write_of_its_status_is_no_change_of_a_profile() {
        let profiles = ClusterProfiles::default();
        assert!(profiles.put(&profile("a", 1, &json!([]))));
        let known = profiles.for_runnable("ns");
        assert!(!profiles.put(&profile("a", 1, &json!([]))));
        assert!(!profiles.have_changed(&known, "ns"));
        assert!(profiles.put(&profile("a", 2, &json!([]))));
        assert!(profiles.have_changed(&known, "ns"));
    }

    #[test]
    fn namespaces_are_known_only_while_a_rule_selects_them() {
        let profiles = ClusterProfiles::default();
        let needed = profiles.needs_namespaces();
        profiles.put(&profile("a", 1, &json!([{ "namespaceSelector": {} }])));
        assert!(*needed.borrow());
        assert!(profiles.for_runnable("ns").lacks_namespace());
        profiles.put_namespaces([namespace("ns", "test")]);
        let known = profiles.for_runnable("ns");
        assert_eq!(known.namespace_labels.as_deref().unwrap()["env"], "test");
        assert!(!profiles.put_namespace(&namespace("ns", "test")));
        assert!(profiles.put_namespace(&namespace("ns", "production")));
        assert!(profiles.have_changed(&known, "ns"));
        profiles.remove("a");
        assert!(!*needed.borrow());
        assert!(profiles.for_runnable("ns").namespace_labels.is_none());
    }
}
