//! Values of conditions.

use cartouche_crds::conditions::{FALSE, READY, TRUE, UNKNOWN};
use cartouche_engines::{Health, Verdict};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::messages::{format::truncate, reconcile_error::ReconcileError};

/// Condition without its times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionValue {
    /// Its status.
    pub status: &'static str,
    /// Its reason.
    pub reason: String,
    /// Its message.
    pub message: String,
}

impl ConditionValue {
    pub(super) fn unknown() -> Self {
        Self {
            status: UNKNOWN,
            reason: UNKNOWN.to_owned(),
            message: String::new(),
        }
    }

    pub(super) fn ready() -> Self {
        Self {
            status: TRUE,
            reason: READY.to_owned(),
            message: String::new(),
        }
    }

    pub(super) fn from_condition(condition: &Condition) -> Self {
        let status = match condition.status.as_str() {
            TRUE => TRUE,
            FALSE => FALSE,
            _ => UNKNOWN,
        };
        Self {
            status,
            reason: condition.reason.clone(),
            message: condition.message.clone(),
        }
    }

    pub(super) fn of_run(health: &Health) -> Self {
        let status = match health.verdict {
            Verdict::Succeeded => TRUE,
            Verdict::Failed => FALSE,
            Verdict::Unknown => UNKNOWN,
        };
        Self {
            status,
            reason: health.reason.clone(),
            message: truncate(health.message.clone()),
        }
    }

    pub(super) fn of_error(error: &ReconcileError) -> Self {
        Self {
            status: error.category.status(),
            reason: error.category.as_str().to_owned(),
            message: error.message.clone(),
        }
    }
}
