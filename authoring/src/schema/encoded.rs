//! Texts that Kubernetes reads as something else: base64, and quantities. The formats are those of Kubernetes' own
//! schemas, not those that a template declares for its inputs.

use cartouche_language::matches_pattern;

use super::Schema;

/// Format of a quantity in the bundled schemas. `OpenAPI` has no name for it.
pub(super) const QUANTITY: &str = "quantity";

const AS_QUANTITY: &str = r"^[+-]?(\d+(\.\d*)?|\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?$";

/// Returns the fault and the cure of a text that does not have the format of its schema.
pub(super) fn unreadable(schema: Schema<'_>, text: &str) -> Option<(String, String)> {
    match schema.text("format")? {
        "byte" if !is_base64(text) => Some((
            "is no base64".to_owned(),
            "encode it (base64 -w0); a Secret takes plain text under stringData".to_owned(),
        )),
        QUANTITY if !is_quantity(text) => Some((
            format!("is no quantity: {text:?}"),
            "write a number with the suffix m, k, M, G or T, or Ki, Mi, Gi or Ti: 500m, 2Gi"
                .to_owned(),
        )),
        _ => None,
    }
}

fn is_quantity(text: &str) -> bool {
    matches_pattern(text, AS_QUANTITY) != Some(false)
}

/// Returns true for base64. Line breaks do not matter.
fn is_base64(text: &str) -> bool {
    let bytes: Vec<u8> = text.bytes().filter(|it| !b"\r\n".contains(it)).collect();
    let padding = bytes.iter().rev().take_while(|it| **it == b'=').count();
    let is_digit = |it: &u8| it.is_ascii_alphanumeric() || b"+/".contains(it);
    let digits = bytes.get(..bytes.len() - padding).unwrap_or_default();
    bytes.len().is_multiple_of(4) && padding <= 2 && digits.iter().all(is_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_a_number_and_one_suffix() {
        for text in [
            "1", "0.5", "500m", "2Gi", "1e3", "1E", "-1", ".5", "5.", "100k",
        ] {
            assert!(is_quantity(text), "{text}");
        }
        for text in [
            "", "2Gb", "2GB", "2 Gi", "Gi", "1.2.3", "500mb", "1K", "2gi",
        ] {
            assert!(!is_quantity(text), "{text}");
        }
    }

    #[test]
    fn base64_has_digits_of_it_and_is_filled_up() {
        for text in ["", "YQ==", "YWI=", "YWJj", "YW\nJj\n", "+/+/"] {
            assert!(is_base64(text), "{text}");
        }
        for text in ["hello world!", "YQ", "YQ=", "Y===", "YQ==YQ==", "a_-b"] {
            assert!(!is_base64(text), "{text}");
        }
    }
}
