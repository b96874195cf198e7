//! `cartouche test`.

use std::{
    fmt::Write as _,
    path::PathBuf,
    time::{Duration, Instant},
};

use anstyle::{AnsiColor, Style};
use anyhow::bail;
use cartouche_authoring::{
    foreign::{in_lines, in_one_line},
    manifests::replace,
    template_test::{
        Case, find, junit,
        perform::{Difference, Mode, perform},
    },
};
use clap::Args;

use crate::outcome::{FOUND, GOOD, Outcome};

const PASSED: Style = AnsiColor::Green.on_default();
const FAILED: Style = AnsiColor::Red.on_default().bold();

/// Test templates: their runs, conditions and outputs
#[derive(Args, Debug)]
#[command(after_help = "\
A case is a folder with
  expected.yaml            the expected run, or
  expected-error.txt       the expected error;
  played/NAME.yaml         statuses that the engine writes, in the order of their names, and
  played/NAME.expected.yaml  the expected conditions and outputs of the Runnable;
  case.yaml                description, inputs (merged into those of the Runnable), and where template,
                           runnable, selected and sources are, if not in template.yaml (or
                           run-template.yaml), runnable.yaml, selected.yaml and sources.yaml of
                           this folder or of one above it.

sources.yaml holds all ConfigMaps and Secrets that inputs come from.

Examples:
  cartouche test examples
  cartouche test examples --filter job --junit results.xml
  cartouche test examples --update        write the actual results as the expected ones

Exit code 1 if a case fails, 2 if there is none.")]
pub(crate) struct TestArgs {
    /// Folders with cases
    #[arg(default_value = ".")]
    folders: Vec<PathBuf>,
    /// Only cases whose path contains this text; may be given several times
    #[arg(short, long, value_name = "TEXT")]
    filter: Vec<String>,
    /// Write the actual results as the expected ones
    #[arg(short, long)]
    update: bool,
    /// Write the results as `JUnit` XML as well
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// List the cases and do nothing else
    #[arg(short, long)]
    list: bool,
}

/// Case that was played, with its result.
struct Played {
    case: Case,
    took: Duration,
    differences: anyhow::Result<Vec<Difference>>,
}

pub(crate) fn execute(args: &TestArgs) -> anyhow::Result<Outcome> {
    let cases = cases(args)?;
    if args.list {
        let names = cases.iter().map(|case| in_one_line(&case.name) + "\n");
        return Ok(Outcome::good(names.collect::<String>()));
    }
    let mode = if args.update {
        Mode::Update
    } else {
        Mode::Compare
    };
    let played: Vec<Played> = cases.into_iter().map(|case| play(case, mode)).collect();
    if let Some(path) = &args.junit {
        let results: Vec<_> = played.iter().map(result).collect();
        replace(path, &junit::document(&results))?;
    }
    let failed = played.iter().filter(|played| !played.passed()).count();
    let mut out = String::new();
    for played in &played {
        out.push_str(&format_played(played));
    }
    let passed = played.len() - failed;
    writeln!(out, "{passed} passed, {failed} failed")?;
    if failed > 0 && mode == Mode::Compare {
        writeln!(
            out,
            "`-` is expected, `+` is the result; --update accepts the result"
        )?;
    }
    Ok(Outcome {
        out,
        err: String::new(),
        code: if failed > 0 { FOUND } else { GOOD },
        ..Outcome::default()
    })
}

fn cases(args: &TestArgs) -> anyhow::Result<Vec<Case>> {
    let mut cases = Vec::new();
    for folder in &args.folders {
        cases.extend(find::cases(folder)?);
    }
    let wanted = |case: &Case| {
        args.filter.is_empty() || args.filter.iter().any(|text| case.name.contains(text))
    };
    let found = cases.len();
    cases.retain(wanted);
    match (found, cases.len()) {
        (0, _) => bail!(
            "there is no case here\nhint: a case is a folder with case.yaml; --update then writes expected.yaml"
        ),
        (found, 0) => bail!(
            "none of the {found} cases has this in its path: {}",
            args.filter.join(", ")
        ),
        _ => Ok(cases),
    }
}

fn play(case: Case, mode: Mode) -> Played {
    let start = Instant::now();
    let differences = perform(&case, mode);
    Played {
        case,
        took: start.elapsed(),
        differences,
    }
}

impl Played {
    fn passed(&self) -> bool {
        self.differences.as_ref().is_ok_and(Vec::is_empty)
    }

    /// Returns why the case failed.
    fn failure(&self) -> String {
        match &self.differences {
            Err(error) => in_lines(&format!("{error:#}\n")),
            Ok(differences) => {
                let differ =
                    |it: &Difference| [&in_one_line(&it.file), " differs\n", &it.text].concat();
                differences.iter().map(differ).collect()
            }
        }
    }
}

fn format_played(played: &Played) -> String {
    let name = in_one_line(&played.case.name);
    let about = played
        .case
        .description
        .as_deref()
        .map_or(String::new(), |text| format!(": {}", in_one_line(text)));
    if played.passed() {
        return format!("{PASSED}ok{PASSED:#}   {name}{about}\n");
    }
    let mut out = format!("{FAILED}FAIL{FAILED:#} {name}{about}\n");
    for line in played.failure().lines() {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "     {line}");
    }
    out
}

fn result(played: &Played) -> junit::Result<'_> {
    junit::Result {
        name: &played.case.name,
        took: played.took,
        failure: (!played.passed()).then(|| played.failure()),
    }
}
