//! Requests that stop runs.

use cartouche_crds::StopMethod;
use cartouche_engines::kinds::{Standing, StopRequest};

use super::Policy;
use crate::messages::diagnosis::Fault;

pub(super) fn parse(method: Option<&StopMethod>, faults: &mut Vec<Fault>) -> Option<StopRequest> {
    let request = StopRequest::of_method(method?);
    request
        .map_err(|error| {
            let what = format!("the template's spec.stop {error}");
            let cure = "give it delete: {}, or a mergePatch with those fields of spec, and their values, that stop a run";
            faults.push(Fault::new(what, Some(cure.to_owned())));
        })
        .ok()
}

impl Policy {
    /// Returns the request that stops a run of this `apiVersion` and kind: the template's, if it makes runs of this
    /// kind, else that of the kind; `None` if there is neither. `literal` is the kind that the template makes.
    /// Without it a tag decides the kind, and the template's request applies to its runs of every kind.
    #[must_use]
    pub fn way_to_stop(
        &self,
        run: (&str, &str),
        literal: Option<(&str, &str)>,
    ) -> Option<StopRequest> {
        let given = self.given_way(run, literal);
        given.or_else(|| StopRequest::of_kind(run.0, run.1))
    }

    /// Returns the request for a run with this standing. A run that does not heed its stop is deleted: the template
    /// takes precedence over the request of the kind, but nothing acts on a patch of a run that a queue holds.
    #[must_use]
    pub fn way_to_stop_now(
        &self,
        run: (&str, &str),
        literal: Option<(&str, &str)>,
        standing: Standing,
    ) -> Option<StopRequest> {
        let given = self.given_way(run, literal);
        let of_kind = StopRequest::of_kind(run.0, run.1);
        // A template that repeats the request of the kind adds nothing that the run would heed.
        let is_known = given.is_some() && given != of_kind && !standing.is_queued();
        if !standing.heeds_stop && !is_known {
            return Some(StopRequest::Delete);
        }
        given.or(of_kind)
    }

    /// Returns the template's request, if it is meant for runs of this kind.
    fn given_way(
        &self,
        (api_version, kind): (&str, &str),
        literal: Option<(&str, &str)>,
    ) -> Option<StopRequest> {
        let is_meant = literal.is_none_or(|(its_version, its_kind)| {
            its_kind == kind && group(its_version) == group(api_version)
        });
        self.stop.clone().filter(|_| is_meant)
    }
}

/// Returns the group of an `apiVersion`. An object is the same in every version of its group.
fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}
