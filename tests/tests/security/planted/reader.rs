//! Everything that a user with the role `view` everywhere can read.

use std::collections::BTreeSet;

use anyhow::Result;
use cartouche_tests::{
    fixture::Fixture,
    kind::{Kind, RUNNABLE},
};
use kube::{
    Api, Client,
    api::DynamicObject,
    discovery::{Discovery, verbs},
};
use serde_json::Value;

use crate::ground::SOON;

/// Number of characters of a uid.
const UID: usize = 36;
/// Number of hexadecimal digits of the shortest hash that cannot equal another by chance.
const SHORTEST: usize = 16;

/// Everything that was read.
#[derive(Default)]
pub(super) struct Reading {
    pub(super) text: String,
    /// The kinds that could be listed, in plural, and those that could not.
    pub(super) listed: BTreeSet<String>,
    pub(super) refused: BTreeSet<String>,
    /// The namespaces and names of the listed objects.
    names: BTreeSet<(String, String)>,
}

impl Reading {
    pub(super) fn of(text: &str) -> Self {
        let mut reading = Self::default();
        reading.add(text);
        reading
    }

    pub(super) fn add(&mut self, text: &str) {
        // A line end within a JSON text would join the next word.
        self.text.push_str(&text.replace("\\n", " "));
        self.text.push('\n');
    }

    fn add_list(&mut self, list: &Value) {
        for object in list["items"].as_array().into_iter().flatten() {
            let part = |name: &str| object["metadata"][name].as_str().unwrap_or_default();
            let name = (part("namespace").to_owned(), part("name").to_owned());
            self.names.insert(name);
        }
        self.add(&list.to_string());
    }

    /// Returns words; a uid is one word.
    fn words(&self) -> impl Iterator<Item = &str> {
        let is_within = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
        self.text.split(move |letter| !is_within(letter))
    }

    /// Returns true if the text has a value that is no part of a uid or of a longer word.
    pub(super) fn has(&self, value: &str) -> bool {
        let mut words = self.words().filter(|word| !is_uid(word));
        words.any(|word| word.split('-').any(|part| part == value))
    }

    /// Returns everything that could be a hash, or the beginning of one.
    pub(super) fn hashes(&self) -> BTreeSet<String> {
        let is_digit = |letter: char| matches!(letter, '0'..='9' | 'a'..='f');
        let runs = self.text.split(move |letter| !is_digit(letter));
        let runs = runs.filter(|run| run.len() >= SHORTEST);
        runs.map(str::to_owned).collect()
    }

    /// Returns every possible key of a hash: every uid, and the names of the objects in the namespace and of
    /// cluster-scoped ones.
    pub(super) fn keys(&self, namespace: &str) -> BTreeSet<String> {
        let names = self.names.iter();
        let names = names.filter(|(of, _)| of.is_empty() || of == namespace);
        let names = names.map(|(_, name)| name.as_str());
        let uids = self.words().filter(|word| is_uid(word));
        names.chain(uids).map(str::to_owned).collect()
    }
}

fn is_uid(word: &str) -> bool {
    let is_right = |(at, letter): (usize, char)| match at {
        8 | 13 | 18 | 23 => letter == '-',
        _ => letter.is_ascii_hexdigit(),
    };
    word.len() == UID && word.char_indices().all(is_right)
}

/// Lists everything that the role permits, in all namespaces, as `kubectl get -A` does.
pub(super) async fn of_a_viewer(place: &Fixture) -> Result<Reading> {
    let viewer = place.allow("viewer", &[]).await?;
    let account = format!("--serviceaccount={}:{}", place.namespace, viewer.name);
    let bind = [
        "create",
        "clusterrolebinding",
        "viewer",
        "--clusterrole=view",
    ];
    let bind = [&bind[..], &[&account]].concat();
    place.cluster.kubectl(&bind).await?;
    let user = viewer.user();
    // The roles of the project are added to it with a delay.
    let template = Kind::new(
        "carto.run",
        "v1alpha1",
        "ClusterRunTemplate",
        "clusterruntemplates",
    );
    for kind in [RUNNABLE, template] {
        place.cluster.allowed(&user, "list", kind, SOON).await?;
    }
    read_all(place.cluster.client_of(&viewer).await?).await
}

async fn read_all(client: Client) -> Result<Reading> {
    let mut reading = Reading::default();
    let discovery = Discovery::new(client.clone()).run().await?;
    for group in discovery.groups() {
        for (kind, can) in group.recommended_resources() {
            if !can.supports_operation(verbs::LIST) {
                continue;
            }
            let all = Api::<DynamicObject>::all_with(client.clone(), &kind);
            let request = http::Request::get(all.resource_url()).body(Vec::new())?;
            match client.request::<Value>(request).await {
                Ok(list) => {
                    reading.listed.insert(kind.plural);
                    reading.add_list(&list);
                }
                Err(kube::Error::Api(status)) if status.is_forbidden() => {
                    reading.refused.insert(kind.plural);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(reading)
}
