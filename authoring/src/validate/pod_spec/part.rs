//! A part of an object, and the steps to it.

use cartouche_engines::EACH_CONTAINER;
use serde_json::Value;

use crate::source::Segment;

#[derive(Clone)]
pub(super) struct Part<'a> {
    pub(super) at: Vec<Segment>,
    pub(super) value: &'a Value,
}

impl<'a> Part<'a> {
    pub(super) fn root(value: &'a Value) -> Self {
        let at = Vec::new();
        Self { at, value }
    }

    fn below(&self, step: Segment, value: &'a Value) -> Self {
        let at = [self.at.as_slice(), &[step]].concat();
        Self { at, value }
    }

    pub(super) fn get(&self, key: &str) -> Option<Self> {
        Some(self.below(key.into(), self.value.get(key)?))
    }

    pub(super) fn follow(&self, keys: &[&str]) -> Option<Self> {
        keys.iter()
            .try_fold(self.clone(), |part, key| part.get(key))
    }

    /// Returns the elements of the list at a key, or none if there is no such list.
    pub(super) fn items(&self, key: &str) -> Vec<Self> {
        let Some(list) = self.get(key) else {
            return Vec::new();
        };
        let items = list.value.as_array().into_iter().flatten().enumerate();
        items
            .map(|(index, item)| list.below(Segment::Index(index), item))
            .collect()
    }

    /// Returns the members of an object.
    pub(super) fn members(&self) -> Vec<(&'a str, Self)> {
        let members = self.value.as_object().into_iter().flatten();
        members
            .map(|(key, value)| (key.as_str(), self.below(key.as_str().into(), value)))
            .collect()
    }

    /// Returns the text, if it holds no placeholders.
    pub(super) fn text(&self) -> Option<&'a str> {
        self.value.as_str().filter(|text| is_literal(text))
    }

    pub(super) fn text_of(&self, key: &str) -> Option<&'a str> {
        let text = self.value.get(key)?.as_str()?;
        Some(text).filter(|text| is_literal(text))
    }

    pub(super) fn name(&self) -> Option<&'a str> {
        self.text_of("name")
    }

    /// Returns the part at a key, or this one if there is none.
    pub(super) fn or_self(&self, key: &str) -> Self {
        self.get(key).unwrap_or_else(|| self.clone())
    }

    /// Returns a container as messages call it.
    pub(super) fn container(&self) -> String {
        match self.name() {
            Some(EACH_CONTAINER) => "each container".to_owned(),
            Some(name) => format!("the container '{name}'"),
            None => "a container".to_owned(),
        }
    }
}

/// Returns true if a text has neither tags nor the placeholders of Tekton, Argo, envsubst and Flux.
fn is_literal(text: &str) -> bool {
    !["$(", "${", "{{"].iter().any(|open| text.contains(open))
}
