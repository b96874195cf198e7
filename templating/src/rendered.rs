//! The document that a template renders for a Runnable.

use std::{borrow::Cow, collections::BTreeMap};

use cartouche_language::{
    Diagnostics, Hashes, Hashing, OpenPlace, RunFacts, Segment, digest, name, object::text, open,
};
use serde_json::{Map, Value, json};

use crate::{
    context::Context,
    document::{self, StampError, check_namespace, check_rendered_size},
    requires::{Needed, Requires},
    runner,
};

/// A rendered document: the object to create, without the metadata that [`stamp`](crate::stamp()) adds. It has an
/// `apiVersion`, a kind, and a name or a prefix for one.
#[derive(Clone, Debug, PartialEq)]
pub struct Rendered {
    document: Value,
    input_hash: String,
    /// The hash by the former release, if it hashed differently.
    former_hash: Option<String>,
    has_secrets: bool,
    is_keyed: bool,
    open: Vec<OpenPlace>,
    /// Permissions of its pods, which are no part of the hash; boxed, since most templates have none.
    requires: Option<Box<Requires>>,
}

impl Rendered {
    /// Creates the rendering of a checked document without open tags.
    pub(crate) fn new(document: Value) -> Self {
        Self {
            input_hash: digest::hash(&document),
            former_hash: None,
            document,
            has_secrets: false,
            is_keyed: false,
            open: Vec::new(),
            requires: None,
        }
    }

    /// Returns the document itself.
    #[must_use]
    pub fn document(&self) -> &Value {
        &self.document
    }

    /// Returns the `apiVersion` of the run.
    #[must_use]
    pub fn api_version(&self) -> &str {
        text(&self.document, "apiVersion")
    }

    /// Returns the kind of the run.
    #[must_use]
    pub fn kind(&self) -> &str {
        text(&self.document, "kind")
    }

    /// Returns the hash of the document, which is equal for all spellings of the same document. It decides whether
    /// a run is made.
    #[must_use]
    pub fn input_hash(&self) -> &str {
        &self.input_hash
    }

    /// Returns that hash, and the one by the former release if it hashed differently.
    #[must_use]
    pub fn hashes(&self) -> Hashes<'_> {
        Hashes {
            own: &self.input_hash,
            former: self.former_hash.as_deref(),
        }
    }

    /// Returns true if a hash, of any known version, is of this document.
    #[must_use]
    pub fn has_hash(&self, hash: &str) -> bool {
        self.hashes().like(hash) == Some(hash)
    }

    /// Returns the same document with its hash in the version of another one, if that is known. A number keeps the
    /// hash that it was given with, in everything that is made or approved for it.
    #[must_use]
    pub fn hashed_like(&self, other: &str) -> Cow<'_, Self> {
        match self.hashes().like(other) {
            Some(hash) if hash != self.input_hash => Cow::Owned(Self {
                input_hash: hash.to_owned(),
                ..self.clone()
            }),
            Some(_) | None => Cow::Borrowed(self),
        }
    }

    /// Returns true if it reads an input that refers to a secret value, which the document does not contain.
    #[must_use]
    pub fn has_secrets(&self) -> bool {
        self.has_secrets
    }

    /// Returns true if its hash has a key, because the document may contain values of a selected Secret.
    #[must_use]
    pub fn is_keyed(&self) -> bool {
        self.is_keyed
    }

    /// Returns the strings of the document that hold open tags, in document order.
    #[must_use]
    pub fn open(&self) -> &[OpenPlace] {
        &self.open
    }

    /// Returns true if a part of it is filled in only when a run is made.
    #[must_use]
    pub fn is_open(&self) -> bool {
        let requires = self.requires.as_ref();
        !self.open.is_empty() || requires.is_some_and(|requires| !requires.open.is_empty())
    }

    /// Returns the permissions that the run needs, once its tags are filled in and its profile is applied. Returns
    /// `None` if the template has none.
    pub fn needed(&self) -> Result<Option<Needed>, Diagnostics> {
        let requires = self.requires.as_ref();
        requires.map(|it| it.of_run(&self.document)).transpose()
    }

    /// Returns the hash that a person approves, for the [filled](Self::fill) document `made`, with the name and
    /// uid of the profile if there is one. It covers everything that is sent except what distinguishes a run from
    /// its siblings, so the caller fills in a name and number that are the same for all. An unchanged document has
    /// its [input hash](Self::input_hash).
    #[must_use]
    pub fn approved_hash(
        &self,
        made: &Self,
        context: &Context,
        profile: Option<(&str, &str)>,
    ) -> String {
        if profile.is_none() && !self.is_open() {
            return self.input_hash.clone();
        }
        let made = json!({
            "document": made.document,
            "inputHash": self.input_hash,
            "profile": profile.map(|(name, uid)| json!([name, uid])),
        });
        digest::made_hash(&made, context.secret_key())
    }

    pub(crate) fn requiring(mut self, requires: Option<Requires>) -> Self {
        self.requires = requires.map(Box::new);
        self
    }

    /// Fills in its open tags: with the facts of the run, and the values of its profile if there is one. The hash
    /// stays the same. Fails with every tag that has no value, or with a run that is not permitted.
    pub fn fill(&self, run: &RunFacts<'_>, values: Option<&Value>) -> Result<Self, Diagnostics> {
        if !self.is_open() {
            return Ok(self.clone());
        }
        let document = open::fill(self.document.clone(), &self.open, run, values)?;
        let requires = self.requires.as_ref();
        let requires = requires.map(|it| it.fill(run, values)).transpose()?;
        Ok(self.made_into(document)?.requiring(requires))
    }

    /// Replaces the document by its form for the run, which does not change the hash and has no open tags.
    pub(crate) fn made_into(&self, document: Value) -> Result<Self, Diagnostics> {
        check_rendered_size(&document)?;
        runner::check_size(&document)?;
        Ok(Self {
            input_hash: self.input_hash.clone(),
            former_hash: self.former_hash.clone(),
            has_secrets: self.has_secrets,
            is_keyed: self.is_keyed,
            requires: self.requires.clone(),
            ..finish(document)?
        })
    }

    /// Adds open tags, and inputs that refer to secret values. The places of the tags, and the mark of each secret
    /// value by input, are part of the hash. With a key the hash is a keyed one.
    pub(crate) fn with(
        mut self,
        secrets: &BTreeMap<&str, &str>,
        open: Vec<OpenPlace>,
        key: Option<&str>,
        hashing: Hashing,
    ) -> Self {
        self.open = open;
        self.open.sort_by(|one, other| one.at.cmp(&other.at));
        // Fields that no template may set have been removed.
        self.open
            .retain(|place| Segment::value_at(&place.at, &self.document).is_some());
        self.has_secrets = !secrets.is_empty();
        let mut hashed = Map::new();
        if self.has_secrets {
            hashed.insert("secrets".into(), json!(secrets));
        }
        if !self.open.is_empty() {
            hashed.insert("open".into(), open::to_hash_form(&self.open));
        }
        self.is_keyed = key.is_some();
        // Other documents are hashed alone: templates without any of these keep the hash that ledgers hold.
        let is_alone = !self.is_keyed && hashed.is_empty();
        if is_alone && hashing == Hashing::default() {
            return self;
        }
        let hashed = if is_alone {
            Cow::Borrowed(&self.document)
        } else {
            hashed.insert("document".into(), self.document.clone());
            Cow::Owned(hashed.into())
        };
        let former = hashing.former.map(|former| former.hash(&hashed, key));
        self.input_hash = hashing.own.hash(&hashed, key);
        self.former_hash = former;
        self
    }

    /// Returns the name, if the template sets one. Such a template can run only once.
    #[must_use]
    pub fn fixed_name(&self) -> Option<&str> {
        Some(self.metadata_text("name")).filter(|name| !name.is_empty())
    }

    /// Returns a name for the run before it has one: its fixed name or its prefix.
    #[must_use]
    pub fn display_name(&self) -> &str {
        self.fixed_name()
            .unwrap_or_else(|| self.metadata_text("generateName"))
    }

    /// Returns the name of the run with this sequence: the fixed name, or the prefix (cut so that the whole has at
    /// most 52 characters) with the [suffix](cartouche_language::name_suffix) of the sequence.
    #[must_use]
    pub fn run_name(&self, runnable_uid: &str, sequence: i64) -> String {
        match self.fixed_name() {
            Some(name) => name.to_owned(),
            None => name::run_name(
                self.metadata_text("generateName"),
                &name::name_suffix(runnable_uid, sequence),
            ),
        }
    }

    /// Returns a name in the form of a run's, with the suffix of a sequence even if the template fixes the name.
    #[must_use]
    pub fn name_beside(&self, runnable_uid: &str, sequence: i64) -> String {
        let suffix = name::name_suffix(runnable_uid, sequence);
        name::run_name(self.display_name(), &suffix)
    }

    /// Checks that it may be a run of a Runnable in this namespace.
    pub fn check_namespace(&self, namespace: &str) -> Result<(), StampError> {
        check_namespace(self.metadata_text("namespace"), Some(namespace))
    }

    fn metadata_text(&self, field: &str) -> &str {
        self.document
            .get("metadata")
            .map_or("", |metadata| text(metadata, field))
    }
}

/// Removes the fields that no template may set, and checks the rest.
pub(crate) fn finish(mut document: Value) -> Result<Rendered, Diagnostics> {
    document::strip(&mut document);
    Diagnostics::check(document::problems(&document, &|_, _| false))?;
    Ok(Rendered::new(document))
}
