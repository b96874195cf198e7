//! The requests of a user, by the API server's audit log.

use std::collections::BTreeMap;

use anyhow::Result;
use cartouche_tests::cluster::{AuditEvent, AuditLog};

use crate::measure::{RequestCount, float};

/// Returns the requests of a user, and of the ServiceAccounts of a namespace, per run.
pub(crate) fn counted(
    log: &AuditLog,
    user: &str,
    namespace: &str,
    runs: usize,
) -> Result<Vec<RequestCount>> {
    Ok(count(&log.events()?, user, namespace, runs))
}

fn count(events: &[AuditEvent], user: &str, namespace: &str, runs: usize) -> Vec<RequestCount> {
    let own_accounts = format!("system:serviceaccount:{namespace}:");
    let mut counts: BTreeMap<(String, String, &str), (u64, u64)> = BTreeMap::new();
    for event in events {
        // The server knows a controller that takes tokens as the account itself.
        if event.user() != user && !event.user().starts_with(&own_accounts) {
            continue;
        }
        let acting_as = match event.acting_as() {
            name if name == user => "itself",
            _ => "ServiceAccount",
        };
        let key = (event.verb.clone(), event.resource(), acting_as);
        let (total, refused) = counts.entry(key).or_default();
        *total += 1;
        *refused += u64::from(!(200..300).contains(&event.code()));
    }
    let per_run = |total: u64| float(total) / float(runs.max(1) as u64);
    let counts = counts.into_iter();
    counts
        .map(
            |((verb, resource, acting_as), (total, refused))| RequestCount {
                verb,
                resource,
                acting_as: acting_as.to_owned(),
                total,
                refused,
                per_run: per_run(total),
            },
        )
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(user: &str, acting_as: Option<&str>, verb: &str, code: u16) -> AuditEvent {
        serde_json::from_value(serde_json::json!({
            "auditID": "1", "stage": "ResponseComplete", "verb": verb, "requestURI": "/",
            "user": { "username": user },
            "impersonatedUser": acting_as.map(|name| serde_json::json!({ "username": name })),
            "objectRef": { "resource": "works", "apiGroup": "bench.carto.run" },
            "responseStatus": { "code": code },
        }))
        .unwrap()
    }

    #[test]
    fn requests_are_counted_by_verb_and_by_whose_rights_they_used() {
        let account = "system:serviceaccount:ns:default";
        let events = [
            event("c", None, "list", 200),
            event("c", Some(account), "create", 201),
            event("c", Some(account), "create", 409),
            event(account, None, "create", 201),
            event("somebody else", None, "create", 201),
        ];
        let counted = count(&events, "c", "ns", 2);
        assert_eq!(counted.len(), 2);
        assert_eq!(counted[0].acting_as, "ServiceAccount");
        assert_eq!((counted[0].total, counted[0].refused), (3, 1));
        assert!((counted[0].per_run - 1.5).abs() < 0.001);
        assert_eq!((counted[1].verb.as_str(), counted[1].total), ("list", 1));
    }
}
