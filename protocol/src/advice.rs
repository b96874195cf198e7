//! What to do about a condition, for those who ask why.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::{
    reconcile_error::Category,
    status::{FALSE, RUN_LOST},
};

/// What to do about a condition that keeps a Runnable from being ready.
#[must_use]
pub fn advice(condition: &Condition) -> &'static str {
    if let Some(category) = Category::parse(&condition.reason) {
        return about(category, &condition.message);
    }
    if condition.reason == RUN_LOST {
        "decide whether it should run again: `cartouche rerun`"
    } else if condition.status == FALSE {
        "look at the run (`cartouche logs`), change what is wrong, or run again: `cartouche rerun`"
    } else {
        "wait until the run ends, or see whether its engine runs"
    }
}

fn about(category: Category, message: &str) -> &'static str {
    match category {
        Category::InvalidRunnable => "make it smaller or less deep, as the message says",
        Category::ServiceAccountError => {
            "make the ServiceAccount, or correct spec.serviceAccountName"
        }
        Category::ServiceAccountTokenError => "let the controller create serviceaccounts/token",
        Category::ClientBuilderError => "look into the log of the controller",
        Category::RunTemplateNotFound => {
            "make the ClusterRunTemplate, or correct spec.runTemplateRef.name"
        }
        Category::TemplateStampFailure => {
            "correct the path, or give the input; `cartouche diff` shows whether it renders then"
        }
        // The text of the API server, which gives no other sign of it in a condition.
        Category::StampedObjectRejectedByAPIServer if message.contains("forbidden") => {
            "give the ServiceAccount the permission; it goes on by itself"
        }
        Category::StampedObjectRejectedByAPIServer => {
            "correct the template or the inputs; `cartouche diff --server-dry-run` asks again"
        }
        Category::FailedToListCreatedObjects => {
            "let the ServiceAccount list and get the kind of the runs"
        }
        Category::OutputPathNotSatisfied => {
            "correct the path in outputs of the template; the run is then read again"
        }
        Category::NameConflict => {
            "use metadata.generateName in the template, or delete the object that has the name"
        }
        Category::RunawayDetected => {
            "let the template read only fields that its runs do not change"
        }
        Category::OtherController => "stop the other controller that writes this status",
        Category::Suspended => "resume it when the run may be made: `cartouche resume`",
        Category::UnknownError => "do what the message says; it is tried again by itself",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};

    use super::{Category, Condition, advice};

    #[test]
    fn every_category_has_an_advice_of_its_own() {
        let about = |category: Category| {
            advice(&Condition {
                type_: "RunTemplateReady".to_owned(),
                status: "False".to_owned(),
                reason: category.to_string(),
                message: String::new(),
                last_transition_time: Time(Timestamp::UNIX_EPOCH),
                observed_generation: None,
            })
        };
        let advices: BTreeSet<&str> = Category::ALL.into_iter().map(about).collect();
        assert_eq!(advices.len(), Category::ALL.len());
    }
}
