//! Fields with a few allowed words that the schemas of Kubernetes do not list.

use cartouche_language::suggestion;

use super::{Part, Pod, PodFault};

/// A field and its allowed values.
type AllowedValues = (&'static [&'static str], &'static [&'static str]);

/// Prefix of a medium with one size of pages.
const HUGE_PAGES: &str = "HugePages-";
const PROTOCOLS: &[&str] = &["TCP", "UDP", "SCTP"];
const OF_CONTAINER: [AllowedValues; 2] = [
    (&["imagePullPolicy"], &["Always", "IfNotPresent", "Never"]),
    (
        &["terminationMessagePolicy"],
        &["File", "FallbackToLogsOnError"],
    ),
];
const OF_POD: [AllowedValues; 3] = [
    (
        &["dnsPolicy"],
        &["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"],
    ),
    (&["preemptionPolicy"], &["PreemptLowerPriority", "Never"]),
    (&["os", "name"], &["linux", "windows"]),
];
/// The same of the elements of lists.
const OF_ELEMENTS: [(&str, AllowedValues); 4] = [
    (
        "tolerations",
        (&["operator"], &["Exists", "Equal", "Lt", "Gt"]),
    ),
    (
        "tolerations",
        (
            &["effect"],
            &["NoSchedule", "PreferNoSchedule", "NoExecute"],
        ),
    ),
    (
        "topologySpreadConstraints",
        (&["whenUnsatisfiable"], &["DoNotSchedule", "ScheduleAnyway"]),
    ),
    (
        "volumes",
        (&["emptyDir", "medium"], &["Memory", "HugePages"]),
    ),
];

pub(super) fn of_pod(pod: &Pod<'_>) -> Vec<PodFault> {
    let Some(spec) = &pod.spec else {
        return Vec::new();
    };
    let own = OF_POD
        .iter()
        .filter_map(|choice| refused(spec, "", *choice));
    let mut faults: Vec<PodFault> = own.collect();
    for (list, choice) in OF_ELEMENTS {
        let elements = spec.items(list);
        faults.extend(
            elements
                .iter()
                .filter_map(|element| refused(element, &format!("in {list}, "), choice)),
        );
    }
    faults.extend(spec.items("tolerations").iter().filter_map(with_value));
    faults
}

pub(super) fn of_container(container: &Part<'_>) -> Vec<PodFault> {
    let own = OF_CONTAINER
        .iter()
        .filter_map(|choice| refused(container, "", *choice));
    let ports = container.items("ports");
    let protocols = ports
        .iter()
        .filter_map(|port| refused(port, "in ports, ", (&["protocol"], PROTOCOLS)));
    own.chain(protocols).collect()
}

/// Finds a word that is not allowed in a part.
fn refused(part: &Part<'_>, of: &str, (path, allowed): AllowedValues) -> Option<PodFault> {
    let field = part.follow(path)?;
    let text = field
        .text()
        .filter(|text| !text.is_empty() && !allowed.contains(text))
        .filter(|text| !text.starts_with(HUGE_PAGES))?;
    let message = format!("{of}{} cannot be '{text}'", path.join("."));
    let help = suggestion::nearest(text, allowed.iter().copied()).map_or_else(
        || format!("write one of {}", allowed.join(", ")),
        |meant| format!("did you mean '{meant}'?"),
    );
    Some(PodFault::refused(&field, message, "no pod has this", help))
}

/// Finds a toleration of any value that names a value.
fn with_value(toleration: &Part<'_>) -> Option<PodFault> {
    let value = toleration
        .get("value")
        .filter(|it| !it.value.is_null() && it.value.as_str() != Some(""))?;
    (toleration.text_of("operator") == Some("Exists")).then(|| {
        let message = "a toleration with the operator Exists has no value".to_owned();
        let help = "remove value, or write operator: Equal".to_owned();
        PodFault::refused(&value, message, "the API server refuses this", help)
    })
}
