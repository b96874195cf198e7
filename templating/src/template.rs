//! A template: compiled once, rendered for every change of its context.

pub(crate) mod doubtful;
mod draft;

use std::{borrow::Cow, collections::BTreeMap};

use cartouche_crds::ClusterRunTemplateSpec;
use cartouche_engines::{
    FailureOutputs, Health, Judged, OutputError, Outputs, Sensitive, add_own_message,
    health::{self, CompiledRule},
    output_paths,
};
use cartouche_language::{
    Diagnostic, DiagnosticKind, Diagnostics, InputSchema, Root, Segment, TERMINATION_MESSAGE,
    Warning, WarningKind,
    bounds::{self, MAX_LEAVES, MAX_RENDERED_WEIGHT, MAX_TAGS, MAX_TEMPLATE_BYTES},
    diagnostic::TO_INPUTS,
    digest,
    open::TagHolder,
    roots::SELECTED,
    syntax,
    tag::Leaf,
};
use serde_json::{Value, json};

use crate::{
    body::Body,
    context::Context,
    document::{self, check_rendered_size},
    rendered::{self, Rendered},
    requires::CompiledRequires,
    runner::{self, CompiledRunner},
    suspect,
};
pub use doubtful::{Doubt, DoubtfulValue};
pub use draft::{Attempt, Draft};

/// A `ClusterRunTemplate`, checked and ready to be rendered.
#[derive(Clone, Debug)]
pub struct Template {
    body: Body,
    runner: Option<CompiledRunner>,
    requires: Option<CompiledRequires>,
    inputs: Option<InputSchema>,
    literal_kind: Option<(String, String)>,
    outputs: Outputs,
    failure: FailureOutputs,
    rule: Option<CompiledRule>,
    rules_hash: String,
    warnings: Vec<Warning>,
}

impl Template {
    /// Compiles a template. Fails with all errors that are independent of a Runnable: the syntax of every tag and
    /// path, names that no tag can read, runs that are not permitted, sizes.
    pub fn compile(spec: &ClusterRunTemplateSpec) -> Result<Self, Diagnostics> {
        let (template, problems) = Self::read(spec);
        Diagnostics::check(problems)?;
        Ok(template)
    }

    /// Compiles a template as far as possible, and returns all problems of the rest.
    fn read(spec: &ClusterRunTemplateSpec) -> (Self, Vec<Diagnostic>) {
        let template = &spec.template;
        let (mut problems, mut warnings) = (Vec::new(), Vec::new());
        let oversize = oversize(template);
        let is_oversize = oversize.is_some();
        let body = if let Some(kind) = oversize {
            problems.push(Diagnostic::in_spec("template", kind));
            Body::Literal(Value::Null)
        } else {
            problems.extend(document::static_problems(template));
            let suspect = suspect::warnings(template, Root::Template, &[]);
            warnings = [document::warnings(template), suspect].concat();
            Body::compile(template, TagHolder::Template, &[], &mut problems)
        };
        let literal = |field: &str| Leaf::literal(template.get(field)?.as_str()?);
        let literal_kind = literal("apiVersion").zip(literal("kind"));
        let kind = literal_kind.as_ref();
        let kind = kind.map(|(api_version, kind)| (api_version.as_str(), kind.as_str()));
        warnings.extend(suspect::beside(spec));
        let runner = spec.runner.as_ref();
        let runner = runner.and_then(|it| CompiledRunner::compile(it, kind, &mut problems));
        if let Some(runner) = runner.as_ref().filter(|_| !is_oversize) {
            problems.extend(runner.misfits(template));
            warnings.extend(runner.warning());
        }
        let requires = CompiledRequires::compile(spec, kind, &mut problems);
        let tags = body.tag_count()
            + runner.as_ref().map_or(0, CompiledRunner::tag_count)
            + requires.as_ref().map_or(0, CompiledRequires::tag_count);
        problems.extend(check_tag_count(tags));
        let optional = spec.optional_outputs.as_deref().unwrap_or_default();
        let sensitive = spec.sensitive_outputs.as_deref().unwrap_or_default();
        let outputs = Outputs::compile(spec.outputs.as_ref(), optional, sensitive, &mut problems);
        let failure = FailureOutputs::compile(spec.failure_outputs.as_ref(), &mut problems);
        let rule = spec
            .health_rule
            .as_ref()
            .and_then(|rule| CompiledRule::compile(rule, &mut problems));
        if let Some(kind) = kind {
            warnings.extend(health::unmet(spec.health_rule.as_ref(), kind, template));
        }
        outputs.check_shown(&failure, rule.as_ref(), &mut problems);
        let inputs = spec
            .input_schema
            .as_ref()
            .and_then(|schema| InputSchema::compile(schema, &mut problems));
        if let Some((api_version, kind)) = &literal_kind
            && output_paths::is_refused((api_version, kind))
            && !outputs.is_empty()
        {
            warnings.push(Warning {
                root: Root::Spec,
                at: Segment::keys(["outputs"]),
                kind: WarningKind::OutputsOfSecret,
            });
        }
        let read = Self {
            inputs,
            literal_kind,
            warnings,
            rules_hash: rules_hash(spec, &outputs),
            body,
            runner,
            requires,
            outputs,
            failure,
            rule,
        };
        (read, problems)
    }

    /// Returns warnings for parts that work, but hardly as their author expects.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Returns the `apiVersion` and the kind of every run, unless one of them holds a tag.
    #[must_use]
    pub fn literal_kind(&self) -> Option<(&str, &str)> {
        let (api_version, kind) = self.literal_kind.as_ref()?;
        Some((api_version, kind))
    }

    /// Returns the hash of everything that decides about success and outputs. Templates that differ in nothing
    /// else render the same runs, but read them differently.
    #[must_use]
    pub fn rules_hash(&self) -> &str {
        &self.rules_hash
    }

    /// Returns true if the template declares outputs.
    #[must_use]
    pub fn has_outputs(&self) -> bool {
        !self.outputs.is_empty()
    }

    /// Returns true if it has a health rule of its own.
    #[must_use]
    pub fn has_health_rule(&self) -> bool {
        self.rule.is_some()
    }

    /// Returns true if an output is read from the termination message of the run's pod.
    #[must_use]
    pub fn reads_termination_message(&self) -> bool {
        self.outputs.reads(TERMINATION_MESSAGE)
    }

    /// Returns the context of the tags, with the defaults of the template's input schema. Fails with every input
    /// that does not fit the schema; their paths begin with `runnable.spec.inputs`.
    pub fn complete<'a>(&self, context: &'a Context) -> Result<Cow<'a, Context>, Diagnostics> {
        let Some(schema) = &self.inputs else {
            return Ok(Cow::Borrowed(context));
        };
        Ok(match schema.complete(context.inputs())? {
            Some(inputs) => Cow::Owned(context.with_inputs(inputs)),
            None => Cow::Borrowed(context),
        })
    }

    /// Replaces every tag that does not stay open, once, and checks the result. Fails with all problems of the
    /// result or of the inputs, or with the limit that was reached.
    pub fn render(&self, context: &Context) -> Result<Rendered, Diagnostics> {
        self.render_completed(context, &*self.complete(context)?)
    }

    /// Returns the same, and the context of the tags, which a profile also reads.
    pub fn render_and_keep(&self, context: Context) -> Result<(Rendered, Context), Diagnostics> {
        let completed = self.complete(&context)?;
        let rendered = self.render_completed(&context, &completed)?;
        let owned = match completed {
            Cow::Owned(completed) => Some(completed),
            Cow::Borrowed(_) => None,
        };
        Ok((rendered, owned.unwrap_or(context)))
    }

    fn render_completed(
        &self,
        context: &Context,
        completed: &Context,
    ) -> Result<Rendered, Diagnostics> {
        let (mut document, mut open) = self.body.render(completed)?;
        if let Some(runner) = &self.runner {
            runner.add_to(&mut document, &mut open, completed)?;
        }
        check_rendered_size(&document)?;
        Diagnostics::check(self.not_texts(&document))?;
        let rendered = rendered::finish(document)?;
        let secrets = context.secrets().iter();
        let read = secrets.filter(|(name, _)| self.reads_input(name));
        let read = read.map(|(name, mark)| (name.as_str(), mark.as_str()));
        let requires = self.requires.as_ref();
        let requires = requires.map(|it| it.render(completed)).transpose()?;
        // Other data of a Secret in the document cannot be distinguished from its values.
        let key = context
            .secret_key()
            .filter(|_| self.reads(&[SELECTED.into()]));
        let rendered = rendered.with(&read.collect(), open, key, context.hashing());
        Ok(rendered.requiring(requires))
    }

    /// Fails if a document of an existing kind lacks its files. If the kind looks misspelt, none are added.
    ///
    /// # Errors
    /// The document has none.
    pub fn check_is_mounted(&self, document: &Value) -> Result<(), Diagnostics> {
        let mounts = self.runner.as_ref();
        mounts.map_or(Ok(()), |_| runner::check_is_mounted(document))
    }

    /// Returns the labels and annotations of a document that are not texts. Labels that the template itself spoils
    /// are dropped, and its author was warned.
    fn not_texts(&self, document: &Value) -> Vec<Diagnostic> {
        let dropped = |it: &Warning| it.kind == WarningKind::NoLabels;
        let given_by = |at: &[Segment]| self.body.tag_at(at).map(str::to_owned);
        document::not_texts(document, self.warnings.iter().any(dropped), &given_by)
    }

    /// Returns true if a tag reads this input, or may: one that reads all inputs does.
    #[must_use]
    pub fn reads_input(&self, name: &str) -> bool {
        self.reads(&input(name))
    }

    /// Returns true if a hashed tag reads the value at the end of these steps, or may.
    fn reads(&self, place: &[Segment]) -> bool {
        let reads = |path: &str| {
            let steps = leading_steps(path);
            // Without a leading step it may lead anywhere.
            steps.is_empty() || leads_to(&steps, place)
        };
        let runner = self.runner.as_ref();
        self.body.any_path(&reads) || runner.is_some_and(|runner| runner.any_path(&reads))
    }

    /// Judges a run: succeeded, failed, or neither yet. A run without a kind (such as the items of a list) has
    /// that of the template, if it is literal.
    #[must_use]
    pub fn health(&self, run: &Value) -> Health {
        let kind = self.kind_of(run).unwrap_or_default();
        self.hide_sensitive(
            cartouche_engines::health::health(self.rule.as_ref(), kind, run),
            run,
        )
    }

    /// Removes words that may be a sensitive output from a verdict by any rule.
    #[must_use]
    pub fn hide_sensitive(&self, health: Health, run: &Value) -> Health {
        if self.outputs.sensitive().next().is_none() {
            return health;
        }
        if self.outputs.are_words_sensitive() {
            return health.wordless();
        }
        let mut health = health.silence();
        if self.rule.is_some() {
            health = health.without_words();
        }
        let mut spoken = Cow::Borrowed(run);
        if self.reads_termination_message() {
            add_own_message(spoken.to_mut());
        }
        health.without(&self.outputs.search(&spoken))
    }

    /// Returns the rule of [`Self::health`] for a run, and the part of it that an unfinished run does not meet.
    #[must_use]
    pub fn choose_rule(&self, run: &Value) -> Judged {
        let kind = self.kind_of(run).unwrap_or_default();
        let has_sensitive = self.outputs.sensitive().next().is_some();
        cartouche_engines::health::choose_rule(self.rule.as_ref(), kind, run, has_sensitive)
    }

    /// Iterates over the names of its outputs.
    pub fn output_names(&self) -> impl Iterator<Item = &str> {
        self.outputs.names()
    }

    /// Iterates over the names of the outputs that a run may lack and still give the others.
    pub fn optional_outputs(&self) -> impl Iterator<Item = &str> {
        self.outputs.optional()
    }

    /// Returns the outputs of a run that are not sensitive: all except optional ones that it lacks, or none.
    /// Returns `None` if the template declares none. The caller knows whether the run has succeeded. A Secret
    /// gives none, and nor does a run of unknown kind.
    pub fn outputs(&self, run: &Value) -> Result<Option<BTreeMap<String, Value>>, OutputError> {
        self.outputs.read(self.kind_of(run), run)
    }

    /// Returns true for a run that was asked to change nothing: its report is no output.
    #[must_use]
    pub fn is_dry_run(&self, run: &Value) -> bool {
        runner::is_dry_run(self.kind_of(run), run)
    }

    /// Iterates over the names of the outputs whose values are for Secrets only.
    pub fn sensitive_outputs(&self) -> impl Iterator<Item = &str> {
        self.outputs.sensitive()
    }

    /// Returns their values in a succeeded run; none if [`Self::outputs`] has none.
    #[must_use]
    pub fn sensitive(&self, run: &Value) -> Sensitive {
        self.outputs.read_sensitive(self.kind_of(run), run)
    }

    /// Returns true if it declares failure outputs.
    #[must_use]
    pub fn has_failure_outputs(&self) -> bool {
        !self.failure.is_empty()
    }

    /// Returns true if a failure output is read from the termination message of the run's pod.
    #[must_use]
    pub fn failure_reads_termination_message(&self) -> bool {
        let mut paths = self.failure.paths();
        paths.any(|(_, path)| path.leading_keys().first() == Some(&TERMINATION_MESSAGE))
    }

    /// Returns the failure outputs that a failed run has.
    #[must_use]
    pub fn failure_outputs(&self, run: &Value) -> BTreeMap<String, Value> {
        let search = self.outputs.search(run);
        self.failure.read(self.kind_of(run), run, &search)
    }

    fn kind_of<'a>(&'a self, run: &'a Value) -> Option<(&'a str, &'a str)> {
        let text = |field: &str| run.get(field).and_then(Value::as_str);
        text("apiVersion")
            .zip(text("kind"))
            .or_else(|| self.literal_kind())
    }
}

/// Returns the hash of the rules. Optional and sensitive outputs are part of it only if there are any: templates
/// without them keep the hash that ledgers hold.
fn rules_hash(spec: &ClusterRunTemplateSpec, outputs: &Outputs) -> String {
    let mut rules = json!({ "outputs": spec.outputs, "healthRule": spec.health_rule });
    let optional: Vec<&str> = outputs.optional().collect();
    if !optional.is_empty() {
        rules["optionalOutputs"] = json!(optional);
    }
    let sensitive: Vec<&str> = outputs.sensitive().collect();
    if !sensitive.is_empty() {
        rules["sensitiveOutputs"] = json!(sensitive);
    }
    digest::hash(&rules)
}

fn check_tag_count(count: usize) -> Option<Diagnostic> {
    let message = format!("it has {count} tags, more than {MAX_TAGS}");
    let kind = DiagnosticKind::Limit(message);
    (count > MAX_TAGS).then(|| Diagnostic::in_spec("template", kind))
}

/// Returns the problem of a template that is too large to be inspected.
fn oversize(template: &Value) -> Option<DiagnosticKind> {
    if !template.is_object() {
        let message = "stamped resource is not a map[string]interface{}: it has to be an object";
        return Some(message.into());
    }
    if !bounds::is_shallow(template) {
        return Some(DiagnosticKind::too_deep());
    }
    let message = if bounds::json_bytes_within(template, MAX_TEMPLATE_BYTES).is_none() {
        format!("it is larger than {MAX_TEMPLATE_BYTES} bytes")
    } else if bounds::leaves(template) > MAX_LEAVES {
        format!("it has more than {MAX_LEAVES} values")
    } else {
        format!("it {}", bounds::too_heavy(template, MAX_RENDERED_WEIGHT)?)
    };
    Some(DiagnosticKind::Limit(message))
}

/// Returns the steps to an input.
fn input(name: &str) -> Vec<Segment> {
    Segment::keys(TO_INPUTS.into_iter().chain([name]))
}

/// Returns the steps that a path begins with, up to the first that may lead to several places.
fn leading_steps(path: &str) -> Vec<Segment> {
    let steps = syntax::steps(path).into_iter();
    let steps = steps.map_while(|step| match step.to {
        syntax::To::Key(key) => Some(Segment::Key(key)),
        syntax::To::Index(index) => usize::try_from(index).ok().map(Segment::Index),
        syntax::To::Elements => None,
    });
    steps.collect()
}

/// Returns true if the steps lead to this place, into it, or past it.
fn leads_to(steps: &[Segment], place: &[Segment]) -> bool {
    place.starts_with(steps) || steps.starts_with(place)
}

#[cfg(test)]
mod tests;
