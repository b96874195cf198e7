//! What is wrong with profiles, whatever is made with them.

use super::{policy, shape};
use crate::{finding::Finding, objects::Objects, profile_file, schema::bundled, source::Document};

/// Everything that is wrong with each of the profiles by itself.
pub(crate) fn alone(objects: &Objects) -> Vec<Finding> {
    if objects.profiles.is_empty() {
        return Vec::new();
    }
    let schema = bundled::cluster_run_profile();
    let profiles = objects.profiles.iter();
    let found = profiles.flat_map(|document| {
        let shape = shape::check(document, &schema);
        policy::added_to(shape, compiled(document))
    });
    found.collect()
}

/// What cannot be used of a profile, as the controller says it.
fn compiled(document: &Document) -> Vec<Finding> {
    match profile_file::known(document).compiled {
        Ok(_) => Vec::new(),
        Err(problems) => {
            let problems = problems.iter();
            let found = problems.map(|problem| profile_file::problem_finding(document, problem));
            found.collect()
        }
    }
}
