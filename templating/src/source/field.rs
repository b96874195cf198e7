//! A field of an object, as an input. Pure.

use serde_json::Value;

use crate::{bounds::Work, path::Path};

/// Why a path gives no value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum NoValue {
    /// There is nothing where it leads.
    #[error("it has nothing at {0}")]
    Absent(String),
    /// It is no path, or does not lead to one value.
    #[error("{0}")]
    Unusable(String),
}

/// The one value at a path of an object.
pub fn read_field(object: &Value, path: &str) -> Result<Value, NoValue> {
    let parsed = Path::parse(path).map_err(|error| NoValue::Unusable(error.to_string()))?;
    let found = parsed.evaluate(object, &mut Work::new());
    found.cloned().map_err(|error| {
        if error.finds_nothing() {
            NoValue::Absent(path.to_owned())
        } else {
            NoValue::Unusable(error.to_string())
        }
    })
}

/// Why this is no path, if it is none.
#[must_use]
pub fn wrong_path(path: &str) -> Option<String> {
    Path::parse(path).err().map(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_leads_to_one_value_to_none_or_to_several() {
        let object = json!({ "status": { "a": null, "list": [{ "x": 1 }, { "x": 2 }] } });
        let read = |path| read_field(&object, path);
        assert_eq!(read(".status.list[1].x"), Ok(json!(2)));
        assert_eq!(read(".status.a"), Ok(json!(null)));
        assert_eq!(
            read(".status.b"),
            Err(NoValue::Absent(".status.b".to_owned()))
        );
        for path in [
            ".status.list[*].x",
            "..",
            ".status.list[",
            "",
            &"a".repeat(2000),
        ] {
            assert!(matches!(read(path), Err(NoValue::Unusable(_))), "{path}");
        }
    }
}
