//! Templates of the chart that have one home in `config/`: each of its documents under a condition.
//!
//! The text is that of `config/`. Only names, the namespace, labels, and what a value changes become tags.
//! `tests/tests/engines/helm/rendered.rs` compares rendered charts with the kustomizations.

use std::{io, path::Path};

use super::lines::{labelled, with_quotes, without_comments, without_first_comments};
use crate::kustomization::{Files, fault};

/// A template.
struct Template {
    file: &'static str,
    parts: &'static [Part],
}

/// The documents of a file of `config/`, under one condition.
struct Part {
    source: &'static str,
    condition: &'static str,
    change: Change,
}

/// The effect of values on the text of a part.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    /// Names, namespace and labels.
    Names,
    /// The rights of a binding hold in one namespace if the controller serves only that.
    Bindings,
    /// Only documents for the whole cluster, in a file that also has those for one namespace.
    WholeCluster,
    /// Once for each namespace of `identity.namespaces`.
    EachNamespace,
    /// The list of writers of statuses.
    Writers,
    /// A definition, whose text names nothing of this install.
    Definition,
}

/// The namespace of the controller in `config/`.
const NAMESPACE: &str = "cartouche-system";
/// The name of the controller in `config/`, which others begin with.
const NAME: &str = "cartouche-controller";
/// The namespace of Runnables in the overlays.
const SERVED: &str = "cartouche-examples";
const BINDING: &str = "kind: ClusterRoleBinding";

/// The writers that `config/policies` lists beside the controller.
const FURTHER_WRITERS: &str =
    ",\n        'system:serviceaccount:cartographer-system:cartographer-controller']";
const FURTHER_WRITERS_TAG: &str =
    "{{ range $.Values.policies.writers.users }}, '{{ . }}'{{ end }}]";
const GROUPS: &str = "expression: \"[]\"";
const GROUPS_TAG: &str = "expression: \"[{{ range $index, $group := $.Values.policies.writers.groups }}\
                          {{ if $index }}, {{ end }}'{{ $group }}'{{ end }}]\"";

const RBAC: &str = "$.Values.rbac.create";

const TEMPLATES: [Template; 8] = [
    Template {
        file: "crds.yaml",
        parts: &[
            definition("config/crd/carto.run_runnables.yaml"),
            definition("config/crd/carto.run_clusterruntemplates.yaml"),
            definition("config/crd/carto.run_clusterrunprofiles.yaml"),
        ],
    },
    Template {
        file: "service-account.yaml",
        parts: &[part(
            "config/rbac/service-account.yaml",
            "true",
            Change::Names,
        )],
    },
    Template {
        file: "controller-rights.yaml",
        parts: &[
            part("config/rbac/controller.yaml", RBAC, Change::Bindings),
            part(
                "config/overlays/one-namespace/rights.yaml",
                "and $.Values.rbac.create $.Values.namespace",
                Change::WholeCluster,
            ),
        ],
    },
    Template {
        file: "identity.yaml",
        parts: &[
            part(
                "config/rbac/impersonation.yaml",
                "and $.Values.rbac.create (eq $.Values.identity.mode \"impersonate\") \
                 (not $.Values.identity.namespaces)",
                Change::Bindings,
            ),
            part(
                "config/overlays/named-namespaces/impersonation.yaml",
                RBAC,
                Change::EachNamespace,
            ),
            part(
                "config/overlays/tokens/tokens.yaml",
                "and $.Values.rbac.create (eq $.Values.identity.mode \"token\")",
                Change::Bindings,
            ),
        ],
    },
    Template {
        file: "kinds.yaml",
        parts: &[
            part("config/rbac/kinds.yaml", RBAC, Change::Bindings),
            part(
                "config/rbac/kinds-kubernetes.yaml",
                "and $.Values.rbac.create $.Values.kinds.kubernetes",
                Change::Names,
            ),
            part(
                "config/rbac/kinds-tekton.yaml",
                "and $.Values.rbac.create $.Values.kinds.tekton",
                Change::Names,
            ),
            part(
                "config/rbac/kinds-argo.yaml",
                "and $.Values.rbac.create $.Values.kinds.argo",
                Change::Names,
            ),
            part(
                "config/any-kind/kinds-any.yaml",
                "and $.Values.rbac.create $.Values.kinds.any",
                Change::Names,
            ),
        ],
    },
    Template {
        file: "users.yaml",
        parts: &[
            part(
                "config/rbac/users.yaml",
                "and $.Values.rbac.create $.Values.rbac.users",
                Change::Names,
            ),
            part(
                "config/templates-view/binding.yaml",
                "and $.Values.rbac.create $.Values.rbac.users $.Values.rbac.templatesView",
                Change::Names,
            ),
        ],
    },
    Template {
        file: "policies.yaml",
        parts: &[
            part(
                "config/policies/ledger.yaml",
                "$.Values.policies.ledger",
                Change::Writers,
            ),
            part(
                "config/policies/keep-definitions.yaml",
                "$.Values.policies.keepDefinitions",
                Change::Names,
            ),
            part(
                "config/approval/policy.yaml",
                "$.Values.policies.approvals",
                Change::Names,
            ),
            part(
                "config/approval/role.yaml",
                "and $.Values.rbac.create $.Values.policies.approvals",
                Change::Names,
            ),
        ],
    },
    Template {
        file: "network.yaml",
        parts: &[
            part("config/controller/service.yaml", "true", Change::Names),
            part(
                "config/controller/network-policy.yaml",
                "$.Values.networkPolicy.enabled",
                Change::Names,
            ),
            part(
                "config/controller/disruption-budget.yaml",
                "$.Values.podDisruptionBudget.enabled",
                Change::Names,
            ),
        ],
    },
];

const fn part(source: &'static str, condition: &'static str, change: Change) -> Part {
    Part {
        source,
        condition,
        change,
    }
}

const fn definition(source: &'static str) -> Part {
    part(source, "$.Values.crds.enabled", Change::Definition)
}

/// Returns the templates, each by its file name.
pub fn all(sources: &Files<'_>) -> io::Result<Vec<(&'static str, String)>> {
    let mut templates = Vec::new();
    for template in &TEMPLATES {
        let mut text = String::from(
            "{{- /* Written by `cargo generate` from the files of config/ that are named below. Edit those. */}}\n",
        );
        for part in template.parts {
            let source = sources.read(Path::new(part.source))?;
            text.push_str(&part.text(&source)?);
        }
        templates.push((template.file, text));
    }
    Ok(templates)
}

impl Part {
    /// Returns the documents with their tags, under the condition.
    fn text(&self, source: &str) -> io::Result<String> {
        if source.contains("{{") {
            return Err(self.fault("has a tag of Helm"));
        }
        let bare = if self.change == Change::Definition {
            // Descriptions may have lines that look like comments.
            without_first_comments(source).to_owned()
        } else {
            without_comments(source)
        };
        let mut text = format!("{{{{- /* {} */}}}}\n", self.source);
        for document in bare.split("---\n").filter(|it| !it.trim().is_empty()) {
            if self.change == Change::WholeCluster && document.contains(SERVED) {
                continue;
            }
            text.push_str("---\n");
            text.push_str(&self.document(document)?);
        }
        let text = match self.change {
            Change::EachNamespace => {
                format!("{{{{- range $.Values.identity.namespaces }}}}\n{text}{{{{- end }}}}\n")
            }
            _ => text,
        };
        Ok(match self.condition {
            "true" => text,
            condition => format!("{{{{- if {condition} }}}}\n{text}{{{{- end }}}}\n"),
        })
    }

    fn document(&self, document: &str) -> io::Result<String> {
        let document = labelled(document);
        if self.change == Change::Definition {
            let keep = "metadata:\n  annotations:\n    {{- if $.Values.crds.keep }}\n    \
                        helm.sh/resource-policy: keep\n    {{- end }}\n";
            return self.replaced(&document, "metadata:\n  annotations:\n", keep);
        }
        let document = match self.change {
            Change::Writers if document.contains("variables:") => {
                let users = self.replaced(&document, FURTHER_WRITERS, FURTHER_WRITERS_TAG)?;
                self.replaced(&users, GROUPS, GROUPS_TAG)?
            }
            Change::Bindings if document.contains(BINDING) => self.bound(&document)?,
            Change::EachNamespace => document.replace(SERVED, "{{ . }}"),
            _ => document,
        };
        let document = document
            .replace(NAMESPACE, "{{ $.Release.Namespace }}")
            .replace(NAME, "{{ include \"cartouche.name\" $ }}");
        Ok(with_quotes(&document))
    }

    /// Makes a `RoleBinding` of a `ClusterRoleBinding` where the controller serves one namespace.
    fn bound(&self, document: &str) -> io::Result<String> {
        let kind =
            "kind: {{ if $.Values.namespace }}RoleBinding{{ else }}ClusterRoleBinding{{ end }}";
        let document = self.replaced(document, BINDING, kind)?;
        let place =
            "metadata:\n  {{- with $.Values.namespace }}\n  namespace: {{ . }}\n  {{- end }}\n";
        self.replaced(&document, "metadata:\n", place)
    }

    /// Replaces what occurs exactly once.
    fn replaced(&self, text: &str, from: &str, to: &str) -> io::Result<String> {
        match text.matches(from).count() {
            1 => Ok(text.replace(from, to)),
            count => Err(self.fault(&format!("has {from:?} {count} times, not once"))),
        }
    }

    fn fault(&self, what: &str) -> io::Error {
        fault(Path::new(self.source), what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROLE: &str =
        "# A.\nkind: ClusterRole\nmetadata:\n  name: cartouche-controller-a\nrules: []\n";

    fn text_of(change: Change, condition: &'static str, source: &str) -> String {
        part("a.yaml", condition, change).text(source).unwrap()
    }

    #[test]
    fn names_and_labels_become_tags_and_comments_go() {
        let expected = "{{- if a }}\n{{- /* a.yaml */}}\n---\nkind: ClusterRole\nmetadata:\n  \
                        name: {{ include \"cartouche.name\" $ }}-a\n  labels:\n    \
                        {{- include \"cartouche.labels\" $ | nindent 4 }}\nrules: []\n{{- end }}\n";
        assert_eq!(text_of(Change::Names, "a", ROLE), expected);
    }

    #[test]
    fn names_that_are_whole_values_are_quoted() {
        let source = "metadata:\n  name: cartouche-controller\n  namespace: cartouche-system\n\
                      spec:\n  account: a:cartouche-system:cartouche-controller\n";
        let text = text_of(Change::Names, "true", source);
        for line in [
            "  name: {{ include \"cartouche.name\" $ | quote }}\n",
            "  namespace: {{ $.Release.Namespace | quote }}\n",
            "  account: a:{{ $.Release.Namespace }}:{{ include \"cartouche.name\" $ }}\n",
        ] {
            assert!(text.contains(line), "{text}");
        }
        let each = "metadata:\n  name: a\n  namespace: cartouche-examples\n";
        let text = text_of(Change::EachNamespace, "true", each);
        assert!(text.contains("  namespace: {{ . | quote }}\n"), "{text}");
    }

    #[test]
    fn a_binding_follows_the_namespace_that_is_served() {
        let source = "kind: ClusterRoleBinding\nmetadata:\n  name: a\nsubjects: []\n";
        let text = text_of(Change::Bindings, "true", source);
        assert!(
            text.contains("kind: {{ if $.Values.namespace }}RoleBinding{{ else }}"),
            "{text}"
        );
        assert!(text.contains("  namespace: {{ . | quote }}\n"), "{text}");
        assert!(!text_of(Change::Bindings, "true", ROLE).contains("RoleBinding"));
    }

    #[test]
    fn a_policy_whose_list_has_changed_is_refused() {
        let policy = part("a.yaml", "true", Change::Writers);
        assert!(
            policy
                .text("metadata:\n  name: a\nvariables:\n  - b\n")
                .is_err()
        );
        assert!(policy.text("metadata:\n  name: {{ a }}\n").is_err());
    }
}
