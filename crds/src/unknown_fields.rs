//! Fields that this release does not know: another release has written them, and reads them back unchanged.
//!
//! They are kept as the text that was read. A tree of values may take a hundred times the memory, and every
//! account that may write a status decides how large it is.

use std::{
    cmp::Ordering,
    fmt,
    hash::{Hash, Hasher},
};

use serde::{
    Deserializer, Serialize, Serializer,
    de::{DeserializeSeed, IntoDeserializer, MapAccess, SeqAccess, Visitor},
    forward_to_deserialize_any,
    ser::SerializeMap,
};
use serde_json::value::RawValue;

/// Maximum bytes of all unknown fields of a status, names and values. The rest is dropped.
pub const MAX_UNKNOWN_BYTES: usize = 64 * 1024;
/// Maximum nesting of objects and arrays in an unknown field. A deeper one is dropped.
const MAX_UNKNOWN_DEPTH: usize = 64;

/// The unknown fields of one object, in their order. Hardly any object has some.
///
/// Any two are equal: a difference is no reason to write a status, and irrelevant to every decision.
#[derive(Clone, Default)]
pub struct UnknownFields(Option<Box<KeptFields>>);

#[derive(Clone, Default)]
struct KeptFields {
    fields: Vec<(String, Box<RawValue>)>,
    /// Bytes of all names and values that were added.
    bytes: usize,
}

impl UnknownFields {
    /// Returns true if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Iterates over the names, each with its value as JSON.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let fields = self.0.iter().flat_map(|it| &it.fields);
        fields.map(|(name, value)| (name.as_str(), value.get()))
    }

    /// Keeps the first fields that fit into the room, and subtracts their bytes from it.
    pub(crate) fn fit(&mut self, room: &mut usize) {
        self.retain(
            |name, value| match room.checked_sub(name.len() + value.len()) {
                Some(left) => {
                    *room = left;
                    true
                }
                None => false,
            },
        );
    }

    /// Keeps the fields for which the predicate is true.
    pub(crate) fn retain(&mut self, mut keeps: impl FnMut(&str, &str) -> bool) {
        if let Some(it) = &mut self.0 {
            it.fields.retain(|(name, value)| keeps(name, value.get()));
            if it.fields.is_empty() {
                self.0 = None;
            }
        }
    }

    /// Adds a field, unless its value is nested too deep or the object has too many bytes of unknown fields.
    pub(crate) fn add(&mut self, name: String, value: Box<RawValue>) {
        let has = self.0.as_ref().map_or(0, |it| it.bytes);
        let bytes = has + name.len() + value.get().len();
        if bytes <= MAX_UNKNOWN_BYTES && is_shallow(value.get()) {
            let it = self.0.get_or_insert_default();
            it.fields.push((name, value));
            it.bytes = bytes;
        }
    }
}

/// Returns true if at most [`MAX_UNKNOWN_DEPTH`] objects and arrays are nested in valid JSON.
fn is_shallow(json: &str) -> bool {
    let (mut depth, mut in_text, mut escaped) = (0, false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_text,
            b'"' => in_text = !in_text,
            b'{' | b'[' if !in_text => depth += 1,
            b'}' | b']' if !in_text => depth -= 1,
            _ => {}
        }
        if depth > MAX_UNKNOWN_DEPTH {
            return false;
        }
    }
    true
}

impl fmt::Debug for UnknownFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl PartialEq for UnknownFields {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for UnknownFields {}

impl PartialOrd for UnknownFields {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for UnknownFields {
    fn cmp(&self, _: &Self) -> Ordering {
        Ordering::Equal
    }
}

impl Hash for UnknownFields {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl Serialize for UnknownFields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in self.0.iter().flat_map(|it| &it.fields) {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// An object of a status whose definition permits further fields.
pub(crate) trait Open {
    /// Returns its unknown fields.
    fn unknown_fields(&self) -> &UnknownFields;
    /// Returns its unknown fields for changes.
    fn unknown_fields_mut(&mut self) -> &mut UnknownFields;
}

/// Implements serde's traits for these types, so that they keep their unknown fields. Each type derives the traits
/// with `remote`, so that the derived functions are inherent ones.
macro_rules! open {
    ($($type:ident),* $(,)?) => {$(
        impl $crate::unknown_fields::Open for $type {
            fn unknown_fields(&self) -> &$crate::unknown_fields::UnknownFields {
                &self.unknown_fields
            }

            fn unknown_fields_mut(&mut self) -> &mut $crate::unknown_fields::UnknownFields {
                &mut self.unknown_fields
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $type {
            fn deserialize<D: ::serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let mut unknown_fields = $crate::unknown_fields::UnknownFields::default();
                let from = $crate::unknown_fields::Keeping::new(from, &mut unknown_fields);
                let mut read = <$type>::deserialize(from)?;
                read.unknown_fields = unknown_fields;
                Ok(read)
            }
        }

        impl ::serde::Serialize for $type {
            fn serialize<S: ::serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                struct Known<'a>(&'a $type);
                impl ::serde::Serialize for Known<'_> {
                    fn serialize<S: ::serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                        <$type>::serialize(self.0, to)
                    }
                }
                if self.unknown_fields.is_empty() {
                    return <$type>::serialize(self, to);
                }
                let (known, unknown) = (Known(self), &self.unknown_fields);
                $crate::unknown_fields::Whole { known, unknown }.serialize(to)
            }
        }
    )*};
}
pub(crate) use open;

/// An object with its known and its unknown fields.
#[derive(Serialize)]
pub(crate) struct Whole<'a, K: Serialize> {
    #[serde(flatten)]
    pub(crate) known: K,
    #[serde(flatten)]
    pub(crate) unknown: &'a UnknownFields,
}

/// Deserializer of an object that collects the fields which its type does not name.
pub(crate) struct Keeping<'a, D> {
    from: D,
    kept: &'a mut UnknownFields,
}

impl<'a, D> Keeping<'a, D> {
    pub(crate) fn new(from: D, kept: &'a mut UnknownFields) -> Self {
        Self { from, kept }
    }
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Keeping<'_, D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.from.deserialize_any(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let kept = self.kept;
        let inner = visitor;
        let visitor = Members {
            inner,
            fields,
            kept,
        };
        self.from.deserialize_struct(name, fields, visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// The members of an object, with the known ones as the derived code expects them.
struct Members<'a, V> {
    inner: V,
    fields: &'static [&'static str],
    kept: &'a mut UnknownFields,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Members<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, values: A) -> Result<V::Value, A::Error> {
        self.inner.visit_seq(values)
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<V::Value, A::Error> {
        self.inner.visit_map(Members {
            inner: members,
            fields: self.fields,
            kept: self.kept,
        })
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Members<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        while let Some(key) = self.inner.next_key_seed(FieldNameSeed(self.fields))? {
            match key {
                // The derived code accepts the index of a field in place of its name.
                Ok(at) => return seed.deserialize(at.into_deserializer()).map(Some),
                Err(name) => self.kept.add(name, self.inner.next_value()?),
            }
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.inner.next_value_seed(seed)
    }
}

/// Deserializer of a field name: its index among these, or the name if it is not one of them.
struct FieldNameSeed(&'static [&'static str]);

impl<'de> DeserializeSeed<'de> for FieldNameSeed {
    type Value = Result<u64, String>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_identifier(self)
    }
}

impl Visitor<'_> for FieldNameSeed {
    type Value = Result<u64, String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        let known = (0..).zip(self.0).find(|(_, known)| **known == name);
        Ok(known.map(|(at, _)| at).ok_or_else(|| name.to_owned()))
    }
}

#[cfg(test)]
mod tests;
