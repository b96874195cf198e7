//! What a template renders for a Runnable.

use std::{borrow::Cow, collections::BTreeMap};

use serde_json::{Map, Value, json};

use crate::{
    context::Context,
    diagnostic::{Diagnostics, Segment},
    digest::{self, Hashes, Hashing},
    document::{self, StampError, check_namespace, check_rendered_size},
    name,
    object::text,
    open::{self, OpenPlace, RunFacts},
    requires::{Needed, Requires},
    runner,
};

/// A rendered document: what the API server is asked for, but for the metadata that
/// [`stamp`](crate::stamp()) adds. It has an `apiVersion`, a kind, and a name or a prefix for one.
#[derive(Clone, Debug, PartialEq)]
pub struct Rendered {
    document: Value,
    input_hash: String,
    /// The same as the release before hashed it, if that did it otherwise.
    former_hash: Option<String>,
    has_secrets: bool,
    is_keyed: bool,
    open: Vec<OpenPlace>,
    /// What its pods need permission for, which is no part of the hash; boxed, since most templates say nothing of it.
    requires: Option<Box<Requires>>,
}

impl Rendered {
    /// That of a document without open tags, which has been checked.
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

    /// The document itself.
    #[must_use]
    pub fn document(&self) -> &Value {
        &self.document
    }

    /// The `apiVersion` of the run.
    #[must_use]
    pub fn api_version(&self) -> &str {
        text(&self.document, "apiVersion")
    }

    /// The kind of the run.
    #[must_use]
    pub fn kind(&self) -> &str {
        text(&self.document, "kind")
    }

    /// The hash of the document: equal for documents that mean the same. It decides whether a run is
    /// made.
    #[must_use]
    pub fn input_hash(&self) -> &str {
        &self.input_hash
    }

    /// That hash, and the one that the release before made of the same, if it hashed otherwise.
    #[must_use]
    pub fn hashes(&self) -> Hashes<'_> {
        Hashes {
            own: &self.input_hash,
            former: self.former_hash.as_deref(),
        }
    }

    /// Whether a hash, of any version that is known, is of this document.
    #[must_use]
    pub fn has_hash(&self, hash: &str) -> bool {
        self.hashes().like(hash) == Some(hash)
    }

    /// The same document, hashed by the version of another hash where that is known. A number that was given keeps the hash that
    /// it was given with, in all that is made or approved for it.
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

    /// Whether it reads an input that refers to a secret value, of which the document shows nothing.
    #[must_use]
    pub fn has_secrets(&self) -> bool {
        self.has_secrets
    }

    /// Whether its hash has a key, since values of a selected Secret may stand in the document.
    #[must_use]
    pub fn is_keyed(&self) -> bool {
        self.is_keyed
    }

    /// The strings of the document that hold open tags, in document order.
    #[must_use]
    pub fn open(&self) -> &[OpenPlace] {
        &self.open
    }

    /// Whether anything of it is filled in only when a run is made.
    #[must_use]
    pub fn is_open(&self) -> bool {
        let requires = self.requires.as_ref();
        !self.open.is_empty() || requires.is_some_and(|requires| !requires.open.is_empty())
    }

    /// The permissions that are needed to make the run, once its tags are filled in and its profile is applied. `None` if the
    /// template says nothing of them.
    pub fn needed(&self) -> Result<Option<Needed>, Diagnostics> {
        let requires = self.requires.as_ref();
        requires.map(|it| it.of_run(&self.document)).transpose()
    }

    /// The hash that a person approves, of what is [made](Self::filled) of this document: with the profile of this name and uid, if
    /// any. It covers what is sent but for what tells a run from its siblings, so let the caller fill in a name and number that are
    /// the same for all. What is sent as it is rendered has its [input hash](Self::input_hash).
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

    /// The same with its open tags filled in: with what is known of the run, and the values of the profile that it is made
    /// with, if any. Its hash stays. Fails with every tag that has no value, or with what the run may not be.
    pub fn filled(&self, run: &RunFacts<'_>, values: Option<&Value>) -> Result<Self, Diagnostics> {
        if !self.is_open() {
            return Ok(self.clone());
        }
        let document = open::fill(self.document.clone(), &self.open, run, values)?;
        let requires = self.requires.as_ref();
        let requires = requires.map(|it| it.filled(run, values)).transpose()?;
        Ok(self.made_into(document)?.requiring(requires))
    }

    /// The same with what its document becomes when the run is made, which does not change the hash and leaves no tag open.
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

    /// The same where some strings hold open tags, and where the document reads inputs that refer to secret values: which
    /// these are, and what stands for each of those, by input, is part of the hash. With a key the hash is a keyed one.
    pub(crate) fn with(
        mut self,
        secrets: &BTreeMap<&str, &str>,
        open: Vec<OpenPlace>,
        key: Option<&str>,
        hashing: Hashing,
    ) -> Self {
        self.open = open;
        self.open.sort_by(|one, other| one.at.cmp(&other.at));
        // What no template may set was taken away.
        self.open
            .retain(|place| Segment::value_at(&place.at, &self.document).is_some());
        self.has_secrets = !secrets.is_empty();
        let mut hashed = Map::new();
        if self.has_secrets {
            hashed.insert("secrets".into(), json!(secrets));
        }
        if !self.open.is_empty() {
            hashed.insert("open".into(), open::hashed(&self.open));
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

    /// The name, if the template gives one. Such a template can run only once.
    #[must_use]
    pub fn fixed_name(&self) -> Option<&str> {
        Some(self.metadata_text("name")).filter(|name| !name.is_empty())
    }

    /// What to call the run before it has a name: its fixed name or its prefix.
    #[must_use]
    pub fn display_name(&self) -> &str {
        self.fixed_name()
            .unwrap_or_else(|| self.metadata_text("generateName"))
    }

    /// The name of the run that has this sequence: the fixed name, or the prefix (cut so that the whole
    /// has at most 52 characters) with the [suffix](crate::name_suffix) of the sequence.
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

    /// A name as its runs have, with the suffix of a sequence even where the template fixes the name.
    #[must_use]
    pub fn name_beside(&self, runnable_uid: &str, sequence: i64) -> String {
        let suffix = name::name_suffix(runnable_uid, sequence);
        name::run_name(self.display_name(), &suffix)
    }

    /// Whether it may be a run of a Runnable in this namespace. The error is what to say if not.
    pub fn check_namespace(&self, namespace: &str) -> Result<(), StampError> {
        check_namespace(self.metadata_text("namespace"), Some(namespace))
    }

    fn metadata_text(&self, field: &str) -> &str {
        self.document
            .get("metadata")
            .map_or("", |metadata| text(metadata, field))
    }
}

/// Takes away what no template may set, and checks what is left.
pub(crate) fn finish(mut document: Value) -> Result<Rendered, Diagnostics> {
    document::strip(&mut document);
    Diagnostics::check(document::problems(&document, &|_, _| false))?;
    Ok(Rendered::new(document))
}
