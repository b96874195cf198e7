//! The descriptions, a scrape and the pages have the same metrics.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use super::*;

/// Names and labels.
type Described = BTreeMap<String, BTreeSet<String>>;

/// Returns all metrics, each with all of its labels.
fn counted() -> Metrics {
    let metrics = Metrics::default();
    metrics.surveyed_by(|| (Survey::default(), None));
    let took = Duration::from_millis(20);
    metrics.request(&Method::PATCH, true, Some(StatusCode::OK), took);
    metrics.reconcile("settled", 0.02);
    metrics.run_finished(RunResult::Lost);
    metrics.run_stopped(Some(&StopReason::TimedOut));
    metrics.watches(WatchLabel::Polled, 1);
    metrics.object_watch(Some(ObjectWatch::Full), None);
    metrics.own_watch("things", true);
    metrics.status_refused(StatusVerb::Update);
    metrics
}

/// Returns the name of a sample, and of its labels. `le` is a label of every histogram.
fn sample(line: &str) -> Option<(String, BTreeSet<String>)> {
    let (name, labels) = line.split_once([' ', '{'])?;
    let labels = if line.contains('{') { labels } else { "" };
    let names = labels.split('"').step_by(2);
    let names = names.filter_map(|it| it.trim_start_matches(',').strip_suffix('='));
    let names = names.filter(|it| *it != "le").map(str::to_owned).collect();
    Some((name.to_owned(), names))
}

#[test]
fn each_metric_of_a_scrape_is_described_with_its_labels() {
    let text = counted().text();
    let samples: Described = text.lines().filter_map(sample).collect();
    for it in descriptions() {
        let is_histogram = it.kind == MetricKind::Histogram;
        let sample = format!("{}{}", it.name, if is_histogram { "_count" } else { "" });
        let labels: BTreeSet<String> = it.labels.iter().map(|&it| it.to_owned()).collect();
        assert_eq!(samples.get(&sample), Some(&labels), "{sample}: {text}");
        let declared = it.name.strip_suffix("_total").unwrap_or(&it.name);
        let line = format!("# TYPE {declared} {}\n", it.kind.as_str());
        assert!(text.contains(&line), "{line}: {text}");
    }
    let declared = text.lines().filter(|line| line.starts_with("# TYPE "));
    assert_eq!(declared.count(), descriptions().len());
}

/// Returns the metrics that a text names.
fn named(text: &str) -> impl Iterator<Item = &str> {
    let starts = text.match_indices("cartouche_").map(|(at, _)| &text[at..]);
    starts.map(|rest| {
        let end = rest.find(|it: char| !it.is_ascii_lowercase() && it != '_');
        &rest[..end.unwrap_or(rest.len())]
    })
}

#[test]
fn no_page_names_another_metric() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let files_in = |folder: &Path| fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
    let folders = files_in(&root.join("docs")).filter(|it| it.is_dir());
    let docs = folders.flat_map(|folder| files_in(&folder));
    let docs = docs.filter(|path| path.extension().is_some_and(|it| it == "md"));
    let others = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md"].map(|name| root.join(name));
    let known: BTreeSet<String> = descriptions().into_iter().map(|it| it.name).collect();
    let mut seen = 0;
    for path in docs.chain(others) {
        for name in named(&fs::read_to_string(&path).unwrap()) {
            let plain = ["_bucket", "_count", "_sum"]
                .iter()
                .find_map(|it| name.strip_suffix(it));
            let is_known = known.contains(name) || plain.is_some_and(|it| known.contains(it));
            assert!(is_known, "{}: {name}", path.display());
            seen += 1;
        }
    }
    assert!(seen > known.len(), "{seen}");
}

#[test]
fn requests_that_were_held_back_and_patches_are_counted_apart() {
    let metrics = Metrics::default();
    let took = Duration::from_millis(300);
    metrics.request(
        &Method::PATCH,
        false,
        Some(StatusCode::TOO_MANY_REQUESTS),
        took,
    );
    metrics.request(&Method::PATCH, false, None, took);
    let text = metrics.text();
    for line in [
        r#"cartouche_api_requests_total{method="PATCH",identity="account",code="429"} 1"#,
        r#"cartouche_api_requests_total{method="PATCH",identity="account",code="none"} 1"#,
        r#"cartouche_api_request_duration_seconds_bucket{le="0.25",method="PATCH"} 0"#,
        r#"cartouche_api_request_duration_seconds_bucket{le="0.5",method="PATCH"} 1"#,
        r#"cartouche_api_request_duration_seconds_count{method="PATCH"} 1"#,
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn runnables_are_counted_by_ready_and_their_sum_is_0_without_any() {
    let metrics = Metrics::default();
    let survey = Survey {
        ready: [(("Unknown", "Unobserved"), 2)].into(),
        ..Survey::default()
    };
    metrics.surveyed_by(move || (survey.clone(), None));
    let text = metrics.text();
    for line in [
        "cartouche_runnables{ready=\"True\",reason=\"Ready\"} 0\n",
        "cartouche_runnables{ready=\"Unknown\",reason=\"Unobserved\"} 2\n",
        "cartouche_oldest_waiting_change_age_seconds 0.0\n",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn a_watch_that_nothing_needs_has_no_line() {
    let metrics = Metrics::default();
    metrics.own_watch("things", false);
    assert!(
        metrics
            .text()
            .contains("cartouche_watch_up{resource=\"things\"} 0\n")
    );
    metrics.own_watch_unneeded("things");
    assert!(!metrics.text().contains("things"));
}

#[cfg(target_os = "linux")]
#[test]
fn the_process_says_what_it_takes() {
    let text = Metrics::default().text();
    let value = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()
    };
    assert!(value("process_cpu_seconds_total ") > 0.0);
    assert!(value("process_resident_memory_bytes ") > 1e6);
    assert!(value("process_start_time_seconds ") > 1.7e9);
    assert!(value("process_open_fds ") > 2.0);
}
