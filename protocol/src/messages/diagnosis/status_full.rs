//! A status that has no room for a further run.

use cartouche_crds::{MAX_STATUS_BYTES, StatusBytes, short_message};

/// Maximum number of fields that are named: the largest.
const MOST_NAMED: usize = 3;
/// Longest name of an unknown field, in bytes.
const NAME_BYTES: usize = 64;

pub(super) fn sentence(bytes: &StatusBytes) -> String {
    let fields = bytes.fields.iter().take(MOST_NAMED);
    let fields = fields.map(|(name, bytes)| {
        let name = short_message(name);
        let end = name.floor_char_boundary(NAME_BYTES);
        format!("{} {}", &name[..end], kib(*bytes))
    });
    let fields: Vec<String> = fields.collect();
    format!(
        "the status takes {}; above {} the controller creates no further run, so that its result has room: {}",
        kib(bytes.all),
        kib(MAX_STATUS_BYTES),
        fields.join(", ")
    )
}

/// Formats bytes in KiB, rounded up.
fn kib(bytes: usize) -> String {
    format!("{} KiB", bytes.div_ceil(1024))
}
