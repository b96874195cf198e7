//! Statuses that say less than those before them.

use serde_json::Value;

/// The status of a Runnable, as somebody wrote it.
pub(super) struct Written {
    /// What orders the writes of an object.
    pub(super) version: u64,
    /// Whether a controller wrote it, or somebody with more rights than anybody should have: what a
    /// controller writes next goes on from there.
    pub(super) by_controller: bool,
    pub(super) status: Value,
}

/// Outputs that a controller took away or made give way to those of an earlier run, and ledgers that
/// forgot a run.
pub(super) fn backwards(runnable: &str, mut statuses: Vec<Written>) -> Vec<String> {
    statuses.sort_by_key(|written| written.version);
    let mut breaches = Vec::new();
    let shown = |written: &Written| {
        let outputs = written.status.get("outputs");
        outputs.is_some_and(|outputs| !outputs.is_null())
    };
    let since = statuses.iter().skip_while(|written| !shown(written));
    let mut of_controllers = since.filter(|written| written.by_controller);
    if of_controllers.any(|written| !shown(written)) {
        breaches.push(format!("the outputs of {runnable} were taken away"));
    }
    for (what, place) in [
        ("outputs", "/outputsFrom/sequence"),
        ("ledger", "/currentRun/sequence"),
    ] {
        let mut last = 0;
        for written in &statuses {
            // One that somebody took away and that is being rebuilt says nothing.
            let Some(number) = written.status.pointer(place).and_then(Value::as_i64) else {
                continue;
            };
            if written.by_controller && number < last {
                breaches.push(format!(
                    "the {what} of {runnable} went back from run {last} to {number}"
                ));
            }
            last = if written.by_controller {
                last.max(number)
            } else {
                number
            };
        }
    }
    breaches
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of_controller(version: u64, run: i64) -> Written {
        Written {
            version,
            by_controller: true,
            status: json!({
                "outputs": { "value": run },
                "outputsFrom": { "sequence": run },
                "currentRun": { "sequence": run },
            }),
        }
    }

    fn of_another(version: u64, run: i64) -> Written {
        Written {
            by_controller: false,
            ..of_controller(version, run)
        }
    }

    #[test]
    fn a_number_that_goes_back_is_told_in_the_order_of_the_writes() {
        let forth = vec![of_controller(9, 2), of_controller(7, 1)];
        assert!(backwards("app", forth).is_empty());
        let back = vec![of_controller(7, 2), of_controller(9, 1)];
        assert_eq!(
            backwards("app", back),
            [
                "the outputs of app went back from run 2 to 1",
                "the ledger of app went back from run 2 to 1"
            ]
        );
    }

    #[test]
    fn outputs_that_are_taken_away_are_told() {
        let mut without = of_controller(2, 1);
        without.status["outputs"] = Value::Null;
        let taken = vec![of_controller(1, 1), without];
        assert_eq!(
            backwards("app", taken),
            ["the outputs of app were taken away"]
        );
    }

    #[test]
    fn a_controller_goes_on_from_what_another_has_written() {
        let restored = || vec![of_controller(1, 3), of_another(2, 1), of_controller(3, 1)];
        assert!(backwards("app", restored()).is_empty());
        let mut found_again = restored();
        found_again.extend([of_controller(4, 3), of_controller(5, 1)]);
        assert_eq!(backwards("app", found_again).len(), 2);
    }

    #[test]
    fn a_ledger_that_another_took_away_does_not_count_as_begun_anew() {
        let mut lost = of_another(2, 3);
        lost.status["currentRun"] = Value::Null;
        let rebuilt = vec![of_controller(1, 3), lost, of_controller(3, 2)];
        assert!(
            backwards("app", rebuilt)
                .contains(&"the ledger of app went back from run 3 to 2".to_owned())
        );
    }
}
