//! What there is to approve: only what is shown, and what the controller asks about as well.

use anyhow::{anyhow, bail};
use cartouche_crds::{
    APPROVED_ANNOTATION, Approval, ApprovalPolicy, REJECTED_ANNOTATION, Rejection, Runnable,
};
use cartouche_protocol::{
    ledger::Due,
    policy::{Asks, Policy},
};
use cartouche_templating::{HASH_VERSION, MADE_HASH_VERSION};
use kube::ResourceExt as _;

use crate::{
    commands::{diff::Prospect, get::ready},
    foreign::in_one_line,
    live::{pending, place::Place},
};

/// Whether a run waits for a person.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Waiting {
    /// This one does.
    ForPerson(Approval),
    /// Somebody has approved it.
    Approved(Approval),
    /// None does, as this says.
    Nothing(String),
}

/// What is rendered, as far as it can be known.
enum Rendered<'a> {
    /// Whether a run of it is due, and the hash of what is made of it.
    Known(Due, &'a str),
    /// Its hash is not known, and why; the word of the status is taken for it.
    Unverified,
    /// The same, and it is not.
    Untold(String),
}

/// What waits, of a Runnable as it was read and is rendered. What keeps it from being known is an error, unless the word of the
/// status is to be taken for what the user cannot verify.
pub(super) fn waiting(
    runnable: &Runnable,
    prospect: &Prospect,
    unverified: bool,
    place: &Place,
) -> anyhow::Result<Waiting> {
    let own = Asks::of_runnable(&prospect.runnable.spec);
    let general = Asks::of_template(&prospect.template.spec);
    let policy = Policy::as_far_as_usable(&own, &general).approval;
    let asked = asked_for(runnable).and_then(Approval::of);
    let rendered = match (prospect.due, hash_of(prospect, asked.as_ref())) {
        (Some(due), Ok(hash)) => Rendered::Known(due, hash),
        (Some(due), Err(_)) if asked.is_none() && !matches!(due, Due::New(_)) => {
            Rendered::Known(due, "")
        }
        // Without a hash it cannot be known whether what is shown is what waits.
        _ if unverified => Rendered::Unverified,
        (_, Err(why)) => Rendered::Untold(why),
        (None, Ok(_)) => Rendered::Untold(prospect.untold().unwrap_or_default()),
    };
    of_rendered(runnable, policy, &rendered, place)
}

/// The hash that approves what is shown, or why it cannot be known.
fn hash_of<'a>(prospect: &'a Prospect, asked: Option<&Approval>) -> Result<&'a str, String> {
    let Some(input_hash) = prospect.input_hash() else {
        return Err(prospect.untold().unwrap_or_default());
    };
    let asked = asked.map(|asked| asked.hash.as_str());
    // What is made without a profile is shown as it is made.
    if let Some(why) = prospect.unknown_profile.clone()
        && asked != Some(input_hash)
    {
        return Err(why);
    }
    let forms = [HASH_VERSION, MADE_HASH_VERSION];
    if asked.is_some_and(|asked| !forms.iter().any(|form| asked.starts_with(form))) {
        let why = "the controller asks in a form that this release of the command does not know";
        return Err(why.to_owned());
    }
    Ok(&prospect.run.approvable)
}

fn of_rendered(
    runnable: &Runnable,
    policy: ApprovalPolicy,
    rendered: &Rendered<'_>,
    place: &Place,
) -> anyhow::Result<Waiting> {
    let name = runnable.name_any();
    if runnable.metadata.deletion_timestamp.is_some() {
        return Ok(nothing(&format!(
            "{name} is being deleted, and no run is made any more"
        )));
    }
    if policy == ApprovalPolicy::Automatic {
        return Ok(nothing(&format!(
            "runs of {name} wait for nobody, since neither it nor its template has spec.approval: Manual"
        )));
    }
    let (due, hash) = match rendered {
        Rendered::Known(due, hash) => (*due, *hash),
        Rendered::Unverified => return of_status(runnable, place),
        Rendered::Untold(why) => return Err(unknown(why, &name, place)),
    };
    let asked = asked_for(runnable).and_then(Approval::of);
    let asked = asked.map(|asked| asked.sequence);
    let sequence = match (due, asked) {
        (Due::New(sequence), _) => sequence,
        // It is made of something else by now than was approved.
        (Due::Pending(present), Some(asked)) if asked == present => present,
        // It failed, or was deleted, and what would be made next is something else.
        (Due::Nothing(present), Some(asked)) if asked > present => asked,
        (Due::Pending(present), _) => {
            return Ok(nothing(&format!(
                "run {present} of {name} is to be made already"
            )));
        }
        (Due::Nothing(present), _) => {
            return Ok(nothing(&format!(
                "run {present} of {name} is of what is rendered now"
            )));
        }
        (Due::OtherHash(present), _) => bail!(
            "whether run {present} of {name} is of what is rendered now is found out by the controller: nothing is approved\n\
             hint: wait a moment, and look again: `{}`",
            place.command(&format!("approve {name}"))
        ),
    };
    let wanted = Approval {
        sequence,
        hash: hash.to_owned(),
    };
    of_wanted(runnable, wanted, place)
}

fn nothing(why: &str) -> Waiting {
    Waiting::Nothing(format!("nothing to approve: {why}"))
}

/// What the status asks about, of the Runnable as it is: whether that is what would be rendered is not known.
fn of_status(runnable: &Runnable, place: &Place) -> anyhow::Result<Waiting> {
    let name = runnable.name_any();
    if let Some(asked) = asked_for(runnable).and_then(Approval::of)
        && is_observed(runnable)
    {
        return of_wanted(runnable, asked, place);
    }
    let said = said_by_controller(runnable);
    if is_observed(runnable) {
        return Ok(nothing(&format!(
            "{name} asks nobody by its status, {said}"
        )));
    }
    let again = place.command(&format!("approve {name} --unverified"));
    bail!(
        "what waits is asked of the controller, {said}: nothing is approved\n\
         hint: wait a moment, and look again: `{again}`"
    )
}

/// Whether this run, which is due, waits for a person.
fn of_wanted(runnable: &Runnable, wanted: Approval, place: &Place) -> anyhow::Result<Waiting> {
    let name = runnable.name_any();
    if is_given(runnable, &wanted) {
        return Ok(Waiting::Approved(wanted));
    }
    if runnable.spec.suspend == Some(true) {
        let resume = place.command(&format!("resume {name}"));
        return Ok(nothing(&format!(
            "{name} is suspended, and waits for a person once it is resumed (`{resume}`)"
        )));
    }
    is_asked_for(runnable, &wanted, place)?;
    Ok(Waiting::ForPerson(wanted))
}

/// Why nothing is approved whose hash is not known: that of another document may wait, and nobody would see it.
fn unknown(untold: &str, name: &str, place: &Place) -> anyhow::Error {
    let diff = place.command(&format!("diff {name}"));
    let unverified = place.command(&format!("approve {name} --unverified"));
    anyhow!(
        "{untold}; whether what you would see is what waits cannot be told: nothing is approved\n\
         hint: `{diff}` shows it; whoever may read all of it can approve it, and `{unverified}` approves what the status asks about"
    )
}

/// What the controller asks a person for.
pub(super) fn asked_for(runnable: &Runnable) -> Option<&str> {
    pending::pending(runnable)?.approval.as_deref()
}

/// Whether the controller asks a person, of whom nobody has said no yet.
pub(super) fn waits_for_a_yes(runnable: &Runnable) -> bool {
    pending::pending(runnable).is_some_and(pending::waits_for_approval)
}

/// What the controller asks about.
pub(super) fn waits_now(runnable: &Runnable) -> anyhow::Result<Approval> {
    let asked = asked_for(runnable).and_then(Approval::of);
    asked.ok_or_else(|| {
        let (name, said) = (runnable.name_any(), said_by_controller(runnable));
        anyhow!("no run of {name} waits for a person, by the word of the controller, {said}: nothing is refused")
    })
}

/// Whether somebody has written just this on the Runnable, and nobody has refused it.
pub(super) fn is_given(runnable: &Runnable, approval: &Approval) -> bool {
    let text = approval.to_string();
    let annotation = |name: &str| runnable.annotations().get(name);
    let rejection = annotation(REJECTED_ANNOTATION).and_then(|it| Rejection::of(it));
    let is_refused = rejection.is_some_and(|it| it.approval == text);
    !is_refused && annotation(APPROVED_ANNOTATION) == Some(&text)
}

/// An error unless it is just this that the controller asks for.
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
            "{approval} is not the run of {name} that waits, as its status says, which is {}: nothing is approved\n\
             hint: something has just changed, or the controller has yet to see it: wait a moment, and look again: `{again}`",
            in_one_line(asked)
        )),
        None => Err(anyhow!(
            "{approval} is not asked for by the controller, {}: nothing is approved\n\
             hint: wait a moment, and look again: `{again}`; `{why}` says what else keeps it",
            said_by_controller(runnable)
        )),
    }
}

/// How the controller stands to the Runnable as it is.
fn said_by_controller(runnable: &Runnable) -> String {
    if is_observed(runnable) {
        let (ready, reason) = ready(runnable);
        in_one_line(&format!("which says that Ready is {ready} ({reason})"))
    } else {
        let name = runnable.name_any();
        format!("which has not observed the last change of {name} yet")
    }
}

fn is_observed(runnable: &Runnable) -> bool {
    let status = runnable.status.as_ref();
    status.is_some_and(|status| status.observed_generation == runnable.metadata.generation)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A Runnable whose run 4 of this document waits, as its controller says, with this patched into it.
    fn runnable(patch: &Value) -> Runnable {
        let mut runnable = json!({
            "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
            "metadata": { "name": "hello", "generation": 2, "annotations": {} },
            "spec": { "runTemplateRef": { "name": "greet" } },
            "status": {
                "observedGeneration": 2,
                "pending": {
                    "sequence": 4, "inputHash": "v1:a", "reason": "ApprovalRequired",
                    "since": "2026-01-01T00:00:00Z", "approval": "4:v1:a", "dryRun": "accepted",
                },
                "conditions": [{
                    "type": "Ready", "status": "Unknown", "reason": "ApprovalRequired", "message": "",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }],
            },
        });
        merge(&mut runnable, patch);
        serde_json::from_value(runnable).unwrap()
    }

    fn merge(into: &mut Value, patch: &Value) {
        match patch {
            Value::Object(fields) => {
                for (key, value) in fields {
                    merge(&mut into[key.as_str()], value);
                }
            }
            value => *into = value.clone(),
        }
    }

    fn found(patch: &Value, due: Due, hash: &str) -> anyhow::Result<Waiting> {
        of(patch, ApprovalPolicy::Manual, &Rendered::Known(due, hash))
    }

    fn of(
        patch: &Value,
        policy: ApprovalPolicy,
        rendered: &Rendered<'_>,
    ) -> anyhow::Result<Waiting> {
        let place = Place::new("shop", "demo");
        of_rendered(&runnable(patch), policy, rendered, &place)
    }

    /// What is said where nothing is to be approved.
    fn nothing(patch: &Value, due: Due) -> String {
        match found(patch, due, "v1:a").unwrap() {
            Waiting::Nothing(why) => why,
            other => panic!("{other:?}"),
        }
    }

    fn approval() -> Approval {
        Approval::of("4:v1:a").unwrap()
    }

    #[test]
    fn a_run_that_the_controller_asks_about_waits_for_a_person() {
        let waits = found(&json!({}), Due::New(4), "v1:a").unwrap();
        assert_eq!(waits, Waiting::ForPerson(approval()));
    }

    #[test]
    fn what_has_its_number_or_is_tried_again_waits_as_the_controller_asks() {
        let waits = || Waiting::ForPerson(approval());
        assert_eq!(found(&json!({}), Due::Pending(4), "v1:a").unwrap(), waits());
        assert_eq!(found(&json!({}), Due::Nothing(3), "v1:a").unwrap(), waits());
        assert!(found(&json!({}), Due::Pending(4), "v1:b").is_err());
        assert!(found(&json!({}), Due::Nothing(3), "v1:b").is_err());
    }

    #[test]
    fn what_was_refused_is_not_approved_whatever_is_written_beside_that() {
        let refused = |approval: &str| {
            json!({ "metadata": { "annotations": {
                "carto.run/approved": "4:v1:a",
                "carto.run/rejected": json!({ "approval": approval, "reason": "no" }).to_string(),
            } } })
        };
        let found = |approval: &str| found(&refused(approval), Due::New(4), "v1:a").unwrap();
        assert_eq!(found("4:v1:a"), Waiting::ForPerson(approval()));
        assert_eq!(found("3:v1:a"), Waiting::Approved(approval()));
    }

    #[test]
    fn what_is_written_on_it_already_is_approved_whatever_it_waits_for_by_now() {
        let given = json!({ "metadata": { "annotations": { "carto.run/approved": "4:v1:a" } } });
        let approved = || Waiting::Approved(approval());
        assert_eq!(found(&given, Due::New(4), "v1:a").unwrap(), approved());
        let mut at_work = given;
        at_work["status"] = json!({ "pending": null });
        assert_eq!(found(&at_work, Due::New(4), "v1:a").unwrap(), approved());
    }

    #[test]
    fn where_nothing_waits_for_a_person_it_says_why() {
        let none = json!({ "status": { "pending": null } });
        assert!(
            nothing(&none, Due::Nothing(3)).contains("run 3 of hello is of what is rendered now")
        );
        assert!(nothing(&none, Due::Pending(3)).contains("run 3 of hello is to be made already"));
        let suspended = nothing(&json!({ "spec": { "suspend": true } }), Due::New(4));
        assert!(
            suspended.contains("`cartouche resume hello -n shop`"),
            "{suspended}"
        );
        let gone = json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z" } });
        assert!(nothing(&gone, Due::New(4)).contains("is being deleted"));
        let due = Rendered::Known(Due::New(4), "v1:a");
        let automatic = of(&none, ApprovalPolicy::Automatic, &due);
        let Waiting::Nothing(automatic) = automatic.unwrap() else {
            panic!("nobody is asked");
        };
        assert!(automatic.contains("spec.approval: Manual"), "{automatic}");
    }

    #[test]
    fn what_is_not_what_the_controller_asks_about_is_an_error_with_what_to_do() {
        for (due, hash) in [(Due::New(4), "v1:b"), (Due::New(5), "v1:a")] {
            let error = found(&json!({}), due, hash).unwrap_err().to_string();
            assert!(
                error.contains("which is 4:v1:a: nothing is approved\nhint: "),
                "{error}"
            );
            assert!(
                error.contains("`cartouche approve hello -n shop`"),
                "{error}"
            );
        }
        let unseen = json!({ "status": { "pending": null, "observedGeneration": 1 } });
        let error = found(&unseen, Due::New(4), "v1:a").unwrap_err().to_string();
        assert!(
            error.contains("has not observed the last change"),
            "{error}"
        );
        let blocked = json!({ "status": { "pending": null } });
        let error = found(&blocked, Due::New(4), "v1:a")
            .unwrap_err()
            .to_string();
        assert!(error.contains("`cartouche why hello -n shop`"), "{error}");
    }

    #[test]
    fn where_the_hash_is_not_known_the_status_is_believed_only_if_somebody_says_so() {
        let of = |patch: Value, rendered| of(&patch, ApprovalPolicy::Manual, &rendered);
        let untold = of(json!({}), Rendered::Untold("unread".to_owned()));
        let error = untold.unwrap_err().to_string();
        let hint =
            "`cartouche approve hello --unverified -n shop` approves what the status asks about";
        assert!(error.contains(hint), "{error}");
        let waits = of(json!({}), Rendered::Unverified).unwrap();
        assert_eq!(waits, Waiting::ForPerson(approval()));
        let given = json!({ "metadata": { "annotations": { "carto.run/approved": "4:v1:a" } } });
        let approved = of(given, Rendered::Unverified).unwrap();
        assert_eq!(approved, Waiting::Approved(approval()));
        for (patch, told) in [
            (
                json!({ "status": { "pending": null } }),
                "asks nobody by its status, which says that Ready is Unknown",
            ),
            (json!({ "spec": { "suspend": true } }), "is suspended"),
        ] {
            let Waiting::Nothing(why) = of(patch, Rendered::Unverified).unwrap() else {
                panic!("nobody is asked");
            };
            assert!(why.contains(told), "{why}");
        }
        // What it asks about may be another document by now.
        let earlier = json!({ "status": { "observedGeneration": 1 } });
        let error = of(earlier, Rendered::Unverified).unwrap_err().to_string();
        assert!(
            error.contains("has not observed the last change"),
            "{error}"
        );
    }
}
