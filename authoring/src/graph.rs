//! Graph of Runnables, of files or of a cluster, and of the objects that their inputs come from.

mod drawing;
mod node;
mod text;

use std::collections::{BTreeMap, BTreeSet};

use cartouche_crds::{InputSource, Runnable};
use cartouche_protocol::{
    references::{self, SourceObject},
    sinks,
    sources::{WaitFor, graph},
    trace::SourceKey,
};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::objects::RUNNABLE;
pub use drawing::{dot, mermaid};
pub use node::{GraphNode, NodeKnowledge, RunnableState};
pub use text::text;

/// An object that inputs come from, or a Runnable that takes some.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id {
    /// Namespace of the object.
    pub namespace: String,
    /// Name of the object, or the labels that select it.
    pub name: String,
    /// Kind with its group, unless that is the core group or that of Cartouche.
    pub kind: String,
}

impl Id {
    /// Returns the id of a Runnable.
    #[must_use]
    pub fn runnable(namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            kind: RUNNABLE.to_owned(),
        }
    }

    /// Returns the source of an input of a Runnable in this namespace.
    fn of_source(object: &SourceObject, own: &str) -> Self {
        let (api_version, kind) = object.type_meta();
        let group = api_version.split_once('/').map(|(group, _)| group);
        Self {
            namespace: object.namespace_in(own).to_owned(),
            name: object.selector().unwrap_or_else(|| object.name.clone()),
            kind: match group {
                Some(group) if !object.is_runnable() => format!("{kind}.{group}"),
                _ => kind.to_owned(),
            },
        }
    }

    /// Returns the key of the object, as cycles hold it.
    pub(crate) fn as_source(&self) -> SourceKey {
        if self.is_runnable() {
            SourceKey::runnable(&self.namespace, &self.name)
        } else {
            SourceKey::object((&self.kind, ""), &self.namespace, &self.name, "")
        }
    }

    /// Returns true for a Runnable.
    #[must_use]
    pub fn is_runnable(&self) -> bool {
        self.kind == RUNNABLE
    }

    /// Returns the id of a live Runnable.
    #[must_use]
    pub fn from_runnable(runnable: &Runnable) -> Self {
        let text = |part: &Option<String>| part.clone().unwrap_or_default();
        let metadata = &runnable.metadata;
        Self::runnable(&text(&metadata.namespace), &text(&metadata.name))
    }

    /// Returns `Runnable/shop/build`, which is unique.
    #[must_use]
    pub fn key(&self) -> String {
        format!("{}/{}/{}", self.kind, self.namespace, self.name)
    }

    /// Returns `Runnable shop/build`.
    #[must_use]
    pub fn describe(&self) -> String {
        format!("{} {}/{}", self.kind, self.namespace, self.name)
    }
}

/// Input of a Runnable that comes from an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Source of the input.
    pub from: Id,
    /// Runnable that takes the input.
    pub to: Id,
    /// Name of the input.
    pub input: String,
    /// `key`, `output` or `path`; `part` is its name.
    pub word: &'static str,
    /// Name of the key, the output or the path.
    pub part: String,
    /// State of a Runnable that the reader waits for.
    pub wait_for: Option<WaitFor>,
    /// True if a run is made without it as well.
    pub optional: bool,
    /// The revision that the present run of the reader was made from.
    pub used: Option<String>,
}

impl Edge {
    /// Returns `digest: output digest of Runnable shop/base`.
    fn named(&self) -> String {
        format!(
            "{}: {} {} of {}",
            self.input,
            self.word,
            self.part,
            self.from.describe()
        )
    }

    /// Returns the remarks on the edge that do not depend on the state of the source.
    fn marks(&self) -> Vec<String> {
        let waits = match self.wait_for {
            Some(WaitFor::Succeeded) => Some("waits until it has succeeded"),
            Some(WaitFor::Nothing) => Some("does not wait for it"),
            Some(WaitFor::Settled) | None => None,
        };
        let optional = self.optional.then_some("optional");
        let marks = waits.into_iter().chain(optional);
        marks.map(str::to_owned).collect()
    }

    /// Returns the edge as text, for a list of the sources of a Runnable.
    #[must_use]
    pub fn describe(&self) -> String {
        let used = self.used.iter().map(|used| format!("made from {used}"));
        let marks: Vec<String> = self.marks().into_iter().chain(used).collect();
        with_marks(&self.named(), &marks)
    }
}

fn with_marks(text: &str, marks: &[String]) -> String {
    match marks {
        [] => text.to_owned(),
        marks => format!("{text} ({})", marks.join(", ")),
    }
}

/// For programs.
impl Serialize for Edge {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut written = json!({
            "from": self.from.key(), "to": self.to.key(), "input": self.input, "optional": self.optional,
        });
        written[self.word] = json!(self.part);
        if let Some(wait_for) = self.wait_for {
            written["waitFor"] = json!(wait_for);
        }
        if let Some(used) = &self.used {
            written["used"] = json!(used);
        }
        written.serialize(serializer)
    }
}

/// Object that outputs of a Runnable go to, and that inputs come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Runnable that writes.
    pub from: Id,
    /// Object that is written.
    pub to: Id,
}

/// Nodes, sources before their readers, and the edges between them.
#[derive(Debug)]
pub struct Graph {
    /// Objects, sources before their readers.
    pub nodes: Vec<GraphNode>,
    /// Inputs that come from other objects.
    pub edges: Vec<Edge>,
    /// Objects that outputs go to, and that others read.
    pub written: Vec<Written>,
    /// Cycles of Runnables that derive from themselves.
    pub cycles: Vec<Vec<Id>>,
    /// Number of Runnables that neither read others nor are read. They are left out.
    pub alone: usize,
}

impl Graph {
    /// Builds the graph of these Runnables. `outside` has the knowledge of Runnables that are read and are not among
    /// them.
    #[must_use]
    pub fn new(runnables: &[Runnable], outside: &BTreeMap<Id, NodeKnowledge>) -> Self {
        let mut edges: Vec<Edge> = runnables.iter().flat_map(edges).collect();
        // The sort is stable: the edges of one Runnable keep their order.
        edges.sort_by(|one, other| one.to.cmp(&other.to));
        let mut nodes: BTreeMap<Id, GraphNode> = runnables
            .iter()
            .map(|runnable| {
                (
                    Id::from_runnable(runnable),
                    GraphNode::from_runnable(runnable),
                )
            })
            .collect();
        for edge in &edges {
            nodes.entry(edge.from.clone()).or_insert_with(|| {
                let known = if edge.from.is_runnable() {
                    outside.get(&edge.from).cloned()
                } else {
                    Some(NodeKnowledge::Named)
                };
                GraphNode::without(edge.from.clone(), known.unwrap_or(NodeKnowledge::Absent))
            });
        }
        let written = written(runnables, &edges);
        let links: Vec<(&Id, &Id)> = links(&edges, &written).collect();
        let joined: BTreeSet<&Id> = links.iter().flat_map(|(from, to)| [*from, *to]).collect();
        let all = nodes.len();
        nodes.retain(|id, _| joined.contains(id));
        let alone = all - nodes.len();
        Self {
            nodes: in_order(nodes, &links),
            cycles: cycles(&links),
            edges,
            written,
            alone,
        }
    }

    /// Keeps an object, its direct and indirect sources, and all that derives from it. Nothing is left if it is not in
    /// the graph.
    #[must_use]
    pub fn around(self, centre: &Id) -> Self {
        let (mut sources, mut readers) = (Ends::new(), Ends::new());
        for (from, to) in links(&self.edges, &self.written) {
            sources.entry(to).or_default().insert(from);
            readers.entry(from).or_default().insert(to);
        }
        let next = |ends: &Ends<'_>, id: &Id| -> Vec<Id> {
            let ends = ends.get(id).into_iter().flatten();
            ends.map(|id| (*id).clone()).collect()
        };
        let above = graph::reach([centre.clone()], |id| next(&sources, id));
        let below = graph::reach([centre.clone()], |id| next(&readers, id));
        let kept: BTreeSet<Id> = above.into_iter().chain(below).collect();
        let are_kept = |from: &Id, to: &Id| kept.contains(from) && kept.contains(to);
        Self {
            nodes: (self.nodes.into_iter())
                .filter(|node| kept.contains(&node.id))
                .collect(),
            edges: (self.edges.into_iter())
                .filter(|edge| are_kept(&edge.from, &edge.to))
                .collect(),
            written: (self.written.into_iter())
                .filter(|it| are_kept(&it.from, &it.to))
                .collect(),
            cycles: (self.cycles.into_iter())
                .filter(|way| way.iter().any(|id| kept.contains(id)))
                .collect(),
            alone: 0,
        }
    }
}

/// Returns all links from one object to another.
fn links<'a>(edges: &'a [Edge], written: &'a [Written]) -> impl Iterator<Item = (&'a Id, &'a Id)> {
    let read = edges.iter().map(|edge| (&edge.from, &edge.to));
    read.chain(written.iter().map(|it| (&it.from, &it.to)))
}

/// Returns the objects that are read and that outputs of these Runnables go to.
fn written(runnables: &[Runnable], edges: &[Edge]) -> Vec<Written> {
    let read: BTreeSet<&Id> = edges.iter().map(|edge| &edge.from).collect();
    let of = |runnable: &Runnable| -> Vec<Written> {
        let from = Id::from_runnable(runnable);
        let sinks = runnable.spec.write_outputs_to.iter().flatten();
        let objects = sinks.map(|sink| Id::of_source(&sinks::identify(sink), &from.namespace));
        let objects = objects.filter(|to| read.contains(to));
        let written = objects.map(|to| Written {
            from: from.clone(),
            to,
        });
        written.collect()
    };
    runnables.iter().flat_map(of).collect()
}

/// The other ends of the edges of each object.
type Ends<'a> = BTreeMap<&'a Id, BTreeSet<&'a Id>>;

/// Returns the Runnables that a Runnable reads.
#[must_use]
pub fn reads(runnable: &Runnable) -> BTreeSet<Id> {
    let edges = edges(runnable).into_iter();
    edges
        .map(|edge| edge.from)
        .filter(Id::is_runnable)
        .collect()
}

/// Returns the sources of the inputs of a Runnable, in its order.
#[must_use]
pub fn edges(runnable: &Runnable) -> Vec<Edge> {
    let to = Id::from_runnable(runnable);
    let current = runnable.status.as_ref();
    let current = current.and_then(|status| status.current_run.as_ref());
    let sources = current.and_then(|run| run.sources.as_ref());
    let of = |source: &InputSource| {
        let object = SourceObject::from_source(source)?;
        let key = references::source_key(&to.namespace, source)?;
        let waits = source.runnable_ref.as_ref();
        Some(Edge {
            from: Id::of_source(&object, &to.namespace),
            to: to.clone(),
            input: source.name.clone(),
            word: object.kind.part(),
            part: references::key(source).to_owned(),
            wait_for: waits.map(|it| it.wait_for.unwrap_or_default()),
            optional: source.optional == Some(true),
            used: sources.and_then(|all| all.get(key.as_str()).cloned()),
        })
    };
    let sources = runnable.spec.inputs_from.iter().flatten();
    sources.filter_map(of).collect()
}

/// Sorts sources before their readers, then by namespace and name. If only cycles are left, the first of them by name
/// is next.
fn in_order(mut nodes: BTreeMap<Id, GraphNode>, links: &[(&Id, &Id)]) -> Vec<GraphNode> {
    let (mut waits, mut readers) = (Ends::new(), Ends::new());
    for (from, to) in links {
        waits.entry(to).or_default().insert(from);
        readers.entry(from).or_default().insert(to);
    }
    let ids: Vec<Id> = nodes.keys().cloned().collect();
    let is_free = |id: &&Id| !waits.contains_key(*id);
    let mut free: BTreeSet<&Id> = ids.iter().filter(is_free).collect();
    let mut order = Vec::new();
    while let Some(next) = free.pop_first().or_else(|| waits.keys().next().copied()) {
        waits.remove(next);
        order.extend(nodes.remove(next));
        for reader in readers.remove(next).into_iter().flatten() {
            if let Some(left) = waits.get_mut(reader) {
                left.remove(next);
                if left.is_empty() {
                    waits.remove(reader);
                    free.insert(reader);
                }
            }
        }
    }
    order
}

/// Returns each cycle once, from the member that is first by name.
fn cycles(links: &[(&Id, &Id)]) -> Vec<Vec<Id>> {
    let mut sources = Ends::new();
    for (from, to) in links {
        sources.entry(to).or_default().insert(from);
    }
    let mut shown: BTreeSet<&Id> = BTreeSet::new();
    let mut cycles = Vec::new();
    for id in sources.keys() {
        if shown.contains(id) {
            continue;
        }
        let reads = |id: &&Id| sources.get(*id).cloned().unwrap_or_default();
        if let Some(way) = graph::way_round(id, reads) {
            shown.extend(&way);
            cycles.push(way.into_iter().cloned().collect());
        }
    }
    cycles
}

/// Returns the graph as JSON.
#[must_use]
pub fn json(graph: &Graph) -> String {
    let cycles = graph.cycles.iter();
    let cycles = cycles.map(|way| way.iter().map(Id::key).collect());
    let cycles: Vec<Vec<String>> = cycles.collect();
    let nodes: Vec<Value> = graph.nodes.iter().map(GraphNode::to_json).collect();
    let outputs = graph.written.iter();
    let outputs = outputs.map(|it| json!({ "from": it.from.key(), "to": it.to.key() }));
    let outputs: Vec<Value> = outputs.collect();
    let written = json!({
        "nodes": nodes, "edges": graph.edges, "outputsTo": outputs, "cycles": cycles,
    });
    format!("{written:#}\n")
}
