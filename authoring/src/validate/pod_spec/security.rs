//! Security contexts that contradict themselves.

use serde_json::Value;

use super::{Part, Pod, PodFault};

const CONTEXT: &str = "securityContext";

pub(super) fn check(pod: &Pod<'_>) -> Vec<PodFault> {
    let of_pod = pod.spec.as_ref().and_then(|spec| spec.get(CONTEXT));
    let mut faults: Vec<PodFault> = Vec::new();
    for container in &pod.containers {
        let own = container.get(CONTEXT);
        let fault = as_root(container, own.as_ref(), of_pod.as_ref());
        // The pod's context is reported once.
        faults.extend(fault.filter(|fault| !faults.iter().any(|known| known.at == fault.at)));
        faults.extend(own.as_ref().and_then(|own| escalation(container, own)));
    }
    if pod.containers.is_empty() {
        faults.extend(of_pod.and_then(|context| as_root(&context, Some(&context), None)));
    }
    faults
}

/// Returns the value in the context of the container, or else in that of the pod.
fn asked<'a>(key: &str, own: Option<&Part<'a>>, of_pod: Option<&Part<'a>>) -> Option<Part<'a>> {
    let get = |context: Option<&Part<'a>>| {
        let part = context?.get(key)?;
        Some(part).filter(|part| !part.value.is_null())
    };
    get(own).or_else(|| get(of_pod))
}

fn as_root(
    container: &Part<'_>,
    own: Option<&Part<'_>>,
    of_pod: Option<&Part<'_>>,
) -> Option<PodFault> {
    let non_root = asked("runAsNonRoot", own, of_pod)?;
    let user = asked("runAsUser", own, of_pod)?;
    if *non_root.value != Value::Bool(true) || user.value.as_i64() != Some(0) {
        return None;
    }
    let whose = container.container();
    let message = format!(
        "{whose} would run as user 0, which is root, and runAsNonRoot forbids that: it never starts"
    );
    let help = "give runAsUser another number, such as 1000, or remove runAsNonRoot";
    let fault = PodFault::refused(&user, message, "this is root", help.to_owned());
    Some(fault.with(&non_root))
}

fn escalation(container: &Part<'_>, own: &Part<'_>) -> Option<PodFault> {
    let is = |key: &str, wanted: bool| own.value.get(key) == Some(&Value::Bool(wanted));
    if !is("privileged", true) || !is("allowPrivilegeEscalation", false) {
        return None;
    }
    let message = format!(
        "{} is privileged, and allowPrivilegeEscalation is false: the API server refuses both together",
        container.container()
    );
    let help = "remove one of the two: without privileged it is the safer one";
    let place = own.or_self("allowPrivilegeEscalation");
    Some(PodFault::refused(
        &place,
        message,
        "this contradicts privileged",
        help.to_owned(),
    ))
}
