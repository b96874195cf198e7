//! The keys of an object: as texts, each once, and with those of merge keys.

use std::{collections::HashMap, ops::Range};

use super::{
    super::{
        super::{node::MapEntry, number, refusal::Refusal},
        parser::{Form, PartId, Scalar},
    },
    Decoder,
    scalar::{Resolved, resolve},
};

const MERGE_TAG: &str = "tag:yaml.org,2002:merge";

/// A key as go-yaml compares it: `1` and `"1"` are two to it, though kubectl makes one text of both.
#[derive(Clone, PartialEq, Eq)]
enum YamlKey {
    Text,
    Truth,
    Integer,
    /// Of the digits that its text may have lost.
    Float(u64),
}

/// The entries of an object that were read so far.
#[derive(Default)]
struct Entries {
    list: Vec<MapEntry>,
    keys: Vec<(YamlKey, bool)>,
    by_text: HashMap<String, usize>,
}

impl Entries {
    /// Adds an entry. If a merge key brought one of two entries with the same key, the later one counts. Two others are
    /// duplicates, as are keys of different types with the same text.
    fn add(
        &mut self,
        entry: MapEntry,
        key: YamlKey,
        is_merged: bool,
        is_outermost: bool,
    ) -> Result<(), Refusal> {
        let Some(&index) = self.by_text.get(&entry.key) else {
            self.by_text.insert(entry.key.clone(), self.list.len());
            self.list.push(entry);
            self.keys.push((key, is_merged));
            return Ok(());
        };
        let (Some(old), Some((old_key, was_merged))) =
            (self.list.get_mut(index), self.keys.get_mut(index))
        else {
            return Ok(());
        };
        if *old_key != key || !is_merged && !*was_merged {
            return Err(Refusal::duplicate(&entry, is_outermost));
        }
        *was_merged &= is_merged;
        *old = entry;
        Ok(())
    }
}

impl Decoder<'_> {
    pub(super) fn mapping(
        &mut self,
        entries: &[(PartId, PartId)],
    ) -> Result<Vec<MapEntry>, Refusal> {
        let entries = self.entries(entries)?;
        Ok(entries.list)
    }

    fn entries(&mut self, parts: &[(PartId, PartId)]) -> Result<Entries, Refusal> {
        let mut entries = Entries::default();
        for (key, value) in parts {
            if self.is_merge(*key)? {
                self.merge(*value, &mut entries)?;
                continue;
            }
            let (entry, key) = self.entry(*key, *value)?;
            entries.add(entry, key, false, self.depth == 1)?;
        }
        Ok(entries)
    }

    fn is_merge(&self, key: PartId) -> Result<bool, Refusal> {
        Ok(match &self.part(key)?.form {
            Form::Scalar(scalar) => {
                let is_tagged = scalar.tag.as_deref() == Some(MERGE_TAG);
                scalar.text == "<<" && (scalar.is_implicit || is_tagged)
            }
            _ => false,
        })
    }

    /// Adds the entries of a merge key: those of one object, or of several, of which the first that has a key counts.
    fn merge(&mut self, value: PartId, into: &mut Entries) -> Result<(), Refusal> {
        match &self.part(value)?.form {
            Form::Sequence(items) => {
                for item in items.iter().rev() {
                    self.merge_one(*item, into)?;
                }
                Ok(())
            }
            _ => self.merge_one(value, into),
        }
    }

    fn merge_one(&mut self, id: PartId, into: &mut Entries) -> Result<(), Refusal> {
        let part = self.part(id)?;
        let target = match &part.form {
            Form::Alias(target) => Some(*target),
            _ => None,
        };
        let Form::Mapping(parts) = &self.part(target.unwrap_or(id))?.form else {
            let message = "map merge requires map or sequence of maps as the value";
            return Err(Refusal::new(message, part.span.clone()));
        };
        self.count(&part.span)?;
        if let Some(target) = target {
            self.begin_alias(id, &part.span)?;
            let span = self.part(target)?.span.clone();
            self.count(&span)?;
        }
        self.go_deeper(&part.span)?;
        let merged = self.entries(parts)?;
        self.depth -= 1;
        if target.is_some() {
            self.aliases.pop();
        }
        for (entry, (key, _)) in merged.list.into_iter().zip(merged.keys) {
            into.add(entry, key, true, self.depth == 1)?;
        }
        Ok(())
    }

    fn entry(&mut self, key: PartId, value: PartId) -> Result<(MapEntry, YamlKey), Refusal> {
        let (text, key, written, key_span) = self.key(key)?;
        let value = self.node(value)?;
        let entry = MapEntry {
            written: written.filter(|written| *written != text),
            key: text,
            key_span,
            value,
        };
        Ok((entry, key))
    }

    /// Returns a key as a text, with its type, with its notation if that gives the type, and with its place.
    fn key(
        &mut self,
        id: PartId,
    ) -> Result<(String, YamlKey, Option<String>, Range<usize>), Refusal> {
        let part = self.part(id)?;
        self.count(&part.span)?;
        let (scalar, is_alias) = match &part.form {
            Form::Scalar(scalar) => {
                self.count_text(&scalar.text, &part.span)?;
                (scalar, false)
            }
            Form::Alias(target) => match &self.part(*target)?.form {
                Form::Scalar(scalar) => {
                    self.begin_alias(id, &part.span)?;
                    self.count(&part.span)?;
                    self.count_text(&scalar.text, &part.span)?;
                    self.aliases.pop();
                    (scalar, true)
                }
                _ => return Err(no_key(&part.span)),
            },
            _ => return Err(no_key(&part.span)),
        };
        let (text, key) = as_text(scalar, &part.span)?;
        let written = (scalar.is_plain() && !is_alias).then(|| scalar.text.clone());
        Ok((text, key, written, part.span.clone()))
    }
}

fn as_text(scalar: &Scalar, span: &Range<usize>) -> Result<(String, YamlKey), Refusal> {
    let resolved = resolve(scalar).map_err(|message| Refusal::new(message, span.clone()))?;
    Ok(match resolved {
        Resolved::Text(text) => (text, YamlKey::Text),
        Resolved::Truth(truth) => (truth.to_string(), YamlKey::Truth),
        Resolved::Integer(integer) => (integer.to_string(), YamlKey::Integer),
        // Zero is the same with and without a sign.
        Resolved::Float(float) => (
            number::as_key(float),
            YamlKey::Float((float + 0.0).to_bits()),
        ),
        Resolved::Null | Resolved::Large(_) => return Err(no_key(span)),
    })
}

fn no_key(span: &Range<usize>) -> Refusal {
    let message = "kubectl refuses this as a key: it is not a string, and cannot become one";
    Refusal::new(message, span.clone()).help("put it in quotes, if it is a string")
}
