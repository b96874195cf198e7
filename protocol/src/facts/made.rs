//! Making a run out of a rendering: its open tags are filled in, and its profile is applied.

use std::borrow::Cow;

use cartouche_crds::{CurrentRun, PinnedProfile};
use cartouche_language::{Diagnostic, Diagnostics, RunFacts};
use cartouche_templating::{Context, Profile, Rendered, contains};
use serde_json::Value;

use super::{Facts, Rendering, RunnableFacts};
use crate::{
    category::Category,
    evaluate::{contains_rendered, is_comparable},
    ledger::{Ledger, RunIdentity, RunProfile},
    messages::{
        diagnosis::{Diagnosis, Fault, Held, NotRefreshed},
        reconcile_error::{ReconcileError, Requeue},
    },
    newer_release,
    profiles::{KnownProfile, Labels, PinOrigin, Profiles, Subject, pin},
};

/// Sequence that stands for all in [`approvable`].
const APPROVABLE_SEQUENCE: i64 = 1;

/// Choice of the profile that the next run of a Runnable is made with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Profile that the Runnable is pinned to then.
    pub pinned: Option<PinnedProfile>,
    /// Reason why a request to refresh the profile was not followed.
    pub not_refreshed: Option<NotRefreshed>,
}

/// Reason why the choice of the profile is unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// The labels of the namespace are not known yet; a watch on the namespace is started.
    Namespace,
    /// No profile can be used.
    Held(Held),
}

impl Facts {
    /// Chooses the profile for the next run after those of a ledger.
    pub fn choose_profile(
        &self,
        rendering: &Rendering,
        ledger: &Ledger,
    ) -> Result<Chosen, Unknown> {
        choose_profile(
            &self.runnable,
            &self.profiles,
            rendering.needs_profile,
            ledger,
        )
    }

    fn requested_refresh(&self) -> Option<&str> {
        self.runnable.profile_refresh.as_deref()
    }

    /// Returns true if the Runnable carries a request to refresh the profile of this ledger that was not answered
    /// yet.
    #[must_use]
    pub fn is_refresh_asked(&self, ledger: &Ledger) -> bool {
        let pinned = ledger.profile.as_deref();
        let requested = self.requested_refresh();
        requested.is_some() && pinned.is_some_and(|it| it.refresh_token.as_deref() != requested)
    }

    /// Returns the profile of a pin. Fails if it does not exist or cannot be used.
    fn profile_of(&self, pinned: &PinnedProfile) -> Result<&KnownProfile, ReconcileError> {
        let found = self.profiles.get(&pinned.name);
        let found = found.ok_or_else(|| {
            explain_hold(Held::Gone {
                name: pinned.name.clone(),
                not_refreshed: None,
            })
        })?;
        newer_release::known_profile(found)?;
        Ok(found)
    }

    /// Returns the document that is sent to make a run with this profile: the rendered one, with its open tags
    /// filled in and the profile applied. Without open tags and profile that is the rendered document itself.
    pub fn build_document<'a>(
        &self,
        rendering: &'a Rendering,
        pinned: Option<&PinnedProfile>,
        run: &RunFacts<'_>,
    ) -> Result<Cow<'a, Rendered>, ReconcileError> {
        let (document, context) = (&*rendering.document, &*rendering.context);
        let Some(pinned) = pinned else {
            let made = made_with(document, context, None, run);
            return made.map_err(|problems| self.unrendered_error(&problems));
        };
        let profile = self.profile_of(pinned)?;
        let misfit = |problems: &_| misfit(&pinned.name, Fault::all(problems));
        let compiled = profile.compiled.as_ref();
        let compiled = compiled.map_err(|problems| misfit(problems))?;
        let made = made_with(document, context, Some(compiled), run);
        made.map_err(|problems| misfit(&problems))
    }

    /// Returns the error for a rendering that cannot be made into a run.
    pub(crate) fn unrendered_error(&self, problems: &[Diagnostic]) -> ReconcileError {
        let template = self.runnable.template.clone();
        ReconcileError::from_diagnosis(
            Category::TemplateStampFailure,
            Requeue::OnChange,
            Diagnosis::Unrendered(template, Fault::all(problems)),
            None,
        )
    }

    /// Returns the document that is sent to make the run of a ledger entry whose run was not seen yet.
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
        self.build_document(rendering, self.ledger.profile.as_deref(), &run)
    }

    /// Returns the document that would be sent for the next number of a ledger.
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
        self.build_document(rendering, pinned, &run)
    }

    /// Returns the re-run request that the next number of a ledger answers.
    fn next_token(&self, ledger: &Ledger) -> Option<&str> {
        let token = self.runnable.rerun_token.as_deref();
        token.filter(|token| ledger.answered_by_seen() != Some(token))
    }

    /// Returns the hash by which a person approves what [`made_next`](Self::made_next) returns.
    pub fn approvable_next(
        &self,
        rendering: &Rendering,
        ledger: &Ledger,
        pinned: Option<&PinnedProfile>,
    ) -> Result<String, ReconcileError> {
        let token = self.next_token(ledger);
        self.approvable(rendering, &rendering.document, pinned, token)
    }

    /// Returns the same hash as the status asks for it.
    pub fn asked_next(
        &self,
        rendering: &Rendering,
        ledger: &Ledger,
        pinned: Option<&PinnedProfile>,
    ) -> Result<String, ReconcileError> {
        let token = self.next_token(ledger);
        self.approvable(rendering, &self.as_it_waits(rendering), pinned, token)
    }

    /// Returns the rendered document with the hash version of the pending run in the status. Releases with
    /// different hash versions then report the same, and one approval answers both.
    #[must_use]
    pub fn as_it_waits<'a>(&self, rendering: &'a Rendering) -> Cow<'a, Rendered> {
        match &self.stored.pending {
            Some(pending) => rendering.document.hashed_like(&pending.input_hash),
            None => Cow::Borrowed(&rendering.document),
        }
    }

    /// Returns the same hash as it was approved for the current entry, whose hash the release before may have
    /// written.
    pub fn approvable_again(
        &self,
        rendering: &Rendering,
        ledger: &Ledger,
        pinned: Option<&PinnedProfile>,
    ) -> Result<String, ReconcileError> {
        let document = like_current(rendering, ledger.current.as_ref());
        self.approvable(rendering, &document, pinned, self.next_token(ledger))
    }

    /// Returns the hash by which a person approves what [`made_for`](Self::made_for) returns.
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
            self.build_document(rendering, pinned, run)
        })
    }

    /// Returns true if a run contains what is rendered, if no hash decides that. Changes by the profile, as it is
    /// now or as it was then, do not count. Neither does the patch that asked the run to stop.
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

    /// Returns true if a run that names its profile is what this profile makes of the rendering. A run of another
    /// generation of the profile, or of a deleted one, cannot be compared: it counts as such unless the document
    /// has secrets.
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

    /// Returns true if the profile is the one that this run was made with. A profile that was deleted and created
    /// again since is another one.
    fn is_known_version(&self, run: &RunIdentity, profile: &RunProfile) -> bool {
        let known = self.profiles.get(&profile.version.name);
        known.is_some_and(|known| {
            let is_older = known.created.zip(run.created);
            known.version == profile.version && is_older.is_none_or(|(profile, run)| profile <= run)
        })
    }

    /// Returns the document that would have been sent to make an existing run of this rendering. It uses the
    /// profile that the run names, whatever the Runnable is pinned to by now.
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
        self.build_document(rendering, pinned.as_ref(), &facts)
    }
}

/// Returns the rendered document with the hash version of this entry.
fn like_current<'a>(rendering: &'a Rendering, current: Option<&CurrentRun>) -> Cow<'a, Rendered> {
    match current {
        Some(current) => rendering.document.hashed_like(&current.input_hash),
        None => Cow::Borrowed(&rendering.document),
    }
}

/// Returns what the rules of profiles match: the Runnable, in a namespace with these labels.
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

/// Chooses the profile for the next run of a Runnable after those of a ledger.
pub fn choose_profile(
    runnable: &RunnableFacts,
    profiles: &Profiles,
    is_required: bool,
    ledger: &Ledger,
) -> Result<Chosen, Unknown> {
    let known = PinOrigin::from_pin(ledger.profile.as_deref());
    let requested = runnable.profile_refresh.as_deref();
    let is_kept = matches!(&known, PinOrigin::Status(Some(pin))
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
        pinned: settled.pin.map(crate::profiles::Pin::into_profile),
        not_refreshed: settled.not_refreshed,
    })
}

/// Returns the rendered document with its open tags filled in and a profile applied, if there is one. Without both
/// it is the document itself. Fails with everything that does not fit.
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
        return document.fill(run, None).map(Cow::Owned);
    };
    let filled = document.fill(run, Some(profile.values()))?;
    profile.apply(&filled, context, run).map(Cow::Owned)
}

/// Returns the hash by which a person approves a document. The document is made with the profile of this name and
/// uid, for the Runnable with this uid and the re-run request. Name and number are always those of the first run,
/// so that one approval serves all attempts and only what a user can change counts.
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

/// Returns the error for a profile that cannot be used.
#[must_use]
pub fn explain_hold(held: Held) -> ReconcileError {
    let category = held.category();
    ReconcileError::from_diagnosis(category, Requeue::OnChange, Diagnosis::Profile(held), None)
}

fn misfit(profile: &str, faults: Vec<Fault>) -> ReconcileError {
    let cause = Diagnosis::ProfileDoesNotFit(profile.to_owned(), faults);
    ReconcileError::from_diagnosis(Category::ProfileDoesNotFit, Requeue::OnChange, cause, None)
}

#[cfg(test)]
mod tests;
