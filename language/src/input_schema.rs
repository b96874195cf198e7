//! The inputs that a template takes: a structural `OpenAPI` v3 schema, as in a `CustomResourceDefinition`.
//!
//! Missing inputs get their defaults before anything is rendered, and inputs that do not fit make no run. The
//! keywords are those of Kubernetes. Two points differ, for the benefit of the authors of inputs. An undeclared
//! input is refused only with `additionalProperties: false`, instead of being silently dropped. A null that the
//! schema neither permits nor replaces with a default is an error.
//!
//! No reference is followed, nothing is fetched, regular expressions need linear time, and the size of added
//! defaults is bounded.

mod breach;
mod compile;
mod defaults;
mod fit;
mod format;
mod node;
mod type_cure;

use serde_json::Value;

use crate::{
    bounds::{self, MAX_INPUT_SCHEMA_BYTES},
    diagnostic::{Diagnostic, DiagnosticKind, Diagnostics, Root, SegmentRef, copy_steps},
};
pub use breach::{NumberLimit, count_breach};
use compile::FIELD;
pub use format::{fits_format, matches_pattern};
use node::SchemaNode;
pub use node::SchemaType;
pub use type_cure::TypeCure;

/// Steps to the inputs in a template's context.
const INPUTS: [SegmentRef<'static>; 3] = [
    SegmentRef::Key("runnable"),
    SegmentRef::Key("spec"),
    SegmentRef::Key("inputs"),
];

/// A compiled schema of inputs.
#[derive(Clone, Debug)]
pub struct InputSchema {
    root: SchemaNode,
}

impl InputSchema {
    /// Compiles a schema, and adds all of its problems: features that no structural schema has, unparsable parts,
    /// defaults that do not fit.
    pub fn compile(schema: &Value, problems: &mut Vec<Diagnostic>) -> Option<Self> {
        let refused = if !bounds::is_shallow(schema) {
            Some(DiagnosticKind::too_deep())
        } else if bounds::json_bytes_within(schema, MAX_INPUT_SCHEMA_BYTES).is_none() {
            let message = format!("it is larger than {MAX_INPUT_SCHEMA_BYTES} bytes");
            Some(DiagnosticKind::Limit(message))
        } else {
            None
        };
        if let Some(kind) = refused {
            problems.push(Diagnostic::in_spec(FIELD, kind));
            return None;
        }
        let root = compile::root(schema, problems);
        problems.extend(compile::misfits(&root));
        // Its unparsable parts accept any value, so that the rest can be checked.
        Some(Self { root })
    }

    /// Returns the inputs with the defaults of the schema, or `None` if there are none to add. Fails with all
    /// inputs that do not fit.
    pub fn complete(&self, inputs: Option<&Value>) -> Result<Option<Value>, Diagnostics> {
        let (completed, added, problems) = self.fill(inputs);
        Diagnostics::check(problems)?;
        Ok((added > 0).then_some(completed))
    }

    /// Returns the inputs with the defaults of the schema, whether or not they fit, and all problems.
    #[must_use]
    pub fn attempt(&self, inputs: Option<&Value>) -> (Value, Vec<Diagnostic>) {
        let (completed, _, problems) = self.fill(inputs);
        (completed, problems)
    }

    /// Returns the completed inputs, the number of added values, and all problems.
    fn fill(&self, inputs: Option<&Value>) -> (Value, usize, Vec<Diagnostic>) {
        let given = inputs.filter(|inputs| !inputs.is_null());
        let mut completed = given
            .cloned()
            .unwrap_or_else(|| Value::Object(serde_json::Map::new()));
        match defaults::add(&self.root, &mut completed) {
            Err(error) => {
                let problem = Diagnostic::new(Root::Context, copy_steps(&INPUTS), error);
                (completed, 0, vec![problem])
            }
            Ok(added) => {
                let problems = fit::problems(&self.root, &completed, &INPUTS);
                (completed, added, problems)
            }
        }
    }
}

#[cfg(test)]
mod tests;
