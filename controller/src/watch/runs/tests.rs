use cartouche_templating::{Health, Verdict};

use super::*;
use crate::ledger::OutputsRead;

fn health(verdict: Verdict) -> Health {
    Health {
        verdict,
        reason: "WorkflowPhase".to_owned(),
        message: String::new(),
    }
}

fn seen(verdict: Verdict) -> Sighting {
    Sighting {
        run: RunIdentity {
            uid: "run".to_owned(),
            owner_uid: Some("owner".to_owned()),
            ..RunIdentity::default()
        },
        deleted: false,
        health: health(verdict),
        outputs: OutputsDigest::None,
        rules_hash: "rules".into(),
    }
}

fn read(verdict: Verdict) -> Reading {
    Reading {
        run: seen(verdict).run,
        health: health(verdict),
        outputs: OutputsRead::None,
        rules_hash: "new rules".into(),
    }
}

fn runs(sighting: Sighting) -> Runs {
    let runs = Runs::default();
    let key = RunnableKey {
        namespace: "ns".to_owned(),
        name: "r".to_owned(),
    };
    put(&mut runs.lock(), short("owner"), &key, sighting);
    runs
}

#[test]
fn a_reading_brings_the_sighting_up_to_date_that_it_was_made_for() {
    let runs = runs(seen(Verdict::Unknown));
    runs.refresh(
        "owner",
        Some(&seen(Verdict::Unknown)),
        &read(Verdict::Failed),
    );
    assert_eq!(runs.sightings("owner")[0].health.verdict, Verdict::Failed);
}

#[test]
fn an_old_reading_never_writes_over_a_newer_sighting() {
    let runs = runs(seen(Verdict::Failed));
    runs.refresh(
        "owner",
        Some(&seen(Verdict::Unknown)),
        &read(Verdict::Unknown),
    );
    assert_eq!(runs.sightings("owner")[0].health.verdict, Verdict::Failed);
}
