//! Runnables as lines of text.

use serde_json::Value;

use crate::observation::Row;

/// Style of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    pub(crate) colour: bool,
    /// Maximum width; longer lines are cut.
    pub(crate) columns: usize,
}

const HEADINGS: [&str; 5] = ["RUNNABLE", "READY", "RUN", "AGE", "OUTPUTS"];
/// Maximum characters of one output, so that a digest does not hide the others.
const LONGEST_VALUE: usize = 40;
const GREEN: &str = "32";
const RED: &str = "31";
const YELLOW: &str = "33";
const BOLD: &str = "1";

/// Returns the lines of the table, the heading first. `now` is in seconds since 1970.
pub(crate) fn lines(rows: &[Row], now: i64, style: Style) -> Vec<String> {
    let cells: Vec<[String; 5]> = rows.iter().map(|row| cells(row, now)).collect();
    let widths: Vec<usize> = (0..HEADINGS.len())
        .map(|column| {
            let longest = cells.iter().map(|row| row[column].chars().count()).max();
            longest.unwrap_or(0).max(HEADINGS[column].len())
        })
        .collect();
    let mut lines = vec![painted(&joined(&HEADINGS, &widths, style), BOLD, style)];
    for (row, cells) in rows.iter().zip(&cells) {
        let line = joined(&cells.each_ref().map(String::as_str), &widths, style);
        lines.push(with_painted_ready(&line, row, &widths, style));
    }
    lines
}

/// Returns one Runnable as one line, for output where a table cannot be redrawn.
pub(crate) fn line(row: &Row) -> String {
    let [name, ready, run, ..] = cells(row, 0);
    let outputs = outputs(row, usize::MAX);
    let reason = match (ready.as_str(), row.reason.as_str()) {
        ("True", _) | (_, "") => String::new(),
        (_, reason) => format!(" ({})", printable(reason)),
    };
    let parts = [
        format!("{name}: ready {ready}{reason}"),
        labelled("run", &run),
        labelled("outputs", &outputs),
    ];
    parts.concat()
}

fn labelled(label: &str, value: &str) -> String {
    match value {
        "" => String::new(),
        value => format!(", {label} {value}"),
    }
}

fn cells(row: &Row, now: i64) -> [String; 5] {
    let ready = if row.ready.is_empty() {
        "-"
    } else {
        &row.ready
    };
    let run = row.run.as_ref();
    let age = row.started.filter(|_| run.is_some());
    let is_to_be_read = row.ready == "False" || row.approval.is_some();
    let details = if is_to_be_read && row.outputs.is_empty() {
        printable(&format!("{}: {}", row.reason, row.message))
    } else {
        outputs(row, LONGEST_VALUE)
    };
    [
        printable(&row.name),
        printable(ready),
        run.map(|(name, _)| printable(name)).unwrap_or_default(),
        age.map(|started| age_text(now - started))
            .unwrap_or_default(),
        details,
    ]
}

fn outputs(row: &Row, longest: usize) -> String {
    let pairs = row.outputs.iter().map(|(name, value)| {
        let value = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        format!("{name}={}", cut(&value, longest))
    });
    printable(&pairs.collect::<Vec<_>>().join("  "))
}

fn age_text(seconds: i64) -> String {
    match seconds.max(0) {
        seconds @ 0..120 => format!("{seconds}s"),
        seconds @ 120..7200 => format!("{}m", seconds / 60),
        seconds => format!("{}h", seconds / 3600),
    }
}

/// Replaces control characters: values come from a cluster and must not move the cursor.
fn printable(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

fn joined(cells: &[&str; 5], widths: &[usize], style: Style) -> String {
    let padded = cells
        .iter()
        .zip(widths)
        .map(|(cell, width)| format!("{cell:width$}"));
    let line = padded.collect::<Vec<_>>().join("  ");
    cut(line.trim_end(), style.columns)
}

fn cut(line: &str, columns: usize) -> String {
    if line.chars().count() <= columns {
        return line.to_owned();
    }
    let kept: String = line.chars().take(columns.saturating_sub(1)).collect();
    kept + "…"
}

/// Colours the second cell of a line that is already cut, because colour codes have no width.
fn with_painted_ready(line: &str, row: &Row, widths: &[usize], style: Style) -> String {
    let colour = match row.ready.as_str() {
        "True" => GREEN,
        "False" => RED,
        _ => YELLOW,
    };
    let begin = widths[0] + 2;
    let characters: Vec<char> = line.chars().collect();
    let end = (begin + widths[1]).min(characters.len());
    if begin >= end {
        return line.to_owned();
    }
    let part = |range: &[char]| range.iter().collect::<String>();
    format!(
        "{}{}{}",
        part(&characters[..begin]),
        painted(&part(&characters[begin..end]), colour, style),
        part(&characters[end..])
    )
}

fn painted(text: &str, colour: &str, style: Style) -> String {
    if style.colour {
        format!("\x1b[{colour}m{text}\x1b[0m")
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    const PLAIN: Style = Style {
        colour: false,
        columns: 200,
    };

    fn row() -> Row {
        Row {
            name: "hello".to_owned(),
            ready: "True".to_owned(),
            run: Some(("hello-x7k2p".to_owned(), 1)),
            started: Some(1000),
            outputs: BTreeMap::from([
                ("image".to_owned(), json!("a@sha256:1")),
                ("pods".to_owned(), json!(1)),
            ]),
            ..Row::default()
        }
    }

    #[test]
    fn columns_stand_under_their_headings() {
        let lines = lines(&[row()], 1042, PLAIN);
        assert_eq!(
            lines,
            [
                "RUNNABLE  READY  RUN          AGE  OUTPUTS",
                "hello     True   hello-x7k2p  42s  image=a@sha256:1  pods=1",
            ]
        );
    }

    #[test]
    fn a_line_is_cut_at_the_edge_of_the_terminal() {
        let narrow = Style {
            columns: 20,
            ..PLAIN
        };
        for line in lines(&[row()], 1042, narrow) {
            assert_eq!(line.chars().count(), 20);
            assert!(line.ends_with('…'));
        }
    }

    #[test]
    fn a_long_output_leaves_room_for_the_next_one() {
        let mut row = row();
        let long = json!("x".repeat(100));
        row.outputs = BTreeMap::from([("a".to_owned(), long), ("b".to_owned(), json!(2))]);
        assert!(lines(&[row.clone()], 0, PLAIN)[1].ends_with("x…  b=2"));
        assert!(line(&row).contains(&"x".repeat(100)));
    }

    #[test]
    fn colours_change_nothing_else() {
        let colourful = Style {
            colour: true,
            ..PLAIN
        };
        let stripped: Vec<String> = lines(&[row()], 1042, colourful)
            .iter()
            .map(|line| {
                ["\x1b[1m", "\x1b[32m", "\x1b[0m"]
                    .iter()
                    .fold(line.clone(), |line, code| line.replace(code, ""))
            })
            .collect();
        assert_eq!(stripped, lines(&[row()], 1042, PLAIN));
    }

    #[test]
    fn an_output_cannot_move_the_cursor() {
        let mut row = row();
        row.outputs = BTreeMap::from([("x".to_owned(), json!("\u{1b}[2J\nboo"))]);
        assert!(!line(&row).chars().any(char::is_control), "{}", line(&row));
    }

    #[test]
    fn a_failure_shows_its_reason_where_outputs_would_be() {
        let row = Row {
            ready: "False".to_owned(),
            reason: "RunTemplateNotFound".to_owned(),
            message: "no such template".to_owned(),
            outputs: BTreeMap::new(),
            ..row()
        };
        let table = lines(&[row], 1042, PLAIN);
        assert!(
            table[1].ends_with("RunTemplateNotFound: no such template"),
            "{}",
            table[1]
        );
    }
}
