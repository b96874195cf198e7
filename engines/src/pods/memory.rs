//! Memory limits with which no container can begin.

use cartouche_language::object::text;
use serde_json::Value;

use super::{NAME_BYTES, Said, TOO_LITTLE, name, short};
use crate::run_reason::RunReason;

/// Bytes below which a limit was probably meant in another unit: no process needs so little.
const LEAST: f64 = 64.0 * 1024.0;

/// Returns a report if a container of a pod has a memory limit that is too small for any process.
pub(super) fn too_little(pod: &Value) -> Option<Said> {
    let lists = ["/spec/initContainers", "/spec/containers"];
    let all = lists
        .iter()
        .filter_map(|list| pod.pointer(list)?.as_array());
    all.flatten().find_map(|container| {
        let limit = container.pointer("/resources/limits/memory")?;
        let limit = limit
            .as_str()
            .map_or_else(|| limit.to_string(), str::to_owned);
        let hint = hint(&limit)?;
        let words = format!(
            "container {} of pod {} {TOO_LITTLE}{}: {hint}",
            short(text(container, "name"), NAME_BYTES),
            name(pod),
            short(&limit, NAME_BYTES)
        );
        Some(Said::new(words, RunReason::ContainerCreating))
    })
}

/// Returns the reason why a limit is too small. Only its author knows which unit was meant.
fn hint(limit: &str) -> Option<&'static str> {
    let parts = [
        ("m", 1e-3, "m is a thousandth of a byte"),
        ("u", 1e-6, "u is a millionth of a byte"),
        ("n", 1e-9, "n is a billionth of a byte"),
        ("", 1.0, "without a unit it is bytes"),
    ];
    let (suffix, factor, why) = parts.into_iter().find(|(it, ..)| limit.ends_with(it))?;
    let bytes = limit.strip_suffix(suffix)?.parse::<f64>().ok()? * factor;
    (bytes > 0.0 && bytes < LEAST).then_some(why)
}

#[cfg(test)]
mod tests {
    use super::hint;

    #[test]
    fn a_limit_in_the_wrong_unit_is_told_from_a_small_one() {
        for (limit, said) in [
            ("512m", "m is a thousandth of a byte"),
            ("512", "without a unit it is bytes"),
            ("1e3", "without a unit it is bytes"),
            ("1000000m", "m is a thousandth of a byte"),
            ("0.5m", "m is a thousandth of a byte"),
            ("5u", "u is a millionth of a byte"),
        ] {
            assert_eq!(hint(limit), Some(said), "{limit}");
        }
        for fine in [
            "4Mi",
            "16M",
            "1Gi",
            "512Ki",
            "1Ki",
            "1048576",
            "2097152000m",
            "65536",
            "1e9",
            "0",
            "-1",
            "lots",
            "",
        ] {
            assert_eq!(hint(fine), None, "{fine}");
        }
    }
}
