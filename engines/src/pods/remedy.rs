//! Remedies for reports about a run and its pods. They are chosen by the words that the modules beside this one
//! compose, so that a container's own words can only choose among these sentences.

use super::{
    CANNOT_BE_PULLED, CANNOT_BE_SCHEDULED, CANNOT_BE_STARTED, FOR_EVER, MAY_BE_PROBE,
    NO_CONTAINERS, STILL_RUNS, TOO_LITTLE,
    ended::{NOT_EXECUTABLE, NOT_FOUND, SIGKILL, SIGTERM},
    no_pod,
    said::of_last,
};

const IMAGE: &str = "correct the image in the template or in what gives it, which makes a new run (`cartouche cancel` ends this one before), or let the nodes pull it (its registry, imagePullSecrets)";
const NEVER_PULLED: &str = "put the image on the nodes, or correct it, or imagePullPolicy, in the template: the run continues by itself once the image is on the node";
const CONFIGURATION: &str = "create what is named, or correct its name or key in the template: the run continues by itself once it exists";
const USER: &str = "set securityContext.runAsUser to another user than root in the template, use an image of another user, or remove runAsNonRoot";
const CLAIM: &str = "create that PersistentVolumeClaim, or correct its name in the template: the run continues by itself once it exists";
const SCHEDULING: &str = "make room on a node that fits, or correct what the pod asks for in the template (resources, nodeSelector, affinity, tolerations, volumes)";
const MEMORY: &str =
    "raise resources.limits.memory of that container in the template, or let it use less";
const NEVER_BEGAN: &str = "correct the command in the template, or the image: the container never began, so it has no logs";
const WORDS: &str = "write the command in the template as a list of words, such as command: [sh, -c, \"make build\"]: without a shell nothing splits it";
const COMMAND: &str = "use an image that has the command, or correct its name or PATH in the script: `cartouche logs` shows which one it is";
const EXECUTABLE: &str = "give the file its right to be executed (chmod +x), or name its interpreter (sh FILE), and use an image for the architecture of the nodes: `cartouche logs` shows which one it is";
const KILLED: &str = "check whether it takes more memory than the node or its own limit has, fails a probe, or was stopped with its node (`kubectl describe pod`), and what `cartouche logs` shows last";
const LIMIT: &str = "write the memory limit of that container in the template in Mi or Gi, such as 512Mi: m is a thousandth of a byte, and no unit is bytes";
const TAKEN_AWAY: &str = "nothing is wrong with the run itself: run it again (`cartouche rerun`), or let spec.retry do that; requests for the memory and disk that it needs keep it on its node";
const VOLUMES: &str = "create the objects behind its volumes, with the keys that they name (a hostPath: on the node), and the run continues by itself; an image that is being pulled only needs time";
const ALWAYS: &str =
    "set restartPolicy: Never, or OnFailure, in the template; `cartouche cancel` ends this run";
const PROBE: &str = "check whether that probe fails (`kubectl describe pod`, `kubectl get events`), and correct it in the template, or remove it: a run that ends by itself needs none";
const INITIALIZING: &str = "create what that init container waits for, or correct it in the template; spec.timeout of the Runnable bounds how long";
const CRASHED: &str = "look at its logs (`cartouche logs`): its engine may start it again, and `cartouche cancel` ends it";
const SIDECAR: &str = "nothing, if that container has work of its own; one that only serves the other belongs in initContainers, with restartPolicy: Always (a native sidecar); or keep it out (for Istio the label sidecar.istio.io/inject: \"false\" on the pod template), or let the other one end it (for Istio POST /quitquitquit)";
const SUSPENDED: &str = "if no queue manages it, remove spec.suspend from the Job in the template";

/// Reasons for which a pod is removed, in the words of the kubelet and of the evicting component.
const DISRUPTIONS: [&str; 8] = [
    "DeletionByPodGC",
    "DeletionByTaintManager",
    "Evicted",
    "EvictionByEvictionAPI",
    "NodeShutdown",
    "PreemptionByScheduler",
    "Terminated",
    "TerminationByKubelet",
];

/// Returns the remedy for a report about an unfinished run, if it is known.
#[must_use]
pub fn remedy_at_work(said: &str) -> Option<&'static str> {
    // Its engine creates another pod.
    let said = of_last(said);
    if is_taken_away(said) {
        return None;
    }
    if said.starts_with("container ") && said.ends_with(STILL_RUNS) {
        return Some(SIDECAR);
    }
    if said.starts_with("init container ") {
        return Some(INITIALIZING);
    }
    if said.starts_with("container ")
        && said.ends_with(&format!("restartPolicy: Always {FOR_EVER}"))
    {
        // A container that is restarted is stopped as often.
        let cure = remedy(said).filter(|cure| *cure != KILLED);
        return cure.or(Some(ALWAYS));
    }
    if of_pod(said).is_some_and(|it| it.starts_with(NO_CONTAINERS)) {
        return Some(VOLUMES);
    }
    if let Some(cure) = no_pod::cure(said) {
        return Some(cure);
    }
    let has_crashed = said.starts_with("container ") && said.contains(" exited ");
    remedy(said).or_else(|| has_crashed.then_some(CRASHED))
}

/// Returns true for a report that a container cannot begin with its memory limit. Events of its pod only report
/// the consequences.
#[must_use]
pub fn is_of_memory_limit(said: &str) -> bool {
    let of_container = of_last(said).strip_prefix("container ");
    // Names have no blanks, so no container can forge this.
    let how = of_container.and_then(|it| it.splitn(5, ' ').nth(4));
    how.is_some_and(|how| how.starts_with(TOO_LITTLE))
}

/// Returns the remedy for a report about a run, if it is known.
#[must_use]
pub fn remedy(said: &str) -> Option<&'static str> {
    // In the words of the engine.
    if said == "Job suspended" || said.starts_with("it is queued (spec.suspend is true") {
        return Some(SUSPENDED);
    }
    if let Some((_, why)) = said.split_once(CANNOT_BE_STARTED) {
        return of_start(why);
    }
    if said.starts_with("pod ") && said.contains(CANNOT_BE_SCHEDULED) {
        let lacks_claim = said.contains("persistentvolumeclaim \"") && said.contains(" not found");
        return Some(if lacks_claim { CLAIM } else { SCHEDULING });
    }
    if is_taken_away(said) {
        return Some(TAKEN_AWAY);
    }
    if is_of_memory_limit(said) {
        return Some(LIMIT);
    }
    let (_, how) = said.split_once(" exited ")?;
    let reason = how.trim_start_matches(|c: char| c.is_ascii_digit());
    of_end(reason.strip_prefix(" (")?)
}

/// Returns the remedy for a container that ended for this reason, which is in brackets.
fn of_end(reason: &str) -> Option<&'static str> {
    let begins = [
        ("StartError; ", WORDS),
        ("ContainerCannotRun; ", WORDS),
        ("StartError)", NEVER_BEGAN),
        ("ContainerCannotRun)", NEVER_BEGAN),
        (MAY_BE_PROBE, PROBE),
        ("OOMKilled)", MEMORY),
    ];
    let whole = [
        (NOT_FOUND, COMMAND),
        (NOT_EXECUTABLE, EXECUTABLE),
        (SIGKILL, KILLED),
        (SIGTERM, KILLED),
    ];
    let begun = begins.iter().find(|(begin, _)| reason.starts_with(begin));
    begun.map(|(_, cure)| *cure).or_else(|| {
        let (inner, _) = reason.split_once(')')?;
        Some(whole.iter().find(|(whole, _)| inner == *whole)?.1)
    })
}

/// Returns the words about a pod as a whole. Its name has no blanks, so no container can forge this.
fn of_pod(said: &str) -> Option<&str> {
    Some(said.strip_prefix("pod ")?.split_once(' ')?.1)
}

/// Returns true if the cluster made a pod fail as a whole. Its name has no blanks, so no container can forge this.
fn is_taken_away(said: &str) -> bool {
    let pod = said.strip_prefix("pod ");
    let pod = pod.or_else(|| Some(said.split_once("): pod ")?.1));
    let how = pod.and_then(|pod| pod.split_once(' ')?.1.strip_prefix("failed ("));
    let reason = how.and_then(|how| Some(how.split_once(')')?.0));
    reason.is_some_and(is_disruption)
}

/// Returns true if this reason means that a pod was removed, in the words of the kubelet and of the evicting
/// component.
pub(super) fn is_disruption(reason: &str) -> bool {
    DISRUPTIONS.contains(&reason)
}

/// Returns the remedy for a container that cannot be started.
fn of_start(why: &str) -> Option<&'static str> {
    if why.ends_with(CANNOT_BE_PULLED) || why.starts_with(" (InvalidImageName)") {
        return Some(IMAGE);
    }
    if why.starts_with(" (ErrImageNeverPull)") {
        return Some(NEVER_PULLED);
    }
    let of_configuration = why.strip_prefix(" (CreateContainerConfigError)")?;
    // In the words of the kubelet: "container's runAsUser breaks non-root policy", "container has runAsNonRoot and
    // image will run as root".
    let is_of_user = ["non-root policy", "runAsNonRoot"]
        .iter()
        .any(|part| of_configuration.contains(part));
    Some(if is_of_user { USER } else { CONFIGURATION })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::pods::PodsWords;

    fn of(status: &Value) -> Option<&'static str> {
        let mut words = PodsWords::default();
        words.hear(&json!({ "metadata": { "name": "x" }, "status": status }));
        remedy(&words.hindrance().unwrap())
    }

    fn container(state: &Value) -> Value {
        json!({ "containerStatuses": [{ "name": "main", "image": "i", "state": state }] })
    }

    #[test]
    fn what_keeps_a_pod_from_running_says_what_to_do() {
        let waits = |reason: &str| {
            let waiting =
                json!({ "reason": reason, "message": "configmap \"settings\" not found" });
            of(&container(&json!({ "waiting": waiting })))
        };
        assert_eq!(waits("ErrImagePull"), Some(IMAGE));
        assert_eq!(waits("InvalidImageName"), Some(IMAGE));
        assert_eq!(waits("ErrImageNeverPull"), Some(NEVER_PULLED));
        assert_eq!(waits("CreateContainerConfigError"), Some(CONFIGURATION));
        assert_eq!(waits("RunContainerError"), None);
        let root = "container has runAsNonRoot and image will run as root (pod: \"x\")";
        let waiting = json!({ "reason": "CreateContainerConfigError", "message": root });
        assert_eq!(of(&container(&json!({ "waiting": waiting }))), Some(USER));
        let scheduled = json!({ "type": "PodScheduled", "status": "False", "message": "no room" });
        assert_eq!(of(&json!({ "conditions": [scheduled] })), Some(SCHEDULING));
        let claim = "persistentvolumeclaim \"cache\" not found.";
        let scheduled = json!({ "type": "PodScheduled", "status": "False", "message": claim });
        assert_eq!(of(&json!({ "conditions": [scheduled] })), Some(CLAIM));
    }

    #[test]
    fn a_container_that_ran_out_of_memory_needs_more_of_it() {
        let ended = |reason: &str, message: &str| {
            let ended = json!({ "exitCode": 137, "reason": reason, "message": message });
            of(&container(&json!({ "terminated": ended })))
        };
        assert_eq!(ended("OOMKilled", ""), Some(MEMORY));
        assert_eq!(ended("OOMKilled", "so it was"), Some(MEMORY));
        assert_eq!(ended("Error", "(OOMKilled)"), Some(KILLED));
        let gone = "exec: \"/nope\": stat /nope: no such file or directory";
        assert_eq!(ended("StartError", gone), Some(NEVER_BEGAN));
    }

    #[test]
    fn exit_codes_with_a_meaning_have_a_cure() {
        let ended = |code: i64| {
            let ended = json!({ "exitCode": code, "reason": "Error", "message": "(OOMKilled)" });
            of(&container(&json!({ "terminated": ended })))
        };
        assert_eq!(ended(127), Some(COMMAND));
        assert_eq!(ended(126), Some(EXECUTABLE));
        assert_eq!(ended(137), Some(KILLED));
        assert_eq!(ended(143), Some(KILLED));
        assert_eq!(ended(1), None);
    }

    #[test]
    fn a_command_that_is_one_word_with_blanks_is_to_be_a_list() {
        let ended = |command: &str| {
            let message = format!(
                "runc create failed: exec: \"{command}\": executable file not found in $PATH"
            );
            let ended = json!({ "exitCode": 128, "reason": "StartError", "message": message });
            of(&container(&json!({ "terminated": ended })))
        };
        assert_eq!(ended("sh -c make"), Some(WORDS));
        assert_eq!(ended("make"), Some(NEVER_BEGAN));
        // With another reason, the words are the container's own.
        let message = "exec: \"a b\": not found";
        let ended = json!({ "exitCode": 137, "reason": "OOMKilled", "message": message });
        assert_eq!(
            of(&container(&json!({ "terminated": ended }))),
            Some(MEMORY)
        );
    }

    #[test]
    fn nothing_is_wrong_with_a_run_whose_pod_was_taken_away() {
        let status = json!({ "phase": "Failed", "reason": "Evicted", "message": "low on memory" });
        assert_eq!(of(&status), Some(TAKEN_AWAY));
        let said = "Job failed (BackoffLimitExceeded): pod x failed (Evicted): low on memory; the Job says: no";
        assert_eq!(remedy(said), Some(TAKEN_AWAY));
        let late = json!({ "phase": "Failed", "reason": "DeadlineExceeded", "message": "late" });
        assert_eq!(of(&late), None);
        let burned = "Job failed (X): container a of pod b exited 1: pod x failed (Evicted)";
        assert_eq!(remedy(burned), None);
    }

    #[test]
    fn a_container_that_fails_while_the_run_goes_on_is_to_be_looked_at() {
        let said = "container a of pod b exited 12: sh: psql: not found";
        assert_eq!(remedy_at_work(said), Some(CRASHED));
        assert_eq!(remedy(said), None);
        let memory = "container a of pod b exited 137 (OOMKilled)";
        assert_eq!(remedy_at_work(memory), Some(MEMORY));
        let again = format!("{memory}; restartPolicy: Always {FOR_EVER}");
        assert_eq!(remedy_at_work(&again), Some(MEMORY));
        let again = format!("{said}; restartPolicy: Always {FOR_EVER}");
        assert_eq!(remedy_at_work(&again), Some(ALWAYS));
        let stopped = format!("container a of pod b exited 143 ({SIGTERM})");
        assert_eq!(remedy_at_work(&stopped), Some(KILLED));
        let again = format!("{stopped}; restartPolicy: Always {FOR_EVER}");
        assert_eq!(remedy_at_work(&again), Some(ALWAYS));
        assert_eq!(remedy_at_work("it exited well"), None);
        assert_eq!(
            remedy_at_work("pod x failed (Evicted): low on memory"),
            None
        );
    }

    #[test]
    fn a_suspended_job_is_told_apart_from_what_others_say() {
        assert_eq!(remedy("Job suspended"), Some(SUSPENDED));
        let queued = "it is queued (spec.suspend is true); its timeout does not run";
        assert_eq!(remedy(queued), Some(SUSPENDED));
        assert_eq!(remedy("it burned"), None);
        assert_eq!(remedy(""), None);
    }
}
