//! A graph for people: each Runnable once, after those that it reads, and below it the sources of its inputs.

use std::{collections::BTreeMap, fmt::Write as _};

use cartouche_protocol::messages::diagnosis::Diagnosis;

use super::{Edge, Graph, GraphNode, Id, NodeKnowledge, with_marks};
use crate::foreign::in_one_line;

/// Writes a graph for people.
#[must_use]
pub fn text(graph: &Graph) -> String {
    let mut out = String::new();
    let nodes: BTreeMap<&Id, &GraphNode> = graph.nodes.iter().map(|it| (&it.id, it)).collect();
    let mut edges: BTreeMap<&Id, Vec<&Edge>> = BTreeMap::new();
    for edge in &graph.edges {
        edges.entry(&edge.to).or_default().push(edge);
    }
    let is_line = |node: &&GraphNode| node.id.is_runnable();
    for node in graph.nodes.iter().filter(is_line) {
        let edges = edges.get(&node.id).map(Vec::as_slice);
        line(&mut out, graph, &nodes, node, edges.unwrap_or_default());
    }
    for way in &graph.cycles {
        let diagnosis = Diagnosis::DependencyCycle(way.iter().map(Id::as_source).collect());
        let _ = writeln!(out, "cycle: {}", in_one_line(&diagnosis.to_string()));
    }
    match graph.alone {
        0 => {}
        1 => out.push_str("1 Runnable reads no other object, and is read by none\n"),
        more => {
            let _ = writeln!(
                out,
                "{more} Runnables read no other object, and are read by none"
            );
        }
    }
    out
}

fn line(
    out: &mut String,
    graph: &Graph,
    nodes: &BTreeMap<&Id, &GraphNode>,
    node: &GraphNode,
    edges: &[&Edge],
) {
    let _ = write!(out, "{}", in_one_line(&node.id.describe()));
    let shown = node.describe();
    if !shown.is_empty() {
        let _ = write!(out, "  {}", in_one_line(&shown));
    }
    let state = node.state();
    if let Some(revision) = state.and_then(|it| it.revision.as_ref()) {
        let _ = write!(out, ", gives {}", in_one_line(revision));
    }
    out.push('\n');
    let mut below: Vec<String> = Vec::new();
    below.extend(state.and_then(|it| it.held_by.clone()));
    below.extend(edges.iter().map(|edge| source(graph, nodes, edge)));
    for (index, text) in below.iter().enumerate() {
        let corner = if index + 1 == below.len() {
            "└── "
        } else {
            "├── "
        };
        let _ = writeln!(out, "{corner}{}", in_one_line(text));
    }
}

/// Returns the line of one input: its source, and the state of the source that was used.
fn source(graph: &Graph, nodes: &BTreeMap<&Id, &GraphNode>, edge: &Edge) -> String {
    let mut marks = edge.marks();
    let written = graph.written.iter().filter(|it| it.to == edge.from);
    marks.extend(written.map(|it| format!("has outputs of {}", it.from.describe())));
    let of = nodes.get(&edge.from);
    if let Some(of) =
        of.filter(|it| !matches!(it.known, NodeKnowledge::Seen(_) | NodeKnowledge::Named))
    {
        marks.push(of.describe());
    }
    let gives = of.and_then(|it| it.state()).map(|it| it.revision.as_ref());
    match (&edge.used, gives) {
        (Some(used), Some(Some(gives))) if used != gives => {
            marks.push(format!("made from {used}, which has changed"));
        }
        (Some(used), _) => marks.push(format!("made from {used}")),
        (None, _) => {}
    }
    with_marks(&edge.named(), &marks)
}
