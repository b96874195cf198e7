//! What a rendering becomes when a run is made: its open tags filled in, and its profile applied.

use std::borrow::Cow;

use cartouche_crds::{CurrentRun, PinnedProfile};
use cartouche_templating::{
    Context, Diagnostic, Diagnostics, Profile, Rendered, RunFacts, contains,
};
use serde_json::Value;

use super::{Facts, Rendering, RunnableFacts};
use crate::{
    category::Category,
    diagnosis::{Diagnosis, Fault, Held, NotRefreshed},
    evaluate::{contains_rendered, is_comparable},
    ledger::{Ledger, RunIdentity, RunProfile},
    newer_release,
    profiles::{Known, KnownProfile, Labels, Profiles, Subject, pin},
    reconcile_error::{ReconcileError, Requeue},
};

/// The number that stands for all in [`approvable`].
const APPROVABLE_SEQUENCE: i64 = 1;

/// What the next run of a Runnable is made with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// What the Runnable is pinned to then.
    pub pinned: Option<PinnedProfile>,
    /// Why a request to choose anew was not followed.
    pub not_refreshed: Option<NotRefreshed>,
}

/// Why it is not known what the next run is made with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// The labels of the namespace are not known yet, for which a watch is begun.
    Namespace,
    /// No profile can be used.
    Held(Held),
}

impl Facts {
    /// What the next run after those of a ledger is made with.
    pub fn chosen(&self, rendering: &Rendering, ledger: &Ledger) -> Result<Chosen, Unknown> {
        chosen(
            &self.runnable,
            &self.profiles,
            rendering.needs_profile,
            ledger,
        )
    }

    fn requested_refresh(&self) -> Option<&str> {
        self.runnable.profile_refresh.as_deref()
    }

    /// Whether somebody asks to choose the profile of this ledger anew, and was not answered.
    #[must_use]
    pub fn is_refresh_asked(&self, ledger: &Ledger) -> bool {
        let pinned = ledger.profile.as_deref();
        let requested = self.requested_refresh();
        requested.is_some() && pinned.is_some_and(|it| it.refresh_token.as_deref() != requested)
    }

    /// The profile of a pin, if it is there and can be used.
    fn profile_of(&self, pinned: &PinnedProfile) -> Result<&KnownProfile, ReconcileError> {
        let found = self.profiles.named(&pinned.name);
        let found = found.ok_or_else(|| {
            held(Held::Gone {
                name: pinned.name.clone(),
                not_refreshed: None,
            })
        })?;
        newer_release::known_profile(found)?;
        Ok(found)
    }

    /// What is sent to make a run with this profile: what is rendered, with its open tags filled in and the profile applied. What
    /// has neither is what is rendered.
    pub fn made<'a>(
        &self,
        rendering: &'a Rendering,
        pinned: Option<&PinnedProfile>,
        run: &RunFacts<'_>,
    ) -> Result<Cow<'a, Rendered>, ReconcileError> {
        let (document, context) = (&*rendering.document, &*rendering.context);
        let Some(pinned) = pinned else {
            let made = made_with(document, context, None, run);
            return made.map_err(|problems| self.unfilled(&problems));
        };
        let profile = self.profile_of(pinned)?;
        let misfit = |problems: &_| misfit(&pinned.name, Fault::all(problems));
        let compiled = profile.compiled.as_ref();
        let compiled = compiled.map_err(|problems| misfit(problems))?;
        let made = made_with(document, context, Some(compiled), run);
        made.map_err(|problems| misfit(&problems))
    }

    /// What a template says cannot be made into a run.
    pub(crate) fn unfilled(&self, problems: &[Diagnostic]) -> ReconcileError {
        let template = self.runnable.template.clone();
        ReconcileError::caused(
            Category::TemplateStampFailure,
            Requeue::OnChange,
            Diagnosis::Unrendered(template, Fault::all(problems)),
            None,
        )
    }

    /// What is sent to make the run of an entry of the ledger that was not seen yet.
    pub fn made_for<'a>(
        &self,
        rendering: &'a Rendering,
        current: &CurrentRun,
    ) -> Result<Cow<'a, Rendered>, ReconcileError> {
        let run = RunFacts {
            name: &current.name,
            sequence: current.sequence,
            input_hash: rendering.hash_like(&current.input_hash),
            rerun_token: current.rerun_token.as_deref(),
        };
        self.made(rendering, self.ledger.profile.as_deref(), &run)
    }

    /// What would be sent for the number that follows in a ledger.
    pub fn made_next<'a>(
        &self,
        rendering: &'a Rendering,
        ledger: &Ledger,
        pinned: Option<&PinnedProfile>,
    ) -> Result<Cow<'a, Rendered>, ReconcileError> {
        let sequence = ledger.next_sequence();
        let document = &rendering.document;
        if pinned.is_none() && !document.is_open() {
            return Ok(Cow::Borrowed(document));
        }
        let run = RunFacts {
            name: &document.run_name(&self.runnable.uid, sequence),
            sequence,
            input_hash: document.input_hash(),
            rerun_token: self.next_token(ledger),
        };
        self.made(rendering, pinned, &run)
    }

    /// The re-run request that the number which follows in a ledger answers.
    fn next_token(&self, ledger: &Ledger) -> Option<&str> {
        let token = self.runnable.rerun_token.as_deref();
        token.filter(|token| ledger.answered_by_seen() != Some(token))
    }

    /// The hash that a person approves of what [`made_next`](Self::made_next) sends.
    pub fn approvable_next(
        &self,
        rendering: &Rendering,
        ledger: &Ledger,
        pinned: Option<&PinnedProfile>,
    ) -> Result<String, ReconcileError> {
        let token = self.next_token(ledger);
        self.approvable(rendering, &rendering.document, pinned, token)
    }

    /// The same as a person is asked for it.
    pub fn asked_next(
        &self,
        rendering: &Rendering,
        ledger: &Ledger,
        pinned: Option<&PinnedProfile>,
    ) -> Result<String, ReconcileError> {
        let token = self.next_token(ledger);
        self.approvable(rendering, &self.as_it_waits(rendering), pinned, token)
    }

    /// What is rendered, hashed as the status says what waits. Releases that hash otherwise then say the same, and a person who
    /// answers one of them answers both.
    #[must_use]
    pub fn as_it_waits<'a>(&self, rendering: &'a Rendering) -> Cow<'a, Rendered> {
        match &self.stored.pending {
            Some(pending) => rendering.document.hashed_like(&pending.input_hash),
            None => Cow::Borrowed(&rendering.document),
        }
    }

    /// The same as it was approved for the current entry, which may have been hashed by the release before.
    pub fn approvable_again(
        &self,
        rendering: &Rendering,
        ledger: &Ledger,
        pinned: Option<&PinnedProfile>,
    ) -> Result<String, ReconcileError> {
        let document = like_current(rendering, ledger.current.as_ref());
        self.approvable(rendering, &document, pinned, self.next_token(ledger))
    }

    /// The hash that a person approves of what [`made_for`](Self::made_for) sends.
    pub fn approvable_for(
        &self,
        rendering: &Rendering,
        current: &CurrentRun,
    ) -> Result<String, ReconcileError> {
        let pinned = self.ledger.profile.as_deref();
        let document = like_current(rendering, Some(current));
        let token = current.rerun_token.as_deref();
        self.approvable(rendering, &document, pinned, token)
    }

    fn approvable(
        &self,
        rendering: &Rendering,
        document: &Rendered,
        pinned: Option<&PinnedProfile>,
        rerun_token: Option<&str>,
    ) -> Result<String, ReconcileError> {
        let context = &*rendering.context;
        let profile = pinned.map(|pinned| self.profile_of(pinned)).transpose()?;
        let profile = profile.map(|known| (known.version.name.as_str(), known.uid.as_str()));
        let uid = &self.runnable.uid;
        approvable((document, context), profile, (uid, rerun_token), |run| {
            self.made(rendering, pinned, run)
        })
    }

    /// Whether a run contains what is rendered, where no hash says it: what a profile says of how it is made does not count,
    /// be it the profile as it is now or as it was then; nor does what has asked the run to stop.
    #[must_use]
    pub fn contains_rendered(&self, run: &RunIdentity, object: &Value) -> bool {
        let Ok(rendering) = &self.rendering else {
            return false;
        };
        if !is_comparable(&self.ledger, &rendering.document) {
            return false;
        }
        let before = self.before_its_stop(object, rendering.document.document());
        contains_rendered(&self.ledger, &rendering.document, &before)
            || self.was_made_of(rendering, run, object)
    }

    /// Whether a run that says with which profile it was made is what that makes of the rendering. One of another generation of
    /// the profile cannot be compared: it is taken for that, as one that is gone is.
    fn was_made_of(&self, rendering: &Rendering, run: &RunIdentity, object: &Value) -> bool {
        let Some(profile) = run.profile.as_deref() else {
            return false;
        };
        if !self.is_known_version(run, profile) {
            return !rendering.document.has_secrets();
        }
        let made = self.made_as(rendering, run);
        made.is_ok_and(|made| contains(&self.before_its_stop(object, made.document()), &made))
    }

    /// Whether the profile is what it was when this run was made with it: one that was deleted and made again since is another.
    fn is_known_version(&self, run: &RunIdentity, profile: &RunProfile) -> bool {
        let known = self.profiles.named(&profile.version.name);
        known.is_some_and(|known| {
            let is_older = known.created.zip(run.created);
            known.version == profile.version && is_older.is_none_or(|(profile, run)| profile <= run)
        })
    }

    /// What would have been sent to make a run that exists, were it made of the rendering: with the profile that it says it was
    /// made with, whatever the Runnable is pinned to by now.
    pub fn made_as<'a>(
        &self,
        rendering: &'a Rendering,
        run: &RunIdentity,
    ) -> Result<Cow<'a, Rendered>, ReconcileError> {
        let pinned = run.profile.as_deref().map(|profile| PinnedProfile {
            name: profile.version.name.clone(),
            ..PinnedProfile::default()
        });
        let facts = RunFacts {
            name: &run.name,
            sequence: run.sequence.unwrap_or_default(),
            input_hash: rendering.document.input_hash(),
            rerun_token: run.rerun_token.as_deref(),
        };
        self.made(rendering, pinned.as_ref(), &facts)
    }
}

/// What is rendered, hashed as this entry is.
fn like_current<'a>(rendering: &'a Rendering, current: Option<&CurrentRun>) -> Cow<'a, Rendered> {
    match current {
        Some(current) => rendering.document.hashed_like(&current.input_hash),
        None => Cow::Borrowed(&rendering.document),
    }
}

/// What rules look at in a Runnable, in a namespace with these labels.
#[must_use]
pub fn subject<'a>(
    runnable: &'a RunnableFacts,
    namespace_labels: &'a Labels,
    is_required: bool,
) -> Subject<'a> {
    Subject {
        template: &runnable.template,
        labels: &runnable.labels,
        namespace_labels,
        asks_for: runnable.profile_name.as_deref(),
        is_required,
    }
}

/// What the next run of a Runnable is made with, after those of a ledger.
pub fn chosen(
    runnable: &RunnableFacts,
    profiles: &Profiles,
    is_required: bool,
    ledger: &Ledger,
) -> Result<Chosen, Unknown> {
    let known = Known::of(ledger.profile.as_deref());
    let requested = runnable.profile_refresh.as_deref();
    let is_kept = matches!(&known, Known::Status(Some(pin))
        if requested.is_none() || pin.refresh_token.as_deref() == requested);
    if !is_kept && profiles.lacks_namespace() {
        return Err(Unknown::Namespace);
    }
    let none = Labels::new();
    let labels = profiles.namespace_labels.as_deref().unwrap_or(&none);
    let subject = subject(runnable, labels, is_required);
    let settled = pin(&known, requested, &profiles.candidates(), &subject);
    let settled = settled.map_err(Unknown::Held)?;
    Ok(Chosen {
        pinned: settled.pin.map(crate::profiles::Pin::pinned),
        not_refreshed: settled.not_refreshed,
    })
}

/// What is rendered, with its open tags filled in and a profile applied, if there is one. What has neither is what is rendered.
/// Fails with everything that does not fit.
pub fn made_with<'a>(
    document: &'a Rendered,
    context: &Context,
    profile: Option<&Profile>,
    run: &RunFacts<'_>,
) -> Result<Cow<'a, Rendered>, Diagnostics> {
    let Some(profile) = profile else {
        if !document.is_open() {
            return Ok(Cow::Borrowed(document));
        }
        return document.filled(run, None).map(Cow::Owned);
    };
    let filled = document.filled(run, Some(profile.values()))?;
    profile.applied(&filled, context, run).map(Cow::Owned)
}

/// The hash that a person approves, of a document that is made with the profile of this name and uid, for the Runnable with this
/// uid and the re-run request. Name and number are those of a first run there, whatever the number, so that one approval serves
/// for all attempts, and only what somebody can change counts.
pub fn approvable<'a, E>(
    (document, context): (&'a Rendered, &Context),
    profile: Option<(&str, &str)>,
    (runnable_uid, rerun_token): (&str, Option<&str>),
    made: impl FnOnce(&RunFacts<'_>) -> Result<Cow<'a, Rendered>, E>,
) -> Result<String, E> {
    if profile.is_none() && !document.is_open() {
        return Ok(document.input_hash().to_owned());
    }
    let run = RunFacts {
        name: &document.run_name(runnable_uid, APPROVABLE_SEQUENCE),
        sequence: APPROVABLE_SEQUENCE,
        input_hash: document.input_hash(),
        rerun_token,
    };
    Ok(document.approved_hash(&*made(&run)?, context, profile))
}

/// No profile can be used.
#[must_use]
pub fn held(held: Held) -> ReconcileError {
    let category = held.category();
    ReconcileError::caused(category, Requeue::OnChange, Diagnosis::Profile(held), None)
}

fn misfit(profile: &str, faults: Vec<Fault>) -> ReconcileError {
    let cause = Diagnosis::ProfileDoesNotFit(profile.to_owned(), faults);
    ReconcileError::caused(Category::ProfileDoesNotFit, Requeue::OnChange, cause, None)
}

#[cfg(test)]
mod tests;
