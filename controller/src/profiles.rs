//! Profiles of the cluster, and the labels of namespaces while a rule selects them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use cartouche_crds::ClusterRunProfile;
use cartouche_protocol::profiles::{KnownProfile, Labels, Profiles};
use kube::{ResourceExt, api::ObjectMeta};
use tokio::sync::watch;

use crate::lock::lock;

/// Namespaces, of which only the metadata is watched, while a rule selects them.
pub(crate) const NAMESPACES: &str = "namespaces";

/// All profiles, and the namespaces that their rules need.
pub struct ClusterProfiles {
    known: Mutex<ProfilesState>,
    needs_namespaces: watch::Sender<bool>,
}

#[derive(Default)]
struct ProfilesState {
    all: Arc<Vec<Arc<KnownProfile>>>,
    /// Labels by namespace. `None` until the watch has shown all of them, and while no watch is open.
    namespaces: Option<HashMap<String, Arc<Labels>>>,
}

impl Default for ClusterProfiles {
    fn default() -> Self {
        Self {
            known: Mutex::default(),
            needs_namespaces: watch::Sender::new(false),
        }
    }
}

impl ClusterProfiles {
    /// Returns the profiles for a decision about a Runnable in this namespace. The labels of a namespace are unknown if
    /// the watch has not shown it, and while the watch fails (`without_namespaces`): they may have changed since.
    #[must_use]
    pub fn for_runnable(&self, namespace: &str, without_namespaces: bool) -> Profiles {
        let known = lock(&self.known);
        let namespaces = known.namespaces.as_ref().filter(|_| !without_namespaces);
        Profiles {
            all: known.all.clone(),
            namespace_labels: namespaces.and_then(|all| all.get(namespace).cloned()),
        }
    }

    /// Returns true if profiles or the labels of the namespace have changed since.
    #[must_use]
    pub fn have_changed(&self, before: &Profiles, namespace: &str) -> bool {
        let now = self.for_runnable(namespace, false);
        let is_labelled = before.namespace_labels.is_some() || !before.lacks_namespace();
        !Arc::ptr_eq(&now.all, &before.all)
            || is_labelled && now.namespace_labels != before.namespace_labels
    }

    /// Returns true if a rule selects namespaces.
    #[must_use]
    pub fn select_namespaces(&self) -> bool {
        *self.needs_namespaces.borrow()
    }

    /// Returns this state of a profile, compiled once.
    #[must_use]
    pub fn compile(&self, object: &ClusterRunProfile) -> Arc<KnownProfile> {
        let known = lock(&self.known)
            .all
            .iter()
            .find(|it| is_of(it, object))
            .cloned();
        known.unwrap_or_else(|| Arc::new(KnownProfile::new(object)))
    }

    /// Records a profile. Returns true if it differs from before: writes of its status do not count.
    pub fn put(&self, object: &ClusterRunProfile) -> bool {
        if lock(&self.known).all.iter().any(|it| is_of(it, object)) {
            return false;
        }
        let profile = Arc::new(KnownProfile::new(object));
        let name = &profile.version.name;
        let mut known = lock(&self.known);
        let all = Arc::make_mut(&mut known.all);
        match all.iter().position(|it| it.version.name == *name) {
            Some(at) => all[at] = profile,
            None => all.push(profile),
        }
        self.settle_needs(&known);
        true
    }

    /// Removes a profile that was deleted, or cannot be read.
    pub fn remove(&self, name: &str) {
        let mut known = lock(&self.known);
        Arc::make_mut(&mut known.all).retain(|it| it.version.name != name);
        self.settle_needs(&known);
    }

    /// Replaces all profiles.
    pub fn relist(&self, objects: &[Arc<ClusterRunProfile>]) {
        let profiles = objects.iter();
        let profiles = profiles.map(|object| self.compile(object));
        let all = Arc::new(profiles.collect());
        let mut known = lock(&self.known);
        known.all = all;
        self.settle_needs(&known);
    }

    fn settle_needs(&self, known: &ProfilesState) {
        let needs = known.all.iter().any(|it| it.selects_namespaces());
        self.needs_namespaces.send_if_modified(|before| {
            let changes = *before != needs;
            *before = needs;
            changes
        });
    }

    /// Returns a receiver that holds true while a rule selects namespaces.
    #[must_use]
    pub fn needs_namespaces(&self) -> watch::Receiver<bool> {
        self.needs_namespaces.subscribe()
    }

    /// Replaces the labels of all namespaces.
    pub fn put_namespaces(&self, all: impl IntoIterator<Item = ObjectMeta>) {
        let labelled = all.into_iter().map(|metadata| {
            let labels = Arc::new(metadata.labels.unwrap_or_default());
            (metadata.name.unwrap_or_default(), labels)
        });
        lock(&self.known).namespaces = Some(labelled.collect());
    }

    /// Records the labels of a namespace. Returns true if its labels have changed.
    pub fn put_namespace(&self, metadata: &ObjectMeta) -> bool {
        let (name, labels) = (metadata.name.clone(), metadata.labels.clone());
        let (name, labels) = (name.unwrap_or_default(), labels.unwrap_or_default());
        let mut known = lock(&self.known);
        let Some(all) = known.namespaces.as_mut() else {
            return false;
        };
        if all.get(&name).is_some_and(|known| **known == labels) {
            return false;
        }
        all.insert(name, Arc::new(labels));
        true
    }

    /// Removes a namespace.
    pub fn remove_namespace(&self, name: &str) {
        if let Some(all) = lock(&self.known).namespaces.as_mut() {
            all.remove(name);
        }
    }

    /// Forgets all namespaces, since their watch has ended.
    pub fn forget_namespaces(&self) {
        lock(&self.known).namespaces = None;
    }
}

/// Returns true if this is the present state of the profile: writes of its status do not count.
fn is_of(known: &KnownProfile, object: &ClusterRunProfile) -> bool {
    known.version.name == object.name_any()
        && Some(known.uid.as_str()) == object.metadata.uid.as_deref()
        && Some(known.version.generation) == object.metadata.generation
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
        let known = profiles.for_runnable("ns", false);
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
        assert!(profiles.for_runnable("ns", false).lacks_namespace());
        profiles.put_namespaces([namespace("ns", "test")]);
        let known = profiles.for_runnable("ns", false);
        assert_eq!(known.namespace_labels.as_deref().unwrap()["env"], "test");
        assert!(!profiles.put_namespace(&namespace("ns", "test")));
        assert!(profiles.put_namespace(&namespace("ns", "production")));
        assert!(profiles.have_changed(&known, "ns"));
        // A watch that fails does not show labels that have changed since.
        assert!(profiles.for_runnable("ns", true).lacks_namespace());
        // The rule moves to another profile: the watch, which sees only the outcome, goes on with what it has.
        profiles.remove("a");
        profiles.put(&profile("b", 1, &json!([{ "namespaceSelector": {} }])));
        assert!(!profiles.for_runnable("ns", false).lacks_namespace());
        profiles.remove("b");
        assert!(!*needed.borrow());
        profiles.forget_namespaces();
        assert!(
            profiles
                .for_runnable("ns", false)
                .namespace_labels
                .is_none()
        );
    }
}
