//! The real documents, templates and objects behind the small numbers of the model.

use std::sync::Arc;

use cartouche_crds::{
    CANCEL_REQUEST_ANNOTATION, ClusterRunTemplate, ClusterRunTemplateSpec, INPUT_HASH_ANNOTATION,
    RUN_TEMPLATE_NAME_LABEL, RUNNABLE_NAME_LABEL,
};
use cartouche_language::{HashVersion, Hashing, Owner};
use cartouche_protocol::{compiled::Compiled, ledger::RunName};
use cartouche_templating::{Context, Rendered, Stamp, stamp};
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::{
    configuration::{Configuration, Release},
    pool::Pool,
    world::Make,
};

/// The API server's clock. It stands still; see [`Pool::aged`].
pub const NOW: Timestamp = Timestamp::constant(1_800_000_000, 0);
/// The age of young things: less than the minimum age.
pub const YOUNG: SignedDuration = SignedDuration::from_mins(30);
/// The name of the Runnable.
pub const RUNNABLE: &str = "runnable";
/// Its namespace.
pub const NAMESPACE: &str = "space";
/// The name of its template.
pub const TEMPLATE: &str = "template";
/// Prefix of the hash of a run that an earlier release made.
const EARLIER_VERSION: &str = "v0:";

/// The template's rendering of one input.
#[derive(Clone, Debug)]
pub struct Document {
    /// The document, as this release hashes it.
    pub rendered: Arc<Rendered>,
    /// The same for a release with another hash that knows the hashes of this one.
    pub next: Arc<Rendered>,
    /// The same for a release with another hash that does not know them.
    pub after_next: Arc<Rendered>,
    /// The template.
    pub compiled: Arc<Compiled>,
}

impl Document {
    /// Returns the document as a worker of this release has it.
    #[must_use]
    pub fn by(&self, release: Release) -> &Arc<Rendered> {
        match release {
            Release::Present => &self.rendered,
            Release::Next => &self.next,
            Release::AfterNext => &self.after_next,
        }
    }
}

/// All documents of a configuration, by number.
#[derive(Clone, Debug)]
pub struct Cast {
    documents: Vec<Document>,
    /// True if all runs have one creation time.
    same_second: bool,
}

/// Returns the uid of the Runnable that was created for the n-th time under its name.
#[must_use]
pub fn owner_uid(owner: u8) -> String {
    format!("owner-{owner}")
}

/// Returns the uid of a run.
#[must_use]
pub fn run_uid(run: u16) -> String {
    format!("uid-{run}")
}

/// Returns the run with this uid.
#[must_use]
pub fn run_of(uid: &str) -> Option<u16> {
    uid.strip_prefix("uid-")?.parse().ok()
}

/// Returns the re-run request with this number; 0 is none.
#[must_use]
pub fn token(number: u8) -> Option<String> {
    (number > 0).then(|| format!("again-{number}"))
}

impl Cast {
    /// Returns the documents of a configuration. With its `kinds`, odd ones are of another kind than even
    /// ones.
    ///
    /// # Panics
    /// If the template of the model does not compile or render.
    #[must_use]
    #[expect(clippy::expect_used, reason = "the template is fixed")]
    pub fn new(setup: &Configuration) -> Self {
        let metadata = if setup.fixed_name {
            json!({ "name": "run" })
        } else {
            json!({ "generateName": "run-" })
        };
        let documents = (0..=setup.last_document()).map(|number| {
            let kind = if setup.kinds && number % 2 == 1 { "Other" } else { "Task" };
            let spec: ClusterRunTemplateSpec = serde_json::from_value(json!({
                "template": {
                    "apiVersion": "example.dev/v1",
                    "kind": kind,
                    "metadata": metadata,
                    "spec": { "input": "$(runnable.spec.inputs.value)$" },
                },
                "outputs": { "answer": ".status.answer" },
            }))
            .expect("a template");
            let mut template = ClusterRunTemplate::new(TEMPLATE, spec);
            template.metadata.uid = Some("template-uid".to_owned());
            template.metadata.generation = Some(1);
            let compiled = Arc::new(Compiled::new(&template));
            let runnable = json!({
                "metadata": { "name": RUNNABLE, "namespace": NAMESPACE },
                "spec": { "runTemplateRef": { "name": TEMPLATE }, "inputs": { "value": number.to_string() } },
            });
            let context = Context::new(&runnable, None).expect("a context");
            let template = compiled.template.as_ref().expect("it compiles");
            let rendered = |own, former| {
                let context = context.clone().with_hashing(Hashing { own, former });
                Arc::new(template.render(&context).expect("it renders"))
            };
            Document {
                rendered: rendered(HashVersion::V1, None),
                next: rendered(HashVersion::Next, Some(HashVersion::V1)),
                after_next: rendered(HashVersion::Next, None),
                compiled,
            }
        });
        Self {
            documents: documents.collect(),
            same_second: setup.same_second,
        }
    }

    /// Returns a document.
    #[must_use]
    pub fn document(&self, number: u8) -> &Document {
        &self.documents[usize::from(number)]
    }

    /// Returns the number of the kind of a document.
    #[must_use]
    pub fn kind(&self, document: u8) -> u8 {
        kind_number(self.document(document).rendered.kind())
    }

    /// Returns the hash that a run of this make carries.
    #[must_use]
    pub fn hash(&self, make: &Make) -> String {
        let document = self.document(make.document);
        if make.next_version {
            return document.next.input_hash().to_owned();
        }
        let hash = document.rendered.input_hash();
        if make.earlier_version {
            hash.replacen(cartouche_language::HASH_VERSION, EARLIER_VERSION, 1)
        } else {
            hash.to_owned()
        }
    }

    /// Returns the creation time of a run.
    #[must_use]
    pub fn created(&self, uid: u16, make: &Make) -> Timestamp {
        let second = if self.same_second { 0 } else { i64::from(uid) };
        let aged = if make.old { 3_600 } else { 0 };
        // An early object is older than any young intent.
        let early = if make.early { 1_000 } else { 0 };
        NOW - SignedDuration::from_secs(aged + early - second)
    }

    /// Returns the object as the API server has it. The result is `None` while it still runs.
    #[must_use]
    pub fn object(&self, pool: &Pool, uid: u16, make: &Make, result: Option<bool>) -> Value {
        let name = pool.named(make.name);
        let mut object = self.sent(&name, make);
        if make.rewritten {
            object["spec"]["input"] = json!("as the server writes it");
        }
        object["metadata"]["uid"] = json!(run_uid(uid));
        object["metadata"]["creationTimestamp"] = json!(self.created(uid, make).to_string());
        if make.forged && !make.bare {
            object["metadata"]["managedFields"] = json!([written_whole()]);
        }
        if make.cancelled && result.is_some() {
            let asked = json!({ "by": "somebody" }).to_string();
            object["metadata"]["annotations"][CANCEL_REQUEST_ANNOTATION] = json!(asked);
        }
        if let Some(result) = result {
            object["status"] = json!({
                "answer": run_uid(uid),
                "conditions": [{
                    "type": "Succeeded",
                    "status": if result { "True" } else { "False" },
                    "reason": "Done",
                    "message": "",
                }],
            });
        }
        object
    }

    /// Returns the object as it was sent: by Cartouche, or, without a number, by the original controller.
    fn sent(&self, name: &RunName, make: &Make) -> Value {
        let rendered = &self.document(make.document).rendered;
        let uid = owner_uid(make.owner);
        let owner = Owner {
            name: RUNNABLE,
            namespace: NAMESPACE,
            uid: &uid,
        };
        let stamped = stamp(
            rendered,
            &Stamp {
                owner,
                template_name: TEMPLATE,
                name: &name.name,
                sequence: i64::from(make.number),
                input_hash: &self.hash(make),
                rerun_token: token(make.token).as_deref(),
                rerun_request: None,
                sources: None,
                profile: None,
                profile_refresh: None,
            },
        );
        let mut object = stamped.unwrap_or_default();
        if make.number == 0 {
            let metadata = &mut object["metadata"];
            metadata["labels"] =
                json!({ RUNNABLE_NAME_LABEL: RUNNABLE, RUN_TEMPLATE_NAME_LABEL: TEMPLATE });
            metadata["annotations"] = json!({});
        }
        debug_assert!(
            make.number == 0
                || object["metadata"]["annotations"][INPUT_HASH_ANNOTATION] == self.hash(make)
        );
        object
    }
}

/// Returns the API server's record of an object that was created with its status.
fn written_whole() -> Value {
    let label = format!("f:{RUNNABLE_NAME_LABEL}");
    json!({
        "manager": "somebody", "operation": "Update", "fieldsType": "FieldsV1",
        "fieldsV1": { "f:metadata": { "f:labels": { label: {} } }, "f:status": {} },
    })
}

/// Returns the number of a kind: 1 for the second one that a configuration may have.
#[must_use]
pub fn kind_number(kind: &str) -> u8 {
    u8::from(kind == "Other")
}
