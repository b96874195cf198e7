//! Decodes a document: types of scalars, aliases and merge keys, and keys as texts.

mod base64;
mod mapping;
mod scalar;
mod timestamp;

use std::ops::Range;

use serde_json::Value;

use super::{
    super::{
        node::{Content, Node},
        number,
        refusal::{MAX_DEPTH, Refusal},
    },
    parser::{Form, PartId, Scalar, Tree, YamlPart},
};
use scalar::{Resolved, resolve};

/// Up to this number of parts, nearly all of a document may come from aliases; from `MANY_PARTS` on, a tenth.
const FEW_PARTS: u32 = 400_000;
const MANY_PARTS: u32 = 4_000_000;
/// The text of keys and values that aliases may stand for, in bytes. No API server takes an object of that size.
const MOST_ALIASED_TEXT: usize = 4 * 1024 * 1024;

/// Resolves a document.
pub(super) fn decode(tree: &Tree) -> Result<Node, Refusal> {
    let mut decoder = Decoder {
        tree,
        // The document itself is counted too.
        decoded: 1,
        aliased: 0,
        aliased_text: 0,
        aliases: Vec::new(),
        depth: 0,
    };
    decoder.node(tree.root)
}

struct Decoder<'a> {
    tree: &'a Tree,
    /// Parts that were decoded, and those decoded for an alias: go-yaml uses both to bound what aliases make of a
    /// document.
    decoded: u32,
    aliased: u32,
    aliased_text: usize,
    /// The aliases that are being decoded, each within the one before it.
    aliases: Vec<PartId>,
    depth: usize,
}

impl<'a> Decoder<'a> {
    fn part(&self, id: PartId) -> Result<&'a YamlPart, Refusal> {
        let part = self.tree.part(id);
        part.ok_or_else(|| Refusal::new("a part of the document is missing", 0..0))
    }

    fn node(&mut self, id: PartId) -> Result<Node, Refusal> {
        let part = self.part(id)?;
        self.count(&part.span)?;
        self.go_deeper(&part.span)?;
        let node = match &part.form {
            Form::Alias(target) => {
                self.begin_alias(id, &part.span)?;
                let node = self.node(*target)?;
                self.aliases.pop();
                Node {
                    span: part.span.clone(),
                    is_plain: false,
                    ..node
                }
            }
            Form::Scalar(scalar) => self.scalar(part, scalar)?,
            Form::Sequence(items) => {
                let items = items.iter().map(|item| self.node(*item));
                Node::collection(
                    part.span.clone(),
                    Content::Array(items.collect::<Result<_, _>>()?),
                )
            }
            Form::Mapping(entries) => {
                let entries = self.mapping(entries)?;
                Node::collection(part.span.clone(), Content::Object(entries))
            }
        };
        self.depth -= 1;
        Ok(node)
    }

    fn go_deeper(&mut self, span: &Range<usize>) -> Result<(), Refusal> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Refusal::too_deep(span.clone()));
        }
        Ok(())
    }

    fn begin_alias(&mut self, id: PartId, span: &Range<usize>) -> Result<(), Refusal> {
        if self.aliases.contains(&id) {
            let message = "the value of this anchor contains itself";
            return Err(Refusal::new(message, span.clone()));
        }
        self.aliases.push(id);
        Ok(())
    }

    fn count(&mut self, span: &Range<usize>) -> Result<(), Refusal> {
        self.decoded = self.decoded.saturating_add(1);
        if !self.aliases.is_empty() {
            self.aliased = self.aliased.saturating_add(1);
        }
        let share = f64::from(self.aliased) / f64::from(self.decoded);
        if self.aliased > 100 && self.decoded > 1000 && share > allowed_share(self.decoded) {
            return Err(excessive(span));
        }
        Ok(())
    }

    fn count_text(&mut self, text: &str, span: &Range<usize>) -> Result<(), Refusal> {
        if !self.aliases.is_empty() {
            self.aliased_text = self.aliased_text.saturating_add(text.len());
        }
        if self.aliased_text > MOST_ALIASED_TEXT {
            return Err(excessive(span));
        }
        Ok(())
    }

    fn scalar(&mut self, part: &YamlPart, scalar: &Scalar) -> Result<Node, Refusal> {
        self.count_text(&scalar.text, &part.span)?;
        let refuse = |message: String| Refusal::new(message, part.span.clone());
        let value = match resolve(scalar).map_err(refuse)? {
            Resolved::Null => Value::Null,
            Resolved::Truth(truth) => Value::Bool(truth),
            Resolved::Integer(integer) => Value::from(integer),
            // The API server keeps integers of more than 63 bits as floats.
            #[expect(clippy::cast_precision_loss)]
            Resolved::Large(integer) => number::normalize(integer as f64).unwrap_or_default(),
            Resolved::Float(float) => number::normalize(float).ok_or_else(|| {
                refuse(format!(
                    "kubectl refuses the number {}: JSON has no such number",
                    scalar.text
                ))
                .help("put it in quotes, if it is a string")
            })?,
            Resolved::Text(text) => Value::String(text),
        };
        Ok(Node {
            span: part.span.clone(),
            content: Content::Scalar(value),
            is_plain: scalar.is_plain(),
        })
    }
}

/// Returns the share of the parts of a document that aliases may stand for.
fn allowed_share(decoded: u32) -> f64 {
    let beyond = decoded.clamp(FEW_PARTS, MANY_PARTS) - FEW_PARTS;
    0.99 - 0.89 * (f64::from(beyond) / f64::from(MANY_PARTS - FEW_PARTS))
}

fn excessive(span: &Range<usize>) -> Refusal {
    Refusal::new("document contains excessive aliasing", span.clone())
}
