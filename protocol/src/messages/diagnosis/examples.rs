//! One example of each diagnosis, for the docs.

use std::time::Duration;

use cartouche_crds::{Approval, Rejection, StatusBytes, Stop, StopReason};
use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};

use super::{
    ApprovalGuard, Busy, Denied, Diagnosis, Failed, Fault, GivenApproval, Held, Holder, InTheWay,
    NotReady, NotRefreshed, Unchosen, Who, Why,
};
use crate::trace::SourceKey;

impl Diagnosis {
    /// Returns an example of each diagnosis.
    #[must_use]
    #[allow(clippy::too_many_lines)] // a table
    pub fn examples() -> Vec<Self> {
        let text = str::to_owned;
        let timed_out = Stop::new(
            StopReason::TimedOut,
            Time(Timestamp::constant(1_767_225_600, 0)),
        );
        let account = Who::Account(text("shop"), text("builder"), text("shop-build"));
        let controller = Who::Controller(text("system:serviceaccount:cartouche-system:cartouche"));
        vec![
            Self::AccountName(text("Builder")),
            Self::AccountMissing(text("shop"), text("builder")),
            Self::NoToken(text("shop"), text("builder")),
            Self::TemplateMissing(text("build")),
            Self::TemplateUnread(text("build")),
            Self::Unacceptable(vec![fault(
                "outputs.digest: the path \u{27}\u{27} is empty",
                "write a path between the markers",
            )]),
            Self::Unrendered(
                text("build"),
                vec![fault(
                    "spec.a: the tag $(runnable.spec.inputs.branch)$ leads to no value",
                    "look for a misspelt name in the path, or give it a value",
                )],
            ),
            Self::UnusableProfile(vec![fault(
                "podTemplate.metadata.labels['carto.run/team']: keys of carto.run are set by Cartouche",
                "use a key of your own",
            )]),
            Self::ClusterScoped(text("v1"), text("Namespace")),
            Self::KindMissing(text("example.dev/v1"), text("Build"), None),
            Self::KindMissing(
                text("example.dev/v2"),
                text("Build"),
                Some(text("Build is in example.dev/v1")),
            ),
            Self::NothingSelected(text("ConfigMap"), text("app=shop")),
            Self::SeveralSelected(
                text("ConfigMap"),
                text("app=shop"),
                vec![text("a"), text("b")],
            ),
            Self::Selector(text("\"!app\" is not a valid label key")),
            Self::Forbidden(
                account.clone(),
                vec![
                    Denied::one("create", "jobs.batch"),
                    Denied::one("list", "pods"),
                ],
            ),
            Self::Forbidden(
                controller,
                vec![Denied::one("impersonate", "serviceaccounts")],
            ),
            Self::Invalid {
                kind: text("Build"),
                why: text("spec.template.spec.restartPolicy: Required value"),
                namespace: text("shop"),
                runnable: text("shop-build"),
            },
            Self::NotAdmitted(text("exceeded quota: jobs")),
            Self::NotAdmitted(text(
                "admission webhook \"jobs.example.com\" denied the request: a Job needs the label team",
            )),
            Self::WebhookSilent(text(
                "failed calling webhook \"jobs.example.com\": service \"policy\" not found",
            )),
            Self::NamespaceEnds(text("shop")),
            Self::NoAnswer("create the run"),
            Self::Refused(
                "list the runs",
                text("the server does not allow this method on the requested resource"),
            ),
            Self::OutputsUnread(
                text("shop-build-1"),
                Box::new(Self::Forbidden(
                    account.clone(),
                    vec![Denied::one("list", "pods")],
                )),
            ),
            Self::NoOutputs(
                text("shop-build-1"),
                vec![fault(
                    "output \"digest\" has no value at .status.digest: jsonpath returned empty list: .status.digest",
                    "correct the path in outputs of the template; the controller then reads the same run again",
                )],
            ),
            Self::NameTaken(text("Build shop/build"), true, Holder::EarlierRun),
            Self::NameTaken(
                text("Build shop/build"),
                true,
                Holder::Controlled {
                    by: text("Pipeline nightly"),
                    created: "2026-01-01T00:00:00Z".parse().ok(),
                },
            ),
            Self::NameTaken(
                text("Build shop/shop-build-1"),
                false,
                Holder::Uncontrolled {
                    created: "2026-01-01T00:00:00Z".parse().ok(),
                },
            ),
            Self::NameFreed,
            Self::MarksRemoved,
            Self::Runaway {
                runs: 10,
                until: text("2026-01-01T00:05:00Z"),
                minutes: 5,
            },
            Self::PolicyInvalid(vec![fault(
                "retry creates further runs, but the template gives each of them the name \"migrate\"",
                "use metadata.generateName in the template instead of metadata.name, or set retry.limit to 0",
            )]),
            Self::Sources(vec![fault(
                "input limits comes from key limits of ConfigMap sizes: it cannot be read as JSON",
                "correct the value, or let the run read it itself",
            )]),
            Self::SourcesMissing(vec![fault(
                "input password comes from key password of Secret db, which is not there",
                "create it, correct the name, or set optional if the template can do without it",
            )]),
            Self::DependencyNotReady(
                SourceKey::runnable("shop", "build"),
                NotReady::Busy(Busy::AtWork),
            ),
            Self::DependencyFailed(Failed::Source(SourceKey::runnable("shop", "build"))),
            Self::Profile(Held::Unchosen(Unchosen::Ambiguous(vec![
                text("gke-production"),
                text("gke-staging"),
            ]))),
            Self::Profile(Held::Unchosen(Unchosen::NoneMatches(Some(text(
                "'gke': it is for the template 'shop-build', and this one is 'shop-biuld'",
            ))))),
            Self::Profile(Held::Unchosen(Unchosen::NotOffered {
                name: text("gke"),
                offered: vec![text("gke-production")],
            })),
            Self::Profile(Held::Gone {
                name: text("gke-production"),
                not_refreshed: None,
            }),
            Self::Profile(Held::Unproven {
                name: text("gke-production"),
                not_refreshed: None,
            }),
            Self::NamespacesUnknown(text("the API server answers 403 Forbidden")),
            Self::ProfileNotRefreshed(NotRefreshed(None)),
            Self::ProfileDoesNotFit(
                text("gke-production"),
                vec![fault(
                    "podTemplate.spec.containers[0]: the run has no container 'tofu'",
                    "correct the name",
                )],
            ),
            Self::PermissionMissing(
                text("builder"),
                text("tofu"),
                vec![Denied::one("update", "secrets").in_namespace(Some("tofu-state"))],
            ),
            Self::DependencyCycle(vec![
                SourceKey::runnable("shop", "build"),
                SourceKey::runnable("shop", "scan"),
            ]),
            Self::Sinks(vec![fault(
                "outputs cannot be written to Secret app-db, which was not made by this Runnable",
                "write them to an object of another name, or delete that one",
            )]),
            Self::NoWayToStop(text("Build shop/shop-build-1"), timed_out.clone()),
            Self::NotStopped(text("Job shop/shop-build-1"), timed_out),
            Self::Crowded(200),
            Self::StatusFull(StatusBytes {
                all: 1_200_000,
                fields: vec![(text("history"), 900_000), (text("outputs"), 262_144)],
            }),
            Self::OtherController(30),
            Self::Suspended,
            Self::ApprovalRequired(guarded(), Some(GivenApproval::OtherRun(3))),
            Self::Rejected(
                guarded(),
                Rejection {
                    approval: guarded().wanted.to_string(),
                    by: text("alice"),
                    reason: text("not before Monday"),
                },
            ),
            Self::Debouncing {
                pause: Duration::from_secs(10),
                longest: Duration::from_secs(100),
            },
            Self::RunAtWork(vec![InTheWay {
                run: text("Build shop/shop-build-a1"),
                why: Why::AtWork,
                hindered: None,
            }]),
            Self::RunAtWork(vec![InTheWay {
                run: text("Job shop/shop-build-a1"),
                why: Why::AtWork,
                hindered: Some(text(
                    "pod shop-build-a1-x cannot be scheduled: no node fits",
                )),
            }]),
            Self::Unreadable(text("it is nested deeper than 127 levels")),
            Self::NewerNeeds(vec![text("clusters")]),
            Self::NewerFields(text("the Runnable"), vec![text("start.at")]),
            Self::DefinitionsOutdated(
                text(
                    "the definition runnables.carto.run is of schema 0, and this controller needs 1",
                ),
                text("install the definitions of this release"),
            ),
        ]
    }
}

fn guarded() -> ApprovalGuard {
    ApprovalGuard {
        wanted: Approval {
            sequence: 4,
            hash: "v1:00ff".to_owned(),
        },
        namespace: "shop".to_owned(),
        runnable: "build".to_owned(),
    }
}

fn fault(what: &str, cure: &str) -> Fault {
    Fault {
        what: what.to_owned(),
        place: String::new(),
        cure: Some(cure.to_owned()),
    }
}
