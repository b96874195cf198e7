//! Comparisons as a comment of a pull request.

use std::fmt::Write as _;

use cartouche_authoring::foreign::{in_lines, in_one_line};

use super::{Compared, comparison::Comparison};
use crate::live::prospect::OfSecrets;

/// Bytes of a whole comment: GitHub takes 65,536 characters, and others no less.
const MOST: usize = 60_000;
/// Bytes of one Runnable's difference, and of one line of it.
const MOST_OF_ONE: usize = 16_000;
const MOST_OF_LINE: usize = 2_000;
/// Room for the sentence about what is left out.
const LAST_WORDS: usize = 200;

/// Returns the comment: a summary, the Runnables that would run or cannot be compared, and the rest.
pub(super) fn text(all: &[Compared]) -> String {
    let would_run =
        |compared: &&Compared| matches!(&compared.found, Ok(it) if it.would_run == Some(true));
    let is_same =
        |compared: &&Compared| matches!(&compared.found, Ok(it) if it.would_run == Some(false));
    let count = all.iter().filter(would_run).count();
    let runnables = if all.len() == 1 {
        "Runnable"
    } else {
        "Runnables"
    };
    let mut out = format!("**{count} of {} {runnables} would run**\n", all.len());
    let (rest, first): (Vec<_>, Vec<_>) = all.iter().partition(is_same);
    let sections = first.into_iter().map(section);
    let mut left_out = 0;
    for text in sections.chain(rest.into_iter().map(line)) {
        if out.len() + text.len() + LAST_WORDS > MOST {
            left_out += 1;
        } else {
            out.push_str(&text);
        }
    }
    if left_out > 0 {
        let _ = writeln!(
            out,
            "\n{left_out} more are not shown, because a comment has at most {MOST} bytes: `cartouche diff -f` shows all."
        );
    }
    out
}

fn section(compared: &Compared) -> String {
    let title = title(compared);
    match &compared.found {
        Ok(found) => {
            let mut out = format!("\n### {title}: {}\n\n", code(&found.verdict));
            out.push_str(&fenced("diff", &bounded(&difference(found))));
            for note in &found.notes {
                let _ = writeln!(out, "\n{}", code(note));
            }
            out
        }
        Err(error) => {
            let text = if error.downcast_ref::<OfSecrets>().is_some() {
                "the error may hold parts of a Secret, and is on standard error only\n".to_owned()
            } else {
                format!("{error:#}\n")
            };
            format!(
                "\n### {title}: unknown\n\n{}",
                fenced("text", &bounded(&text))
            )
        }
    }
}

/// Returns a single line for a Runnable that would not run.
fn line(compared: &Compared) -> String {
    let verdict = match &compared.found {
        Ok(found) => code(&found.verdict),
        Err(_) => String::new(),
    };
    format!("\n- {}: {verdict}", title(compared))
}

fn title(compared: &Compared) -> String {
    code(&format!("{}/{}", compared.namespace, compared.name))
}

/// Returns the text as a code span: it can hold no link, image, mention, issue number or HTML tag. The delimiter is
/// longer than any run of backticks within.
fn code(text: &str) -> String {
    let text = bounded(&in_one_line(text));
    let text = text.trim();
    match longest_backticks(text) {
        _ if text.is_empty() => String::new(),
        0 => format!("`{text}`"),
        longest => {
            let ticks = "`".repeat(longest + 1);
            format!("{ticks} {text} {ticks}")
        }
    }
}

fn longest_backticks(text: &str) -> usize {
    let runs = text.split(|c| c != '`').map(str::len);
    runs.max().unwrap_or_default()
}

fn difference(found: &Comparison) -> String {
    if found.has_secrets {
        return "! what a Secret holds is not shown\n".to_owned();
    }
    anstream::adapter::strip_str(&found.difference()).to_string()
}

/// Cuts a text to the limits, at whole lines if they are not too long, and says how many lines are left out.
fn bounded(text: &str) -> String {
    let mut out = String::new();
    let mut left_out = 0;
    // Escapes take room, too.
    for line in in_lines(text).lines() {
        let end = line.floor_char_boundary(MOST_OF_LINE);
        let (kept, rest) = line.split_at(end);
        if left_out > 0 || out.len() + kept.len() > MOST_OF_ONE {
            left_out += 1;
            continue;
        }
        out.push_str(kept);
        out.push_str(if rest.is_empty() { "\n" } else { "…\n" });
    }
    if left_out > 0 {
        let _ = writeln!(out, "… and {left_out} more lines");
    }
    out
}

/// Returns a code block, whose fence is longer than any run of backticks within.
fn fenced(language: &str, text: &str) -> String {
    let fence = "`".repeat(longest_backticks(text).max(2) + 1);
    format!("{fence}{language}\n{text}{fence}\n")
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;
    use serde_json::json;

    use super::*;
    use crate::{
        commands::diff::comparison::Last,
        live::{object_diff, run_diff::RunDiff},
    };

    fn compared(name: &str, would_run: bool, value: &str) -> Compared {
        let change = object_diff::changes(&json!({ "spec": 1 }), &json!({ "spec": value }));
        Compared {
            name: name.to_owned(),
            namespace: "demo".to_owned(),
            found: Ok(Comparison {
                profile: None,
                last_profile: None,
                name: name.to_owned(),
                namespace: "demo".to_owned(),
                would_run: Some(would_run),
                sequence: 2,
                input_hash: Some("v1:0".to_owned()),
                kind: "Job".to_owned(),
                last: Last::Known(RunDiff {
                    changes: change,
                    ..RunDiff::default()
                }),
                notes: Vec::new(),
                verdict: "this would be run 2 (v1:0)".to_owned(),
                has_secrets: false,
            }),
        }
    }

    #[test]
    fn the_summary_comes_first_and_each_runnable_that_would_run_has_a_block() {
        let mut failed = compared("c", false, "");
        failed.found = Err(anyhow!("there is no ClusterRunTemplate x"));
        let all = [compared("a", true, "new"), compared("b", false, ""), failed];
        let expected = "\
**1 of 3 Runnables would run**

### `demo/a`: `this would be run 2 (v1:0)`

```diff
- spec: 1
+ spec: \"new\"
```

### `demo/c`: unknown

```text
there is no ClusterRunTemplate x
```

- `demo/b`: `this would be run 2 (v1:0)`";
        assert_eq!(text(&all), expected);
    }

    #[test]
    fn no_value_ends_its_block() {
        let fences = "```\n````\nend";
        let text = text(&[compared("a", true, fences)]);
        assert!(text.contains("\n`````diff\n"), "{text}");
        assert!(text.ends_with("\n`````\n"), "{text}");
        let broken = text_of_name("a`\n# b");
        assert!(broken.contains("### `` demo/a` # b ``: "), "{broken}");
    }

    /// Returns a comment without its code spans and code blocks, as `CommonMark` finds them.
    fn outside_of_code(text: &str) -> String {
        let mut out = String::new();
        let mut fence: Option<&str> = None;
        for line in text.lines() {
            let ticks = line.len() - line.trim_start_matches('`').len();
            let (head, info) = line.split_at(ticks);
            match fence {
                Some(open) if head.len() >= open.len() && info.trim().is_empty() => fence = None,
                Some(_) => {}
                None if ticks >= 3 && !info.contains('`') => fence = Some(head),
                None => {
                    out.push_str(&outside_of_spans(line));
                    out.push('\n');
                }
            }
        }
        out
    }

    fn outside_of_spans(line: &str) -> String {
        let mut out = String::new();
        let mut rest = line;
        while let Some(begin) = rest.find('`') {
            let (before, code) = rest.split_at(begin);
            out.push_str(before);
            let inner = code.trim_start_matches('`');
            let ticks = code.len() - inner.len();
            let mut end = None;
            let mut at = 0;
            while let Some(next) = inner[at..].find('`') {
                let run = &inner[at + next..];
                let length = run.len() - run.trim_start_matches('`').len();
                at += next + length;
                if length == ticks {
                    end = Some(at);
                    break;
                }
            }
            // A run without an end is text.
            rest = end.map_or(inner, |end| &inner[end..]);
        }
        out + rest
    }

    #[test]
    fn nothing_that_others_write_is_markdown() {
        for evil in [
            "[click](http://evil)",
            "![evil](http://evil/i.png)",
            "@evil/team",
            "<img src=evil>",
            "`evil` ``evil`` [evil](http://evil)",
            "a` @evil `b",
            "evil`",
            "`````",
            "\n```\n@evil\n",
            "\r```\r@evil",
            "fixes #1 evil",
            "**evil** | evil |",
            "http://evil",
            "\u{2028}@evil\u{202e}",
        ] {
            let mut one = compared(evil, true, evil);
            one.namespace = evil.to_owned();
            if let Ok(found) = &mut one.found {
                found.verdict = evil.to_owned();
                found.notes = vec![evil.to_owned(), format!("{evil}`{evil}")];
            }
            let mut same = compared(evil, false, "");
            if let Ok(found) = &mut same.found {
                found.verdict = evil.to_owned();
            }
            let mut failed = compared("c", false, "");
            failed.found = Err(anyhow!("{evil}\n{evil}"));
            let mut new = compared("d", true, "");
            if let Ok(found) = &mut new.found {
                found.last = Last::None {
                    run: json!({ "data": { evil: format!("{evil}\n{evil}") } }),
                };
            }
            let text = text(&[one, same, failed, new]);
            let outside = outside_of_code(&text);
            let is_own = |line: &str| {
                [
                    "",
                    "**2 of 4 Runnables would run**",
                    "### : ",
                    "### : unknown",
                    "- : ",
                ]
                .contains(&line)
            };
            let foreign: Vec<&str> = outside.lines().filter(|line| !is_own(line)).collect();
            assert!(foreign.is_empty(), "{evil:?}: {foreign:?}\n{text}");
            assert!(!text.contains(['\u{2028}', '\u{202e}', '\r']), "{text:?}");
        }
    }

    fn text_of_name(name: &str) -> String {
        text(&[compared(name, true, "")])
    }

    #[test]
    fn a_comment_has_a_bound_and_says_what_is_left_out() {
        let lines = |count: usize| -> String { (0..count).map(|_| "é".repeat(500)).collect() };
        let all: Vec<_> = (0..9)
            .map(|index| {
                let mut one = compared(&format!("r{index}"), true, "");
                let run = json!({ "list": vec![lines(5); 100] });
                if let Ok(found) = &mut one.found {
                    found.last = Last::None { run };
                }
                one
            })
            .collect();
        let text = text(&all);
        assert!(text.len() <= MOST, "{}", text.len());
        assert!(text.contains("more lines\n```\n"));
        let shown = text.matches("\n### ").count();
        let left_out = format!("\n{} more are not shown", 9 - shown);
        assert!(shown > 2 && text.contains(&left_out), "{shown} are shown");
    }

    #[test]
    fn what_a_secret_holds_is_never_in_a_comment() {
        let mut secret = compared("a", true, "hunter2");
        if let Ok(found) = &mut secret.found {
            found.has_secrets = true;
        }
        let mut failed = compared("b", true, "");
        failed.found = Err(anyhow!("invalid value: hunter2").context(OfSecrets));
        let text = text(&[secret, failed]);
        assert!(text.contains("Secret holds is not shown"), "{text}");
        assert!(text.contains("on standard error only"), "{text}");
        assert!(!text.contains("hunter2"), "{text}");
    }
}
