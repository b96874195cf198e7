//! Tests of requests for the permissions of pods, and of their number.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use cartouche_crds::RequiredPermission;
use cartouche_templating::Needed;
use http::StatusCode;
use serde_json::{Value, json};

use super::super::{ControllerContext, reconciliation::Reconciliation};
use super::{runnable, serving};
use crate::{budget::Budget, clock::moment, reviews::Asking};

/// Number of requests for the rules, and for one permission.
#[derive(Default)]
struct Asked {
    rules: AtomicUsize,
    access: AtomicUsize,
}

impl Asked {
    fn counts(&self) -> (usize, usize) {
        let count = |it: &AtomicUsize| it.load(Ordering::SeqCst);
        (count(&self.rules), count(&self.access))
    }
}

/// A controller whose API server lists these rules, and denies every permission.
fn listing(rules: Value) -> (Arc<ControllerContext>, Arc<Asked>) {
    let asked = Arc::<Asked>::default();
    let heard = asked.clone();
    let ctx = serving(move |request| {
        let (count, status) = match request.uri().path() {
            "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews" => {
                (&heard.rules, rules.clone())
            }
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews" => {
                (&heard.access, json!({ "allowed": false }))
            }
            _ => return (StatusCode::NOT_FOUND, Value::Null),
        };
        count.fetch_add(1, Ordering::SeqCst);
        (StatusCode::CREATED, json!({ "status": status }))
    });
    (ctx, asked)
}

/// The maximum of permissions that a template may require.
fn much() -> Needed {
    let permission = |number: usize| RequiredPermission {
        resource: format!("things{number}"),
        verbs: (0..8).map(|verb| format!("verb{verb}")).collect(),
        ..RequiredPermission::default()
    };
    Needed {
        account: "pods".to_owned(),
        permissions: (0..16).map(permission).collect(),
    }
}

/// Returns the missing permissions of this many Runnables that need `much`.
async fn missing(ctx: &ControllerContext, runnables: usize) -> Vec<String> {
    let mut missing = Vec::new();
    for number in 0..runnables {
        let mut runnable = runnable(&number.to_string());
        runnable.metadata.name = Some(format!("app-{number}"));
        let mut begun = Reconciliation::begin(ctx, Arc::new(runnable), moment()).unwrap();
        begun.ask_permissions(much()).await.unwrap();
        let permitted = begun.facts.permissions.clone().unwrap();
        missing.extend(permitted.missing.iter().map(ToString::to_string));
    }
    missing
}

#[tokio::test]
async fn one_review_of_rules_answers_all_runnables_of_an_account_until_roles_change() {
    let things = json!({ "verbs": ["*"], "apiGroups": [""], "resources": ["things0"] });
    let (ctx, asked) = listing(json!({ "resourceRules": [things], "incomplete": false }));
    let said = missing(&ctx, 200).await;
    assert_eq!(asked.counts(), (1, 0));
    assert_eq!(said.len(), 200);
    assert!(
        said.iter().all(|it| it.ends_with("/verb7 things1")),
        "{said:?}"
    );
    ctx.reviews.forget(Some("elsewhere"));
    missing(&ctx, 10).await;
    assert_eq!(asked.counts(), (1, 0));
    ctx.reviews.forget(Some("ns"));
    missing(&ctx, 10).await;
    assert_eq!(asked.counts(), (2, 0));
}

#[tokio::test]
async fn what_rules_do_not_settle_is_asked_until_enough_is_missing_and_shared_as_well() {
    let (ctx, asked) = listing(json!({ "incomplete": true }));
    let said = missing(&ctx, 200).await;
    assert_eq!(asked.counts(), (1, 8));
    assert_eq!(said.len(), 200);
}

/// A list of rules that is too long to be read.
fn many_rules() -> Value {
    let rule = |number: usize| json!({ "verbs": ["*"], "apiGroups": [""], "resources": [format!("things{number}")] });
    let rules: Vec<Value> = (0..5_000).map(rule).collect();
    json!({ "resourceRules": rules, "incomplete": false })
}

#[tokio::test]
async fn a_long_list_of_rules_is_not_read() {
    let (ctx, asked) = listing(many_rules());
    missing(&ctx, 1).await;
    assert_eq!(asked.counts(), (1, 8));
}

#[tokio::test]
async fn an_answer_that_others_wait_for_waits_for_none_of_them() {
    let (ctx, asked) = listing(many_rules());
    let heavy = ctx.identity.connection().heavy().clone();
    // Another reconciliation holds the place for heavy objects, and will ask the same.
    let _place = heavy.wait().await.unwrap();
    let requests = ctx.identity.requests_as("ns", "pods").await.unwrap();
    let requests = requests.within(Arc::new(Budget::new(heavy, None)));
    let asking = Asking {
        namespace: "ns",
        name: "pods",
        requests: &requests,
    };
    let rules = ctx.reviews.rules(asking, "ns");
    let answer = tokio::time::timeout(Duration::from_secs(5), rules).await;
    assert!(!answer.unwrap().are_complete());
    assert_eq!(asked.counts(), (1, 0));
}
