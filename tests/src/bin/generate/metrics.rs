//! `docs/reference/metrics.md`: a table of metrics for each subject, from the table in the controller.

use std::collections::BTreeMap;

use cartouche_controller::metrics::{Description, descriptions};

use crate::page::{Block, Table};

/// Returns a block for each subject, which is its name.
pub(super) fn blocks() -> Vec<Block> {
    let mut subjects: BTreeMap<&'static str, Vec<Description>> = BTreeMap::new();
    for metric in descriptions() {
        subjects.entry(metric.subject).or_default().push(metric);
    }
    let blocks = subjects.into_iter().map(|(name, metrics)| Block {
        name,
        content: table(&metrics),
    });
    blocks.collect()
}

fn table(metrics: &[Description]) -> String {
    let mut table = Table::new(&["metric", "type", "labels", "meaning"]);
    for metric in metrics {
        let labels: Vec<String> = metric.labels.iter().map(|it| format!("`{it}`")).collect();
        table.add([
            format!("`{}`", metric.name),
            metric.kind.as_str().to_owned(),
            labels.join(", "),
            metric.help.to_owned(),
        ]);
    }
    table.text()
}
