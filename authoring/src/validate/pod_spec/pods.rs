//! The pods of runs, wherever their kinds have them.

use std::collections::BTreeSet;

use cartouche_engines::{
    CONTAINER_LISTS,
    kinds::{PodPlace, pod_place},
};
use serde_json::Value;

use super::Part;

/// A pod, as far as an object describes it.
pub(super) struct Pod<'a> {
    /// Its spec, if it is written as Kubernetes writes it.
    pub(super) spec: Option<Part<'a>>,
    pub(super) containers: Vec<Part<'a>>,
    pub(super) volumes: Vec<Part<'a>>,
    /// Names of volumes that it has beside these.
    pub(super) other_volumes: Vec<&'a str>,
    /// True if it may have more volumes than these.
    pub(super) is_open: bool,
    /// True if names of containers are unique within each of their lists alone.
    pub(super) has_names_by_list: bool,
}

impl<'a> Pod<'a> {
    fn of_spec(spec: Part<'a>) -> Self {
        let lists = CONTAINER_LISTS.iter();
        Self {
            containers: lists.flat_map(|list| spec.items(list)).collect(),
            volumes: spec.items("volumes"),
            other_volumes: Vec::new(),
            is_open: is_unread(&spec, "volumes"),
            has_names_by_list: false,
            spec: Some(spec),
        }
    }

    /// Returns the names of its volumes, or `None` if they are not all known.
    pub(super) fn volume_names(&self) -> Option<BTreeSet<&'a str>> {
        let names = self.volumes.iter().map(Part::name);
        let names: Option<BTreeSet<&str>> = names.collect();
        let mut names = names.filter(|_| !self.is_open)?;
        names.extend(&self.other_volumes);
        Some(names)
    }
}

/// Returns true if the value at a key is no list.
fn is_unread(part: &Part<'_>, key: &str) -> bool {
    let value = part.value.get(key);
    value.is_some_and(|value| !value.is_array() && !value.is_null())
}

pub(super) fn of_run(run: &Value) -> Vec<Pod<'_>> {
    let root = Part::root(run);
    let (Some(api_version), Some(kind)) = (root.text_of("apiVersion"), root.text_of("kind")) else {
        return Vec::new();
    };
    match pod_place(api_version, kind) {
        Some(PodPlace::Spec(path)) => {
            let mut pods: Vec<Pod<'_>> = root.follow(path).map(Pod::of_spec).into_iter().collect();
            for pod in &mut pods {
                pod.other_volumes = claims(&root);
            }
            pods
        }
        Some(PodPlace::TaskRun) => task_run(&root),
        Some(PodPlace::PipelineRun) => pipeline_run(&root),
        Some(PodPlace::Workflow) => workflow(&root),
        None => Vec::new(),
    }
}

/// Returns the pod that a profile merges into those of runs.
pub(super) fn of_profile(profile: &Value) -> Option<Pod<'_>> {
    let path = ["spec", "podTemplate", "spec"];
    Part::root(profile).follow(&path).map(Pod::of_spec)
}

fn task_run<'a>(root: &Part<'a>) -> Vec<Pod<'a>> {
    let pod_template = root.follow(&["spec", "podTemplate"]);
    let task = root.follow(&["spec", "taskSpec"]);
    task.iter()
        .map(|it| of_task(it, pod_template.as_ref()))
        .collect()
}

fn pipeline_run<'a>(root: &Part<'a>) -> Vec<Pod<'a>> {
    let Some(spec) = root.get("spec") else {
        return Vec::new();
    };
    let paths: [&[&str]; 2] = [&["podTemplate"], &["taskRunTemplate", "podTemplate"]];
    let pod_template = paths.iter().find_map(|path| spec.follow(path));
    let is_open = spec.get("taskRunSpecs").is_some();
    let pipeline = spec.get("pipelineSpec");
    let tasks = pipeline.iter().flat_map(|pipeline| {
        let lists = ["tasks", "finally"].into_iter();
        lists
            .flat_map(|list| pipeline.items(list))
            .collect::<Vec<_>>()
    });
    let specs = tasks.filter_map(|task| task.get("taskSpec"));
    let pods = specs.map(|task| of_task(&task, pod_template.as_ref()));
    pods.map(|pod| Pod {
        is_open: pod.is_open || is_open,
        ..pod
    })
    .collect()
}

fn of_task<'a>(task: &Part<'a>, pod_template: Option<&Part<'a>>) -> Pod<'a> {
    let lists = ["steps", "sidecars"].into_iter();
    let mut volumes = task.items("volumes");
    volumes.extend(pod_template.iter().flat_map(|it| it.items("volumes")));
    Pod {
        spec: None,
        containers: lists.flat_map(|list| task.items(list)).collect(),
        volumes,
        other_volumes: Vec::new(),
        is_open: is_unread(task, "volumes")
            || pod_template.is_some_and(|it| is_unread(it, "volumes")),
        has_names_by_list: true,
    }
}

/// Returns the names of volumes whose claims are made with an object.
fn claims<'a>(root: &Part<'a>) -> Vec<&'a str> {
    let spec = root.get("spec");
    let claims = spec.iter().flat_map(|it| it.items("volumeClaimTemplates"));
    claims.filter_map(|it| it.get("metadata")?.name()).collect()
}

fn workflow<'a>(root: &Part<'a>) -> Vec<Pod<'a>> {
    let Some(spec) = root.get("spec") else {
        return Vec::new();
    };
    let claims = claims(root);
    let merged = ["workflowTemplateRef", "templateDefaults", "podSpecPatch"];
    let is_open = is_unread(&spec, "volumes") || merged.iter().any(|key| spec.get(key).is_some());
    let of_template = |template: Part<'a>| {
        let single = ["container", "script"].into_iter();
        let mut containers: Vec<Part<'_>> = single.filter_map(|key| template.get(key)).collect();
        let lists = ["initContainers", "sidecars"].into_iter();
        containers.extend(lists.flat_map(|list| template.items(list)));
        let set = template.get("containerSet");
        containers.extend(set.iter().flat_map(|set| set.items("containers")));
        let mut volumes = template.items("volumes");
        // A volume of the template hides that of the workflow.
        let own: BTreeSet<&str> = volumes.iter().filter_map(Part::name).collect();
        let outer = spec.items("volumes").into_iter();
        volumes.extend(outer.filter(|it| it.name().is_none_or(|name| !own.contains(name))));
        Pod {
            spec: None,
            containers,
            volumes,
            other_volumes: claims.clone(),
            is_open: is_open
                || is_unread(&template, "volumes")
                || template.get("podSpecPatch").is_some(),
            has_names_by_list: false,
        }
    };
    spec.items("templates")
        .into_iter()
        .map(of_template)
        .collect()
}
