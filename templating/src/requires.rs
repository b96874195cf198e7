//! Permissions that the pods of a run need: declared by the template, filled in like the run, and no part of its
//! hash.

use cartouche_crds::{ClusterRunTemplateSpec, RequiredPermission};
use cartouche_engines::kinds;
use cartouche_language::{
    Diagnostic, Diagnostics, OpenPlace, RunFacts, Segment,
    open::{self, TagHolder},
};
use serde_json::{Value, json};

use crate::{body::Body, context::Context};

const REQUIRES: &str = "requires";

/// The permissions in a template, ready to be rendered.
#[derive(Clone, Debug)]
pub(crate) struct CompiledRequires(Body);

/// The permissions that the pods of one run need, as far as they are known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Requires {
    permissions: Value,
    pub(crate) open: Vec<OpenPlace>,
}

/// The account and the permissions that a run needs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Needed {
    /// The `ServiceAccount` of the run's pods, in the namespace of the run.
    pub account: String,
    /// The permissions that the account needs.
    pub permissions: Vec<RequiredPermission>,
}

impl CompiledRequires {
    pub(crate) fn compile(
        spec: &ClusterRunTemplateSpec,
        kind: Option<(&str, &str)>,
        problems: &mut Vec<Diagnostic>,
    ) -> Option<Self> {
        let requires = spec.requires.as_deref().filter(|it| !it.is_empty())?;
        let is_unknown = |(api_version, kind)| {
            kinds::find_kind(api_version, kind).is_none_or(|known| known.pods_account.is_empty())
        };
        if kind.is_some_and(is_unknown) {
            problems.push(without_account());
            return None;
        }
        Some(Self(Body::compile(
            &json!(requires),
            TagHolder::Runner,
            &[REQUIRES.into()],
            problems,
        )))
    }

    pub(crate) fn tag_count(&self) -> usize {
        self.0.tag_count()
    }

    pub(crate) fn render(&self, context: &Context) -> Result<Requires, Diagnostics> {
        let rendered = self.0.render(context);
        let rendered = rendered.map_err(|found| below(&found));
        let (permissions, open) = rendered?;
        Ok(Requires { permissions, open })
    }
}

impl Requires {
    pub(crate) fn fill(
        &self,
        run: &RunFacts<'_>,
        values: Option<&Value>,
    ) -> Result<Self, Diagnostics> {
        let filled = open::fill(self.permissions.clone(), &self.open, run, values);
        Ok(Self {
            permissions: filled.map_err(|found| below(&found))?,
            open: Vec::new(),
        })
    }

    /// Returns the permissions for this run. Fails if a tag has yielded a value that is not a text.
    pub(crate) fn of_run(&self, run: &Value) -> Result<Needed, Diagnostics> {
        let items = self
            .permissions
            .as_array()
            .into_iter()
            .flatten()
            .enumerate();
        let (mut permissions, mut problems) = (Vec::new(), Vec::new());
        for (index, item) in items {
            match serde_json::from_value(item.clone()) {
                Ok(permission) => permissions.push(permission),
                Err(error) => {
                    let at = vec![REQUIRES.into(), Segment::Index(index)];
                    problems.push(wrong(at, format!("it cannot be read: {error}")));
                }
            }
        }
        let account = kinds::pods_account(run);
        problems.extend(account.is_none().then(without_account));
        Diagnostics::check(problems)?;
        Ok(Needed {
            account: account.unwrap_or_default().to_owned(),
            permissions,
        })
    }
}

fn below(problems: &Diagnostics) -> Diagnostics {
    problems.moved_below(TagHolder::Runner.root(), &[REQUIRES.into()])
}

fn without_account() -> Diagnostic {
    let kind = "Cartouche does not know which ServiceAccount the pods of runs of this kind have";
    wrong(vec![REQUIRES.into()], kind.to_owned())
}

fn wrong(at: Vec<Segment>, text: String) -> Diagnostic {
    Diagnostic::new(
        TagHolder::Runner.root(),
        at,
        cartouche_language::DiagnosticKind::plain(text),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Template;

    fn needed(kind: &str, requires: &Value, namespace: &Value) -> Result<Needed, String> {
        let named = json!({ "serviceAccountName": "builder" });
        let (api_version, pod) = match kind {
            "Job" => ("batch/v1", json!({ "template": { "spec": named } })),
            _ => ("test.run/v1", json!({})),
        };
        needed_for(api_version, kind, &pod, requires, namespace)
    }

    fn needed_for(
        api_version: &str,
        kind: &str,
        pod: &Value,
        requires: &Value,
        namespace: &Value,
    ) -> Result<Needed, String> {
        let template = json!({
            "apiVersion": api_version, "kind": kind, "metadata": { "generateName": "x-" }, "spec": pod,
        });
        let spec =
            serde_json::from_value(json!({ "template": template, "requires": requires })).unwrap();
        let template = Template::compile(&spec).map_err(|found| found.to_string())?;
        let runnable = json!({
            "metadata": { "name": "rn", "namespace": "ns" },
            "spec": { "runTemplateRef": { "name": "t" }, "inputs": { "namespace": namespace } },
        });
        let rendered = template
            .render(&Context::new(&runnable, None).unwrap())
            .unwrap();
        let run = RunFacts {
            name: "x-1",
            sequence: 1,
            input_hash: "v1:0",
            rerun_token: None,
        };
        let values = json!({ "state": "tofu-state" });
        let filled = rendered
            .fill(&run, Some(&values))
            .map_err(|found| found.to_string())?;
        filled
            .needed()
            .map(Option::unwrap)
            .map_err(|found| found.to_string())
    }

    fn secrets(namespace: &str) -> Value {
        json!([{ "resource": "secrets", "verbs": ["get", "update"], "namespace": namespace }])
    }

    #[test]
    fn what_the_pods_need_is_filled_in_as_the_run_is_and_is_asked_as_their_account() {
        let both = needed("Job", &secrets("$(profile.values.state)$"), &json!("a")).unwrap();
        assert_eq!(both.account, "builder");
        assert_eq!(both.permissions[0].namespace.as_deref(), Some("tofu-state"));
        let own = needed(
            "Job",
            &secrets("$(runnable.spec.inputs.namespace)$"),
            &json!("a"),
        )
        .unwrap();
        assert_eq!(own.permissions[0].namespace.as_deref(), Some("a"));
    }

    #[test]
    fn the_account_of_a_pipeline_run_is_where_its_version_has_it() {
        let named = json!({ "serviceAccountName": "builder" });
        for (api_version, spec, account) in [
            (
                "tekton.dev/v1",
                json!({ "taskRunTemplate": named }),
                "builder",
            ),
            ("tekton.dev/v1beta1", named, "builder"),
            ("tekton.dev/v1beta1", json!({}), "default"),
        ] {
            let needed = needed_for(
                api_version,
                "PipelineRun",
                &spec,
                &secrets("a"),
                &json!("a"),
            );
            assert_eq!(needed.unwrap().account, account, "{api_version} {spec}");
        }
    }

    #[test]
    fn what_is_no_text_is_named_by_its_place() {
        let said = needed(
            "Job",
            &secrets("$(runnable.spec.inputs.namespace)$"),
            &json!(7),
        )
        .unwrap_err();
        assert!(said.contains("requires[0]"), "{said}");
        let said = needed("Job", &secrets("$(profile.values.other)$"), &json!("a")).unwrap_err();
        assert!(
            said.contains("requires") && said.contains("profile.values.other"),
            "{said}"
        );
    }

    #[test]
    fn of_a_kind_whose_pods_nobody_knows_nothing_can_be_asked() {
        let said = needed("TestObj", &secrets("a"), &json!("a")).unwrap_err();
        assert!(
            said.contains("does not know which ServiceAccount"),
            "{said}"
        );
    }
}
