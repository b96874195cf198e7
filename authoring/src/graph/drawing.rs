//! A graph for programs that draw: DOT for Graphviz, and Mermaid.

use std::{collections::BTreeMap, fmt::Write as _};

use cartouche_protocol::sources::WaitFor;

use super::{Edge, Graph, GraphNode, Id};
use crate::foreign::in_one_line;

/// Label of the edge from a Runnable to an object that its outputs go to.
const OUTPUTS: &str = "outputs";

/// Draws a graph for `dot -Tsvg`.
#[must_use]
pub fn dot(graph: &Graph) -> String {
    let mut out = String::from("digraph cartouche {\n  rankdir=LR;\n  node [shape=box];\n");
    for node in &graph.nodes {
        let shape = if node.id.is_runnable() {
            ""
        } else {
            ", style=rounded"
        };
        let label = lines(node).map(in_dot).join("\\n");
        let _ = writeln!(
            out,
            "  \"{}\" [label=\"{label}\"{shape}];",
            in_dot(&node.id.key())
        );
    }
    for edge in &graph.edges {
        let style = if waits(edge) { "" } else { ", style=dashed" };
        let _ = writeln!(
            out,
            "  \"{}\" -> \"{}\" [label=\"{}\"{style}];",
            in_dot(&edge.from.key()),
            in_dot(&edge.to.key()),
            in_dot(&edge.input)
        );
    }
    for written in &graph.written {
        let _ = writeln!(
            out,
            "  \"{}\" -> \"{}\" [label=\"{OUTPUTS}\"];",
            in_dot(&written.from.key()),
            in_dot(&written.to.key())
        );
    }
    out.push_str("}\n");
    out
}

/// Draws a graph for a page of Markdown.
#[must_use]
pub fn mermaid(graph: &Graph) -> String {
    let mut out = String::from("flowchart LR\n");
    let numbers: BTreeMap<&Id, usize> = graph.nodes.iter().map(|it| &it.id).zip(0..).collect();
    for (number, node) in graph.nodes.iter().enumerate() {
        let (open, close) = if node.id.is_runnable() {
            ('[', ']')
        } else {
            ('(', ')')
        };
        let label = lines(node).map(in_mermaid).join("<br/>");
        let _ = writeln!(out, "  n{number}{open}\"{label}\"{close}");
    }
    for edge in &graph.edges {
        let arrow = if waits(edge) { "-->" } else { "-.->" };
        if let Some((from, to)) = numbers.get(&edge.from).zip(numbers.get(&edge.to)) {
            let label = in_mermaid(&edge.input);
            let _ = writeln!(out, "  n{from} {arrow}|\"{label}\"| n{to}");
        }
    }
    for written in &graph.written {
        if let Some((from, to)) = numbers.get(&written.from).zip(numbers.get(&written.to)) {
            let _ = writeln!(out, "  n{from} -->|\"{OUTPUTS}\"| n{to}");
        }
    }
    out
}

/// Returns true if the reader waits for the source.
fn waits(edge: &Edge) -> bool {
    edge.wait_for != Some(WaitFor::Nothing)
}

/// Returns kind and name of a node, and its state.
fn lines(node: &GraphNode) -> NodeLines {
    let shown = node.describe();
    let second = (!shown.is_empty()).then_some(shown);
    NodeLines(std::iter::once(node.id.describe()).chain(second).collect())
}

struct NodeLines(Vec<String>);

impl NodeLines {
    fn map(self, text: impl Fn(&str) -> String) -> Vec<String> {
        self.0.iter().map(|line| text(line)).collect()
    }
}

/// Escapes a text for quotes.
fn in_dot(text: &str) -> String {
    let text = in_one_line(text);
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

/// Escapes a text for quotes: all that may have a meaning there is written by its number.
fn in_mermaid(text: &str) -> String {
    let mut out = String::new();
    for character in in_one_line(text).chars() {
        if character.is_alphanumeric() || " ._/:,()-".contains(character) {
            out.push(character);
        } else {
            let _ = write!(out, "#{};", u32::from(character));
        }
    }
    out
}
