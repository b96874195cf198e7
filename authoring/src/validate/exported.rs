//! Templates that were objects of a cluster (`kubectl get -o yaml`), with the fields that the cluster has set.

use cartouche_engines::kinds::{self, JOB_LABELS};
use cartouche_language::syntax;

use crate::{
    finding::{Finding, Rule},
    source::{Document, Node, Segment, SourceSpan},
    template_file,
};

/// Ending of the labels with the uid of a Job, which no author knows in advance.
const UID: &str = "controller-uid";
/// Ending of the labels with its name.
const NAME: &str = "job-name";
/// Prefix of the volumes of service account tokens that the cluster adds to pods.
const TOKEN_VOLUME: &str = "kube-api-access-";
/// Text that older clusters write before the random characters in the name of such a volume.
const OLD_TOKEN_VOLUME: &str = "-token-";
/// Number of these characters.
const RANDOM: usize = 5;
/// Fields that an object has only after it was created.
const GIVEN: [&[&str]; 3] = [
    &["metadata", "uid"],
    &["metadata", "resourceVersion"],
    &["status"],
];

/// Returns the findings about fields that a cluster has set.
pub(super) fn check(document: &Document) -> Vec<Finding> {
    let Some(body) = template_file::body(document) else {
        return Vec::new();
    };
    let text = |key: &str| body.get(key).and_then(Node::text).unwrap_or_default();
    match (text("apiVersion"), text("kind")) {
        (version, kind) if kinds::is_job(version, kind) => job(document, body),
        ("v1", "Pod") => pod(document, body),
        ("v1", "Service") => service(document, body),
        _ => Vec::new(),
    }
}

fn job(document: &Document, body: &Node) -> Vec<Finding> {
    let manual = body.at(&["spec", "manualSelector"]);
    // A tag may make it true.
    if manual.is_some_and(|manual| manual.to_value() == true || manual.text().is_some()) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    if is_given(body, &["spec", "selector"]) {
        findings.push(set_by_cluster(
            document,
            &["spec", "selector"],
            "a Job",
            "the cluster",
        ));
    }
    let of_pods = ["spec", "template", "metadata", "labels"];
    let own = fixed_name(body);
    // The API server refuses each of these at the pods. At the Job itself a name is a label like any other.
    findings.extend(labels(document, body, &of_pods, true, own));
    findings.extend(labels(document, body, &["metadata", "labels"], false, own));
    findings
}

/// Returns the name of an object that is the same for each run.
fn fixed_name(body: &Node) -> Option<&str> {
    let name = body.at(&["metadata", "name"]).and_then(Node::text);
    name.filter(|name| !syntax::may_hold_tags(name))
}

/// Returns true if a field shows that a template was an object of a cluster.
fn is_exported(body: &Node) -> bool {
    GIVEN.iter().any(|keys| body.at(keys).is_some())
}

fn pod(document: &Document, body: &Node) -> Vec<Finding> {
    let mut findings = Vec::new();
    // The author of any other object may mean it.
    if is_exported(body) && is_given(body, &["spec", "nodeName"]) {
        findings.push(set_by_cluster(
            document,
            &["spec", "nodeName"],
            "a Pod",
            "the scheduler",
        ));
    }
    findings.extend(token_volume(document, body));
    let of_pod = ["metadata", "labels"];
    findings.extend(labels(document, body, &of_pod, false, None));
    findings
}

fn service(document: &Document, body: &Node) -> Vec<Finding> {
    // The author of any other object may mean the address.
    if !is_exported(body) {
        return Vec::new();
    }
    // `None` is asked for by authors.
    let is_address = |node: &Node| node.text().is_some_and(|text| text.contains(['.', ':']));
    let fields = ["clusterIP", "clusterIPs"].into_iter();
    let set = fields.filter(|field| {
        let node = body.at(&["spec", field]);
        node.is_some_and(|node| is_address(node) || node.items().iter().any(is_address))
    });
    // The second is the first, as a list.
    let findings = set
        .take(1)
        .map(|field| set_by_cluster(document, &["spec", field], "a Service", "the cluster"));
    findings.collect()
}

/// Returns true if a field has a value that is no tag.
fn is_given(body: &Node, keys: &[&str]) -> bool {
    let node = body.at(keys);
    node.is_some_and(|node| {
        let is_tag = node.text().is_some_and(syntax::may_hold_tags);
        !is_tag && !node.to_value().is_null()
    })
}

fn set_by_cluster(document: &Document, keys: &[&str], kind: &str, by: &str) -> Finding {
    let message = format!("{} of {kind} is set by {by}: remove it", keys.join("."));
    Finding::error(Rule::Template, message)
        .at(key(document, keys))
        .label("this is of another object")
        .help(OTHERS)
}

/// Cure of such a field.
const OTHERS: &str =
    "remove what the cluster has added to an object: a template has only what its author wrote";

fn key(document: &Document, keys: &[&str]) -> SourceSpan {
    document.place_of_key(&[&["spec", "template"], keys].concat())
}

/// Finds labels of another Job than the one with this name. Labels with names alone count only where they are refused.
fn labels(
    document: &Document,
    body: &Node,
    at: &[&str],
    names: bool,
    own: Option<&str>,
) -> Option<Finding> {
    let labels = body.at(at)?.entries();
    let is_foreign = |label: &&crate::source::MapEntry| {
        let value = label.value.text();
        let is_tag = value.is_some_and(syntax::may_hold_tags);
        let is_own = own.is_some() && value == own && label.key.ends_with(NAME);
        JOB_LABELS.contains(&label.key.as_str()) && !is_tag && !is_own
    };
    let mut foreign = labels.iter().filter(is_foreign);
    let is_sure = names || foreign.clone().any(|label| label.key.ends_with(UID));
    let first = foreign.next().filter(|_| is_sure)?;
    let message = "the labels controller-uid, job-name, batch.kubernetes.io/* are those of another Job: remove them";
    let finding = Finding::error(Rule::Template, message)
        .at(document.place(&first.key_span))
        .label("this is of another object");
    Some(finding.help(OTHERS))
}

/// Finds the token of another pod. It works, but the cluster would add one by itself, of the account of this pod.
fn token_volume(document: &Document, body: &Node) -> Option<Finding> {
    let volumes = body.at(&["spec", "volumes"])?.items();
    let name = |volume: &Node| {
        volume
            .get("name")
            .and_then(Node::text)
            .unwrap_or_default()
            .to_owned()
    };
    let is_token = |volume: &Node| {
        let name = name(volume);
        name.starts_with(TOKEN_VOLUME) || is_old_token(volume, &name)
    };
    let index = volumes.iter().position(is_token)?;
    let name = name(volumes.get(index)?);
    let mut at = Segment::keys(["spec", "template", "spec", "volumes"]);
    at.extend([Segment::Index(index), "name".into()]);
    let message =
        format!("the volume {name} is the token of another Pod: remove it and its volumeMounts");
    let finding = Finding::warning(Rule::Surprise, message)
        .at(document.place_at(&at))
        .label("the cluster adds this");
    Some(finding.help(OTHERS))
}

/// Returns true if a volume of this name is a token as older clusters add it: of a Secret with the same name.
fn is_old_token(volume: &Node, name: &str) -> bool {
    let secret = volume.at(&["secret", "secretName"]).and_then(Node::text);
    let random = name.rsplit_once(OLD_TOKEN_VOLUME).map(|(_, end)| end);
    let is_random = |end: &str| {
        let mut characters = end.chars();
        end.len() == RANDOM && characters.all(|it| it.is_ascii_lowercase() || it.is_ascii_digit())
    };
    secret == Some(name) && random.is_some_and(is_random)
}
