//! Objects of a newer release: those that this release leaves alone, and those that it makes no run
//! of.

use cartouche_crds::{RunnableSpec, RunnableStatus};

use crate::{
    category::Category,
    compiled::Compiled,
    messages::{
        diagnosis::Diagnosis,
        reconcile_error::{ReconcileError, Requeue},
    },
    profiles::KnownProfile,
};

/// The words in `needs` of a status that this release implements.
const KNOWN_NEEDS: [&str; 0] = [];

/// Returns an error if a status with these words is of a newer release. The controller then leaves
/// its Runnable alone: it makes, stops and deletes no run, writes nothing, and sends no request as
/// its `ServiceAccount`.
pub fn known_needs(needs: &[String]) -> Result<(), ReconcileError> {
    let unknown = needs.iter().filter(|word| !KNOWN_NEEDS.contains(&&***word));
    let unknown: Vec<String> = unknown.cloned().collect();
    if unknown.is_empty() {
        return Ok(());
    }
    Err(newer(Diagnosis::NewerNeeds(unknown)))
}

/// Returns the same error for a whole status, or `None` if there is no status or no error.
#[must_use]
pub fn leaves_alone(status: Option<&RunnableStatus>) -> Option<ReconcileError> {
    known_needs(&status?.needs).err()
}

/// Returns an error unless all fields of a Runnable and of its template are known. With unknown
/// fields no run is made, and existing runs are followed.
///
/// Their outputs are taken and written to sinks as well. They come from the output paths of the
/// template and go to the sinks of the Runnable, which are known fields, and the API server refuses
/// what the account may not write. A release whose new field restricts outputs writes its word into
/// `needs`, and then nothing is taken.
pub fn known_fields(runnable: &RunnableSpec, template: &Compiled) -> Result<(), ReconcileError> {
    of_fields(|| "the Runnable".to_owned(), &runnable.unknown_fields)?;
    known_template(template)
}

/// Returns the same for a template alone.
pub fn known_template(template: &Compiled) -> Result<(), ReconcileError> {
    let name = || format!("ClusterRunTemplate {:?}", template.name);
    of_fields(name, &template.unknown_fields)
}

/// Returns the same for the profile of the next run.
pub fn known_profile(profile: &KnownProfile) -> Result<(), ReconcileError> {
    let name = || format!("ClusterRunProfile {:?}", profile.version.name);
    of_fields(name, &profile.spec.unknown_fields)
}

fn of_fields(object: impl Fn() -> String, unknown: &[String]) -> Result<(), ReconcileError> {
    if unknown.is_empty() {
        return Ok(());
    }
    Err(newer(Diagnosis::NewerFields(object(), unknown.to_vec())))
}

fn newer(diagnosis: Diagnosis) -> ReconcileError {
    ReconcileError::from_diagnosis(Category::NewerRelease, Requeue::OnChange, diagnosis, None)
}

/// Returns the error for definitions that are older than this release: no run is made.
#[must_use]
pub fn outdated_error(why: &str, to_do: &str, requeue: Requeue) -> ReconcileError {
    let diagnosis = Diagnosis::DefinitionsOutdated(why.to_owned(), to_do.to_owned());
    ReconcileError::from_diagnosis(Category::DefinitionsOutdated, requeue, diagnosis, None)
}

#[cfg(test)]
mod tests {
    use cartouche_crds::ClusterRunTemplate;
    use serde_json::{Value, json};

    use super::*;

    fn template(field: &str) -> Compiled {
        let mut template = json!({
            "metadata": { "name": "t" },
            "spec": { "template": { "apiVersion": "v1", "kind": "Pod", "metadata": { "generateName": "r-" }, "any": 1 } },
        });
        template["spec"][field] = json!({});
        let template: ClusterRunTemplate = serde_json::from_value(template).unwrap();
        Compiled::new(&template)
    }

    fn runnable(spec: &Value) -> RunnableSpec {
        serde_json::from_value(spec.clone()).unwrap()
    }

    #[test]
    fn this_release_knows_no_need_and_leaves_alone_whatever_has_one() {
        let alone = |status: Value| leaves_alone(Some(&serde_json::from_value(status).unwrap()));
        for status in [
            json!({ "needs": ["clusters"] }),
            json!({ "needs": 5 }),
            json!({ "cluster": {} }),
            json!({ "needs": ["a", "b"], "conditions": [] }),
        ] {
            let error = alone(status.clone());
            assert_eq!(
                error.map(|it| it.category),
                Some(Category::NewerRelease),
                "{status}"
            );
        }
        assert_eq!(alone(json!({})), None);
        assert_eq!(alone(json!({ "needs": [] })), None);
        assert_eq!(leaves_alone(None), None);
    }

    #[test]
    fn a_field_of_a_newer_release_holds_a_run_and_is_named() {
        let plain = json!({ "runTemplateRef": { "name": "t" }, "inputs": { "a": { "b": 1 } } });
        let mut newer = plain.clone();
        newer["start"] = json!({ "at": "noon" });
        assert_eq!(known_fields(&runnable(&plain), &template("runner")), Ok(()));
        let error = known_fields(&runnable(&newer), &template("runner")).unwrap_err();
        assert_eq!(error.category, Category::NewerRelease);
        assert!(error.message.contains("start.at"), "{error}");
        let error = known_fields(&runnable(&plain), &template("cluster")).unwrap_err();
        assert!(
            error.message.contains("ClusterRunTemplate \"t\"") && error.message.contains("cluster"),
            "{error}"
        );
    }
}
