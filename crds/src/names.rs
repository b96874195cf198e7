//! Names on the wire: the group, the field manager, and valid names of objects.

/// The API group of all kinds.
pub const GROUP: &str = "carto.run";
/// The only version of the group: served and stored.
pub const VERSION: &str = "v1alpha1";
/// `GROUP/VERSION`, as in a manifest.
pub const API_VERSION: &str = "carto.run/v1alpha1";

/// The field manager of every write that Cartouche makes.
pub const FIELD_MANAGER: &str = "cartouche";

/// Returns true if the API server accepts this name for most objects, `ServiceAccounts` among them: a DNS
/// subdomain (RFC 1123).
#[must_use]
pub fn is_dns_subdomain(name: &str) -> bool {
    name.len() <= 253 && name.split('.').all(is_label)
}

/// Returns true if the API server accepts this name for a namespace: a DNS label (RFC 1123).
#[must_use]
pub fn is_dns_label(name: &str) -> bool {
    name.len() <= 63 && is_label(name)
}

/// Returns true if a `ConfigMap` or Secret can have this key, by the rule of Kubernetes (`IsConfigMapKey`): a
/// mounted key is the name of a file.
#[must_use]
pub fn is_config_map_key(key: &str) -> bool {
    let is_of_key = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let is_path = key == "." || key.starts_with("..");
    (1..=253).contains(&key.len()) && key.bytes().all(is_of_key) && !is_path
}

fn is_label(label: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_plain = !label.is_empty() && label.bytes().all(inner);
    is_plain && !label.starts_with('-') && !label.ends_with('-')
}
