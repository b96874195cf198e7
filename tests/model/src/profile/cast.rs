//! The real documents, profiles, runs and ledgers behind the small numbers of the model.

use std::{
    collections::HashMap,
    sync::{Arc, RwLock},
};

use cartouche_crds::{ClusterRunProfile, ClusterRunTemplate, PinnedProfile};
use cartouche_language::Owner;
use cartouche_protocol::{
    compiled::Compiled,
    ledger::{Ledger, RunIdentity},
    profiles::KnownProfile,
};
use cartouche_templating::{Context, Rendered, Stamp, stamp};
use serde_json::{Value, json};

use super::{
    decisions::Next,
    world::{Pin, Profile, Rule, Run},
};
use crate::{
    cast::{NAMESPACE, NOW, RUNNABLE, TEMPLATE},
    pool::{get, hashed, keep},
};

/// The uid of the Runnable.
pub(super) const OWNER: &str = "owner";
/// Maximum number of a run.
const NUMBERS: u8 = 12;

/// A ledger, by the hash of its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LedgerId(u64);

/// An object as it was sent, by the hash of its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId(u64);

/// The text of an approval, by the hash of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ApprovalId(u64);

/// All of them, each kept once.
#[derive(Debug)]
pub struct Cast {
    /// The template.
    pub(super) compiled: Arc<Compiled>,
    ledgers: RwLock<HashMap<u64, Arc<Ledger>>>,
    objects: RwLock<HashMap<u64, Arc<Value>>>,
    approvals: RwLock<HashMap<u64, Arc<String>>>,
    /// True if each run needs approval.
    pub(super) is_guarded: bool,
    /// Decisions, by the knowledge that they derive from.
    pub(super) decided: RwLock<HashMap<u64, Arc<Next>>>,
}

/// Returns the name of a profile.
pub(super) fn profile_name(profile: usize) -> &'static str {
    ["a", "b"][profile]
}

/// Returns the request with this number to choose anew.
pub(super) fn request(number: u8) -> Option<String> {
    (number > 0).then(|| number.to_string())
}

/// Returns a profile as the API server has it. It gives every run its name and its generation.
#[expect(clippy::expect_used, reason = "all of it is fixed")]
pub(super) fn profile(number: usize, profile: Profile) -> KnownProfile {
    let rules = match profile.rule {
        Rule::Nobody => json!([]),
        Rule::Anybody => json!([{}]),
        Rule::OfTemplate => json!([{ "templates": [TEMPLATE] }]),
    };
    let name = profile_name(number);
    let place = format!("{name}@{}", profile.generation);
    let patch = json!({ "apiVersion": "example.dev/v1", "kind": "Task", "patch": { "spec": { "place": place } } });
    let spec = json!({ "rules": rules, "patches": [patch] });
    let mut object = ClusterRunProfile::new(name, serde_json::from_value(spec).expect("a profile"));
    object.metadata.generation = Some(profile.generation.into());
    KnownProfile::new(&object)
}

/// Returns the pin of a ledger or an object with this profile and request.
pub(super) fn pin(name: &str, token: Option<&str>) -> Option<Pin> {
    let profile = ["a", "b"].iter().position(|it| *it == name)?;
    Some(Pin {
        profile: u8::try_from(profile).ok()?,
        request: token.and_then(|it| it.parse().ok()).unwrap_or_default(),
    })
}

/// Returns the pin of a ledger.
pub(super) fn pin_of(ledger: &Ledger) -> Option<Pin> {
    let pinned = ledger.profile.as_deref()?;
    pin(&pinned.name, pinned.refresh_token.as_deref())
}

impl Cast {
    #[expect(clippy::expect_used, reason = "the template is fixed")]
    pub(super) fn new(is_guarded: bool) -> Self {
        let spec = json!({ "template": {
            "apiVersion": "example.dev/v1", "kind": "Task", "metadata": { "generateName": "run-" },
            "spec": { "input": "$(runnable.spec.inputs.value)$" },
        } });
        let spec = serde_json::from_value(spec).expect("a template");
        let mut template = ClusterRunTemplate::new(TEMPLATE, spec);
        template.metadata.uid = Some("template-uid".to_owned());
        template.metadata.generation = Some(1);
        Self {
            compiled: Arc::new(Compiled::new(&template)),
            ledgers: RwLock::default(),
            objects: RwLock::default(),
            approvals: RwLock::default(),
            is_guarded,
            decided: RwLock::default(),
        }
    }

    /// Returns the template's rendering of inputs.
    #[expect(clippy::expect_used, reason = "the template is fixed")]
    pub(super) fn rendered(&self, value: &str) -> (Context, Rendered) {
        let runnable = json!({
            "metadata": { "name": RUNNABLE, "namespace": NAMESPACE },
            "spec": { "runTemplateRef": { "name": TEMPLATE }, "inputs": { "value": value } },
        });
        let context = Context::new(&runnable, None).expect("a context");
        let template = self.compiled.template.as_ref().expect("it compiles");
        let rendered = template.render(&context).expect("it renders");
        (context, rendered)
    }

    /// Keeps a ledger.
    pub(super) fn keep_ledger(&self, ledger: &Ledger) -> LedgerId {
        let id = hashed(&format!("{ledger:?}"));
        keep(&self.ledgers, id, || ledger.clone());
        LedgerId(id)
    }

    /// Returns the ledger with this number.
    pub(super) fn ledger(&self, id: LedgerId) -> Ledger {
        let ledger = get(&self.ledgers, id.0);
        ledger.map(|ledger| (*ledger).clone()).unwrap_or_default()
    }

    /// Keeps the text of an approval.
    pub(super) fn keep_approval(&self, text: &str) -> ApprovalId {
        let id = hashed(&text);
        keep(&self.approvals, id, || text.to_owned());
        ApprovalId(id)
    }

    /// Returns the text with this number.
    pub(super) fn approval(&self, id: ApprovalId) -> Option<String> {
        get(&self.approvals, id.0).map(|text| (*text).clone())
    }

    /// Returns the object to create for the current entry of a ledger, with this profile and the rendering
    /// made with it.
    pub(super) fn sent(
        &self,
        made: &Rendered,
        ledger: &Ledger,
        pinned: Option<&PinnedProfile>,
        version: Option<&str>,
    ) -> Option<ObjectId> {
        let current = ledger.current.as_ref()?;
        let owner = Owner {
            name: RUNNABLE,
            namespace: NAMESPACE,
            uid: OWNER,
        };
        let stamped = stamp(
            made,
            &Stamp {
                owner,
                template_name: TEMPLATE,
                name: &current.name,
                sequence: current.sequence,
                input_hash: made.input_hash(),
                rerun_token: None,
                rerun_request: None,
                sources: None,
                profile: version,
                profile_refresh: pinned.and_then(|it| it.refresh_token.as_deref()),
            },
        );
        let mut object = stamped.ok()?;
        object["metadata"]["creationTimestamp"] = json!(NOW.to_string());
        let id = hashed(&object.to_string());
        keep(&self.objects, id, || object);
        Some(ObjectId(id))
    }

    /// Returns a run as the API server shows it.
    pub(super) fn shown(&self, run: Run) -> Value {
        let object = get(&self.objects, run.object.0);
        let mut object = object.map(|object| (*object).clone()).unwrap_or_default();
        object["metadata"]["uid"] = json!(format!("uid-{}", run.uid));
        object
    }

    /// Returns the identity of an object.
    pub(super) fn identity(&self, object: ObjectId) -> RunIdentity {
        RunIdentity::from_object(&self.shown(Run { uid: 0, object })).unwrap_or_default()
    }

    /// Returns the profile that shaped an object.
    pub(super) fn place(&self, object: ObjectId) -> Option<String> {
        let object = self.shown(Run { uid: 0, object });
        object["spec"]["place"].as_str().map(str::to_owned)
    }

    /// Returns the inputs that an object was made of.
    pub(super) fn input(&self, object: ObjectId) -> Option<u8> {
        let object = self.shown(Run { uid: 0, object });
        object["spec"]["input"].as_str()?.parse().ok()
    }

    /// Returns the number of the run of this name.
    pub(super) fn number(&self, name: &str) -> Option<u8> {
        let (_, rendered) = self.rendered("");
        (1..=NUMBERS).find(|number| rendered.run_name(OWNER, i64::from(*number)) == name)
    }
}
