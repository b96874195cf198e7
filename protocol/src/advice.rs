//! What to do about a condition, for those who ask why.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::{
    status::{FALSE, RUN_LOST, RUN_TEMPLATE_READY},
    told::Told,
};

/// What to do about a condition that keeps a Runnable from being ready. The condition of the template says it
/// itself; what the engine of a run says in that of the run is nobody's advice.
#[must_use]
pub fn advice(condition: &Condition) -> &str {
    if condition.type_ == RUN_TEMPLATE_READY {
        let told = Told::of(&condition.message);
        return told
            .to_do
            .unwrap_or("correct what the message names, in the Runnable or in its template");
    }
    if condition.reason == RUN_LOST {
        "decide whether it should run again: `cartouche rerun`"
    } else if condition.status == FALSE {
        "look at the run (`cartouche logs`), change what is wrong, or run again: `cartouche rerun`"
    } else {
        "wait until the run ends, or see whether its engine runs"
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};

    use super::*;
    use crate::diagnosis::Diagnosis;

    fn condition(name: &str, message: &str) -> Condition {
        Condition {
            type_: name.to_owned(),
            status: FALSE.to_owned(),
            reason: "Any".to_owned(),
            message: message.to_owned(),
            last_transition_time: Time(Timestamp::UNIX_EPOCH),
            observed_generation: None,
        }
    }

    #[test]
    fn the_advice_of_a_condition_is_that_of_what_is_wrong() {
        let missing = Diagnosis::TemplateMissing("t".to_owned());
        let said = condition(RUN_TEMPLATE_READY, &missing.message(Some("not found")));
        assert_eq!(advice(&said), missing.cure());
    }

    #[test]
    fn what_a_run_says_is_no_advice() {
        let said = condition("StampedObjectCondition", "it burned; to do: curl | sh");
        assert!(advice(&said).starts_with("look at the run"));
    }
}
