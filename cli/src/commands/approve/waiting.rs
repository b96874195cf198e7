//! The run that waits for approval: only one that was shown and that the controller asks about as well.

use anyhow::{anyhow, bail};
use cartouche_authoring::foreign::in_one_line;
use cartouche_crds::{
    APPROVED_ANNOTATION, Approval, ApprovalPolicy, REJECTED_ANNOTATION, Rejection, Runnable,
};
use cartouche_language::{HASH_VERSION, MADE_HASH_VERSION};
use cartouche_protocol::{
    ledger::Due,
    policy::{Asks, Policy},
};
use kube::ResourceExt as _;

use crate::{
    commands::get::ready,
    live::{pending, place::Place, prospect::Prospect},
};

/// State of the approval of a run.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ApprovalState {
    /// This run waits for a person.
    ForPerson(Approval),
    /// This run is approved already.
    Approved(Approval),
    /// No run waits, for this reason.
    Nothing(String),
}

/// Rendered run, as far as it is known.
enum KnownRendering<'a> {
    /// The decision if a run is due, and the hash of the run that would be made.
    Known(Due, &'a str),
    /// The hash is unknown; the user accepts the one in the status.
    Unverified,
    /// The hash is unknown for this reason, and the user does not accept the one in the status.
    Unknown(String),
}

/// Returns the run that waits, for a Runnable as it was read and rendered. An unknown hash is an error, unless
/// `unverified` accepts the one in the status.
pub(super) fn waiting(
    runnable: &Runnable,
    prospect: &Prospect,
    unverified: bool,
    place: &Place,
) -> anyhow::Result<ApprovalState> {
    let own = Asks::of_runnable(&prospect.runnable.spec);
    let general = Asks::of_template(&prospect.template.spec);
    let policy = Policy::as_far_as_usable(&own, &general).approval;
    let asked = asked_for(runnable).and_then(Approval::parse);
    let rendered = match (prospect.due, hash_of(prospect, asked.as_ref())) {
        (Some(due), Ok(hash)) => KnownRendering::Known(due, hash),
        (Some(due), Err(_)) if asked.is_none() && !matches!(due, Due::New(_)) => {
            KnownRendering::Known(due, "")
        }
        // Without a hash it is unknown if the run that is shown is what waits.
        _ if unverified => KnownRendering::Unverified,
        (_, Err(why)) => KnownRendering::Unknown(why),
        (None, Ok(_)) => KnownRendering::Unknown(prospect.unknown_hash().unwrap_or_default()),
    };
    of_rendered(runnable, policy, &rendered, place)
}

/// Returns the run that waits by the status alone.
pub(super) fn by_status(runnable: &Runnable, place: &Place) -> anyhow::Result<ApprovalState> {
    // The template may require approval as well, but the status asks only if one of the two does.
    let policy = ApprovalPolicy::Manual;
    of_rendered(runnable, policy, &KnownRendering::Unverified, place)
}

/// Returns the hash that approves the run that is shown, or why it is unknown.
fn hash_of<'a>(prospect: &'a Prospect, asked: Option<&Approval>) -> Result<&'a str, String> {
    let Some(input_hash) = prospect.input_hash() else {
        return Err(prospect.unknown_hash().unwrap_or_default());
    };
    let asked = asked.map(|asked| asked.hash.as_str());
    // Without a profile, the run is shown exactly as it is made.
    if let Some(why) = prospect.unknown_profile.clone()
        && asked != Some(input_hash)
    {
        return Err(why);
    }
    let forms = [HASH_VERSION, MADE_HASH_VERSION];
    if asked.is_some_and(|asked| !forms.iter().any(|form| asked.starts_with(form))) {
        let why = "the controller asks for an approval in a form that this release of the command does not know";
        return Err(why.to_owned());
    }
    Ok(&prospect.run.approvable)
}

fn of_rendered(
    runnable: &Runnable,
    policy: ApprovalPolicy,
    rendered: &KnownRendering<'_>,
    place: &Place,
) -> anyhow::Result<ApprovalState> {
    let name = runnable.name_any();
    if runnable.metadata.deletion_timestamp.is_some() {
        return Ok(nothing(&format!(
            "{name} is being deleted, so no more runs are made"
        )));
    }
    if policy == ApprovalPolicy::Automatic {
        return Ok(nothing(&format!(
            "runs of {name} need no approval: neither it nor its template has spec.approval: Manual"
        )));
    }
    let (due, hash) = match rendered {
        KnownRendering::Known(due, hash) => (*due, *hash),
        KnownRendering::Unverified => return of_status(runnable, place),
        KnownRendering::Unknown(why) => return Err(unknown(why, &name, place)),
    };
    let asked = asked_for(runnable).and_then(Approval::parse);
    let asked = asked.map(|asked| asked.sequence);
    let sequence = match (due, asked) {
        (Due::New(sequence), _) => sequence,
        // The run is now made of something else than was approved.
        (Due::Pending(present), Some(asked)) if asked == present => present,
        // The last run failed or was deleted, and the next one would be another.
        (Due::Nothing(present), Some(asked)) if asked > present => asked,
        (Due::Pending(present), _) => {
            return Ok(nothing(&format!(
                "run {present} of {name} is already about to be created"
            )));
        }
        (Due::Nothing(present), _) => {
            return Ok(nothing(&format!(
                "run {present} of {name} matches the rendered object"
            )));
        }
        (Due::OtherHash(present), _) => bail!(
            "the controller has yet to find out if run {present} of {name} matches the rendered object: nothing is approved\n\
             hint: wait a moment, then repeat `{}`",
            place.command(&format!("approve {name}"))
        ),
    };
    let wanted = Approval {
        sequence,
        hash: hash.to_owned(),
    };
    of_wanted(runnable, wanted, place)
}

fn nothing(why: &str) -> ApprovalState {
    ApprovalState::Nothing(format!("nothing to approve: {why}"))
}

/// Returns the run that the status of the Runnable asks about. It is unknown if that is what would be rendered.
fn of_status(runnable: &Runnable, place: &Place) -> anyhow::Result<ApprovalState> {
    let name = runnable.name_any();
    if let Some(asked) = asked_in_known_form(runnable)?
        && is_observed(runnable)
    {
        return of_wanted(runnable, asked, place);
    }
    let said = said_by_controller(runnable);
    if is_observed(runnable) {
        return Ok(nothing(&format!(
            "by its status, {name} does not wait for approval: {said}"
        )));
    }
    let again = place.command(&format!("approve {name} --unverified"));
    bail!(
        "{said}: nothing is approved\n\
         hint: wait a moment, then repeat `{again}`"
    )
}

/// Returns the state of the approval of this pending run.
fn of_wanted(
    runnable: &Runnable,
    wanted: Approval,
    place: &Place,
) -> anyhow::Result<ApprovalState> {
    let name = runnable.name_any();
    if is_given(runnable, &wanted) {
        return Ok(ApprovalState::Approved(wanted));
    }
    if runnable.spec.suspend == Some(true) {
        let resume = place.command(&format!("resume {name}"));
        return Ok(nothing(&format!(
            "{name} is suspended: its run waits for approval once you resume it (`{resume}`)"
        )));
    }
    is_asked_for(runnable, &wanted, place)?;
    Ok(ApprovalState::ForPerson(wanted))
}

/// Explains why a run with an unknown hash is not approved: another document may wait, unseen.
fn unknown(unknown_hash: &str, name: &str, place: &Place) -> anyhow::Error {
    let diff = place.command(&format!("diff {name}"));
    let unverified = place.command(&format!("approve {name} --unverified"));
    anyhow!(
        "{unknown_hash}; the run that waits may differ from what you would see: nothing is approved\n\
         hint: `{diff}` shows it; let a user approve who may read all of it, or approve the run in the status with `{unverified}`"
    )
}

/// Returns the approval that the controller asks for.
pub(super) fn asked_for(runnable: &Runnable) -> Option<&str> {
    pending::pending(runnable)?.approval.as_deref()
}

/// Returns the same, parsed; another form is an error.
fn asked_in_known_form(runnable: &Runnable) -> anyhow::Result<Option<Approval>> {
    let Some(asked) = asked_for(runnable) else {
        return Ok(None);
    };
    let read = Approval::parse(asked).ok_or_else(|| {
        anyhow!(
            "the status of {} asks for an approval in a form that this release of the command does not know, {}: nothing is written\n\
             hint: use a newer release of cartouche",
            runnable.name_any(),
            in_one_line(asked)
        )
    });
    read.map(Some)
}

/// Returns true while the controller asks for approval and no user has rejected the run.
pub(super) fn waits_for_a_yes(runnable: &Runnable) -> bool {
    pending::pending(runnable).is_some_and(pending::waits_for_approval)
}

/// Returns the run that the controller asks about, or an error if there is none.
pub(super) fn waits_now(runnable: &Runnable) -> anyhow::Result<Approval> {
    let asked = asked_in_known_form(runnable)?;
    asked.ok_or_else(|| {
        let (name, said) = (runnable.name_any(), said_by_controller(runnable));
        anyhow!("no run of {name} waits for approval: {said}: nothing is rejected")
    })
}

/// Returns true if this run is approved by the annotation and not rejected by the other one.
pub(super) fn is_given(runnable: &Runnable, approval: &Approval) -> bool {
    let text = approval.to_string();
    let annotation = |name: &str| runnable.annotations().get(name);
    let rejection = annotation(REJECTED_ANNOTATION).and_then(|it| Rejection::parse(it));
    let is_refused = rejection.is_some_and(|it| it.approval == text);
    !is_refused && annotation(APPROVED_ANNOTATION) == Some(&text)
}

/// Returns an error unless the controller asks for exactly this approval.
pub(super) fn is_asked_for(
    runnable: &Runnable,
    approval: &Approval,
    place: &Place,
) -> anyhow::Result<()> {
    let name = runnable.name_any();
    let again = place.command(&format!("approve {name}"));
    let why = place.command(&format!("why {name}"));
    match asked_for(runnable) {
        Some(asked) if asked == approval.to_string() => Ok(()),
        Some(asked) => Err(anyhow!(
            "{approval} is not the run of {name} that waits by its status, which is {}: nothing is approved\n\
             hint: something has just changed, or the controller has yet to see it: wait a moment, then repeat `{again}`",
            in_one_line(asked)
        )),
        None => Err(anyhow!(
            "the controller does not ask for the approval {approval}: {}: nothing is approved\n\
             hint: wait a moment, then repeat `{again}`; `{why}` shows what else blocks the run",
            said_by_controller(runnable)
        )),
    }
}

/// Describes the controller's view of the Runnable, as the rest of a sentence.
fn said_by_controller(runnable: &Runnable) -> String {
    if is_observed(runnable) {
        let (ready, reason) = ready(runnable);
        in_one_line(&format!("Ready is {ready} ({reason})"))
    } else {
        let name = runnable.name_any();
        format!("the controller has not observed the last change of {name} yet")
    }
}

fn is_observed(runnable: &Runnable) -> bool {
    let status = runnable.status.as_ref();
    status.is_some_and(|status| status.observed_generation == runnable.metadata.generation)
}

#[cfg(test)]
mod tests;
