//! Approvals: each run needs one, and the user gives it rightly, late or wrongly.

use std::{collections::BTreeMap, time::Duration};

use cartouche_crds::APPROVED_ANNOTATION;
use serde_json::{Value, json};

use crate::{
    discovery::Resource,
    people::{NAMESPACE, SOMEBODY},
    store::{Change, Key, Store},
};

/// The objects that ask for approval in a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// True if the templates ask for it, false if the Runnables do.
    pub by_template: bool,
}

impl Asked {
    /// Writes it into the specs that have it.
    pub fn ask(self, object: &mut Value, is_template: bool) {
        if is_template == self.by_template {
            object["spec"]["approval"] = json!("Manual");
        }
    }
}

/// A planned approval, with its time.
struct Plan {
    at: Duration,
    /// The waiting run at the time of planning.
    seen: String,
    text: String,
}

/// The user who approves waiting runs.
pub struct Approver {
    random: fastrand::Rng,
    planned: BTreeMap<Key, Plan>,
    /// The last approval.
    last: String,
}

impl Approver {
    /// Returns the approver of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            random: fastrand::Rng::with_seed(seed ^ 0x61_7070_726f_7665),
            planned: BTreeMap::new(),
            last: "1:".to_owned(),
        }
    }

    /// Looks at waiting runs, and writes the approvals whose time has come. Another run may be waiting by
    /// then.
    pub fn look(&mut self, store: &mut Store) {
        let waiting: BTreeMap<Key, String> = store
            .all(Resource::Runnables, NAMESPACE)
            .filter_map(|(key, object)| {
                let wanted = object["status"]["pending"]["approval"].as_str()?;
                let given = object["metadata"]["annotations"][APPROVED_ANNOTATION].as_str();
                (given != Some(wanted)).then(|| (key.clone(), wanted.to_owned()))
            })
            .collect();
        let due = self
            .planned
            .extract_if(.., |_, plan| plan.at <= store.elapsed);
        let due: Vec<(Key, Plan)> = due.collect();
        for (key, plan) in due {
            write(store, &key, &plan.text);
            self.last = plan.seen;
        }
        for (key, seen) in waiting {
            let (at, text) = (self.delay(store.elapsed), self.text(&seen));
            self.planned.entry(key).or_insert(Plan { at, seen, text });
        }
    }

    fn delay(&mut self, now: Duration) -> Duration {
        now + Duration::from_secs_f64(self.random.f64() * 8.0)
    }

    /// Returns mostly the waiting run, or else an earlier approval, another number, or a part.
    fn text(&mut self, seen: &str) -> String {
        let (number, hash) = seen.split_once(':').unwrap_or((seen, ""));
        let number: i64 = number.parse().unwrap_or_default();
        match self.random.u8(..10) {
            0 => self.last.clone(),
            1 => format!("{}:{hash}", number + 1),
            2 => format!("{number}:{}", &hash[..hash.len() / 2]),
            _ => seen.to_owned(),
        }
    }

    /// Returns true if an approval is still to be written.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        !self.planned.is_empty()
    }
}

fn write(store: &mut Store, key: &Key, text: &str) {
    // A deleted object stays deleted.
    let _ = store.change(key, SOMEBODY, |object| {
        if !object["metadata"]["annotations"].is_object() {
            object["metadata"]["annotations"] = json!({});
        }
        object["metadata"]["annotations"][APPROVED_ANNOTATION] = json!(text);
    });
}

/// Returns the number of written approvals, right or wrong.
#[must_use]
pub fn approvals(log: &[Change]) -> usize {
    let mut known: BTreeMap<&str, &str> = BTreeMap::new();
    let runnables = log
        .iter()
        .filter(|change| change.key.resource == Resource::Runnables);
    let new = runnables.filter(|change| {
        let given = change.object["metadata"]["annotations"][APPROVED_ANNOTATION].as_str();
        let uid = change.object["metadata"]["uid"].as_str();
        let (Some(given), Some(uid)) = (given, uid) else {
            return false;
        };
        known.insert(uid, given) != Some(given)
    });
    new.count()
}
