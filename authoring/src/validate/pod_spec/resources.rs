//! Requests and limits of containers.

use cartouche_language::suggestion;

use super::{Part, PodFault, quantity};

/// Resources whose names have no domain.
const KNOWN: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];
const HUGE_PAGES: &str = "hugepages-";
/// Least memory that a process can run in.
const LEAST_MEMORY: f64 = 1_048_576.0;
/// Fewest bytes of a request: a smaller one is meant in another unit.
const LEAST_BYTES: f64 = 4096.0;
/// More cores than any node has.
const MOST_CORES: f64 = 2048.0;
/// Tekton has them under another name since v1.
const FIELDS: [&str; 2] = ["resources", "computeResources"];

pub(super) fn check(container: &Part<'_>) -> Vec<PodFault> {
    let found = FIELDS.iter().find_map(|field| container.get(field));
    let Some(resources) = found else {
        return Vec::new();
    };
    let mut faults = Vec::new();
    for side in ["requests", "limits"] {
        let given = resources.get(side);
        for (name, amount) in given.iter().flat_map(Part::members) {
            faults.extend(unknown(name, &amount));
            let is_bound = (side, name) == ("limits", "memory");
            let least = if is_bound { LEAST_MEMORY } else { LEAST_BYTES };
            faults.extend(unlikely(name, &amount, least));
        }
    }
    faults.extend(above_limits(container, &resources));
    faults
}

fn unknown(name: &str, amount: &Part<'_>) -> Option<PodFault> {
    let is_known = KNOWN.contains(&name) || name.starts_with(HUGE_PAGES) || name.contains('/');
    if is_known || name.contains("$(") {
        return None;
    }
    let help = match name.to_lowercase().as_str() {
        "gpu" | "gpus" => "write the name of its vendor: nvidia.com/gpu, under limits".to_owned(),
        "mem" | "ram" => "did you mean 'memory'?".to_owned(),
        "cores" | "cpus" => "did you mean 'cpu'?".to_owned(),
        "disk" | "storage" => "did you mean 'ephemeral-storage'?".to_owned(),
        _ => suggestion::hint(name, "there are", KNOWN).unwrap_or_default(),
    };
    let message = format!("there is no resource '{name}' of containers");
    Some(PodFault::refused(
        amount,
        message,
        "the API server refuses this",
        help,
    ))
}

/// Finds amounts that no author means.
fn unlikely(name: &str, amount: &Part<'_>, least: f64) -> Option<PodFault> {
    let quantity = quantity::read(amount.value)?;
    let value = quantity.amount();
    let (number, written) = (quantity.number, format_amount(amount));
    match name {
        "memory" | "ephemeral-storage" if value > 0.0 && value < least => {
            let message = format!("{name} {written} is less than any container needs");
            let label = match quantity.suffix {
                "m" => "m is a thousandth of a byte",
                _ => "this is a number of bytes",
            };
            Some(PodFault::surprise(
                amount,
                message,
                label,
                format!("write {number}Mi for MiB, or {number}Gi for GiB"),
            ))
        }
        "cpu" if value >= MOST_CORES => {
            let message = format!("cpu {written} is {value} cores, which no node has");
            let help = format!("write {number}m for thousandths of a core");
            Some(PodFault::surprise(
                amount,
                message,
                "this is a number of cores",
                help,
            ))
        }
        _ => None,
    }
}

fn above_limits(container: &Part<'_>, resources: &Part<'_>) -> Vec<PodFault> {
    let (Some(requests), Some(limits)) = (resources.get("requests"), resources.get("limits"))
    else {
        return Vec::new();
    };
    let mut faults = Vec::new();
    for (name, request) in requests.members() {
        let Some(limit) = limits.get(name) else {
            continue;
        };
        let (Some(asked), Some(most)) =
            (quantity::read(request.value), quantity::read(limit.value))
        else {
            continue;
        };
        if asked.is_more_than(&most) {
            let (asked, most) = (format_amount(&request), format_amount(&limit));
            let message = format!(
                "{} requests {asked} of {name}, and its limit is {most}: the API server refuses this",
                container.container()
            );
            let help = format!(
                "lower the request to {most} at most, or raise the limit to {asked} at least"
            );
            let label = "this is more than the limit";
            faults.push(PodFault::refused(&request, message, label, help).with(&limit));
        }
    }
    faults
}

fn format_amount(amount: &Part<'_>) -> String {
    match amount.value.as_str() {
        Some(text) => text.to_owned(),
        None => amount.value.to_string(),
    }
}
