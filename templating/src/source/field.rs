//! A field of an object, as an input. Pure.

use cartouche_language::{bounds::Work, path::Path};
use serde_json::Value;

use super::Room;

/// Reason for which a path yields no value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum NoValue {
    /// There is nothing at the path.
    #[error("it has nothing at {0}")]
    Absent(String),
    /// The text is no path, or does not lead to one value.
    #[error("{0}")]
    Unusable(String),
    /// The object, or the value, takes too much memory.
    #[error("{0}")]
    TooMuch(String),
}

/// Reader of fields of one object. The work to find them and their total size are bounded before anything is
/// copied.
#[derive(Debug)]
pub struct Fields<'a> {
    object: &'a Value,
    work: Work,
    room: Room,
}

impl<'a> Fields<'a> {
    /// Creates a reader for this object.
    #[must_use]
    pub fn new(object: &'a Value) -> Self {
        Self {
            object,
            work: Work::new(),
            room: Room::default(),
        }
    }

    /// Returns the one value at a path.
    pub fn read(&mut self, path: &str) -> Result<Value, NoValue> {
        let parsed = Path::parse(path).map_err(|error| NoValue::Unusable(error.to_string()))?;
        let found = parsed.evaluate(self.object, &mut self.work);
        let value = found.map_err(|error| {
            if error.finds_nothing() {
                NoValue::Absent(path.to_owned())
            } else {
                NoValue::Unusable(error.to_string())
            }
        })?;
        let fits = self.room.take_value(value);
        fits.map_err(|error| NoValue::TooMuch(error.to_string()))?;
        Ok(value.clone())
    }
}

/// Returns the problem of a text that is no path, or `None` for a path.
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
        let read = |path| Fields::new(&object).read(path);
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

    #[test]
    fn what_is_read_of_one_object_is_bounded_however_often_it_is_asked_for() {
        let object = json!({ "spec": { "a": { "b": vec![0; 6_000] } } });
        let mut fields = Fields::new(&object);
        let read = [".spec", ".spec.a", ".spec.a.b", ".spec.a.b[*]"].map(|path| fields.read(path));
        assert!(read[..3].iter().all(Result::is_ok));
        assert!(matches!(fields.read(".spec"), Err(NoValue::TooMuch(_))));
    }
}
