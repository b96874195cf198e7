//! Names of images that no registry can have.

use super::{Part, PodFault};

pub(super) fn check(container: &Part<'_>) -> Vec<PodFault> {
    let Some((image, text)) = container
        .get("image")
        .and_then(|it| Some((it.clone(), it.text()?)))
    else {
        return Vec::new();
    };
    let Some((why, help)) = wrong(text) else {
        return Vec::new();
    };
    let message = format!("'{text}' is not a valid image: {why}");
    vec![PodFault::refused(
        &image,
        message,
        "nothing can be pulled",
        help,
    )]
}

/// Returns the fault in the name of an image, and the name to write.
fn wrong(image: &str) -> Option<(&'static str, String)> {
    for scheme in ["https://", "http://", "docker://", "oci://"] {
        if let Some(rest) = image.strip_prefix(scheme) {
            return Some(("it must not be a URL", format!("remove {scheme}: {rest}")));
        }
    }
    if image.contains(char::is_whitespace) {
        let meant: String = image.split_whitespace().collect();
        return Some(("it has a blank", format!("write {meant}")));
    }
    if image.ends_with(':') {
        let help = format!("add the tag, such as {image}1.0, or remove the colon");
        return Some(("its tag is empty", help));
    }
    let path = path_of(image);
    let lower = path.to_lowercase();
    (lower != path).then(|| {
        // Case does not matter in the name of a registry.
        let end = image.find(path).unwrap_or_default() + path.len();
        let (name, tag) = image.split_at(end);
        let meant = name.to_lowercase() + tag;
        ("its path has upper-case letters", format!("write {meant}"))
    })
}

/// Returns true for a first part that names a registry: it has a dot, a port or upper-case letters, or is `localhost`.
fn is_registry(first: &str) -> bool {
    first.contains(['.', ':']) || first == "localhost" || first != first.to_lowercase()
}

/// Returns the part between the registry and the tag or the digest.
fn path_of(image: &str) -> &str {
    let name = image.split_once('@').map_or(image, |(name, _)| name);
    let path = match name.split_once('/') {
        Some((first, rest)) if is_registry(first) => rest,
        _ => name,
    };
    path.rsplit_once(':').map_or(path, |(path, _)| path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_images_are_told_from_what_is_none() {
        for image in [
            "busybox",
            "docker.io/library/busybox:1.37",
            "localhost:5000/a/b:V1",
            "EXAMPLE.com/a@sha256:0123456789ABCDEF",
            "a/b_c:1.0-Beta",
            "REGISTRY/app:1",
        ] {
            assert!(wrong(image).is_none(), "{image}");
        }
        for (image, help) in [
            ("https://ghcr.io/a/b:1", "remove https://: ghcr.io/a/b:1"),
            ("ghcr.io/Acme/App:1.0-RC", "write ghcr.io/acme/app:1.0-RC"),
            ("Acme/App:1.0-RC", "write acme/app:1.0-RC"),
            ("busybox :1", "write busybox:1"),
            ("a/b:", "add the tag, such as a/b:1.0, or remove the colon"),
        ] {
            assert_eq!(wrong(image).unwrap().1, help, "{image}");
        }
    }
}
