//! The rights of files of volumes, which are octal numbers.

use super::{Part, Pod, PodFault};

/// The greatest: 0777.
const MOST: u64 = 0o777;
/// The sources of volumes that make files.
const OF_FILES: [&str; 4] = ["configMap", "downwardAPI", "projected", "secret"];

pub(super) fn check(pod: &Pod<'_>) -> Vec<PodFault> {
    let sources = pod.volumes.iter();
    let mut sources: Vec<Part<'_>> = sources.flat_map(of_files).collect();
    let projected = pod.volumes.iter().filter_map(|it| it.get("projected"));
    sources.extend(
        projected
            .flat_map(|it| it.items("sources"))
            .flat_map(|it| of_files(&it)),
    );
    let modes = sources.iter().flat_map(|source| {
        let items = source.items("items");
        let of_items = items.into_iter().filter_map(|it| it.get("mode"));
        source.get("defaultMode").into_iter().chain(of_items)
    });
    modes.filter_map(|mode| too_great(&mode)).collect()
}

fn of_files<'a>(of: &Part<'a>) -> Vec<Part<'a>> {
    OF_FILES
        .iter()
        .filter_map(|source| of.get(source))
        .collect()
}

fn too_great(mode: &Part<'_>) -> Option<PodFault> {
    let number = mode.value.as_u64().filter(|number| *number > MOST)?;
    let meant = u64::from_str_radix(&number.to_string(), 8);
    let help = match meant.ok().filter(|meant| *meant <= MOST) {
        Some(meant) => format!("write 0{number} in YAML, which is octal, or its decimal {meant}"),
        None => {
            "write an octal number in YAML, such as 0644, or its decimal, such as 420".to_owned()
        }
    };
    let message = format!(
        "{number} is read as a decimal number, and a file mode is at most {MOST} (octal 0777)"
    );
    Some(PodFault::refused(
        mode,
        message,
        "this is not a file mode",
        help,
    ))
}
