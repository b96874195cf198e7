//! Commands that are written as for a shell, where none reads them.

use std::collections::BTreeSet;

use cartouche_language::suggestion;
use serde_json::json;

use super::{Part, Pod, PodFault};

pub(in crate::validate) const SHELLS: [&str; 6] = ["sh", "bash", "ash", "dash", "zsh", "ksh"];
/// Programs that neither read such words themselves nor give them to a shell.
const PLAIN: [&str; 18] = [
    "cat", "cd", "cp", "curl", "echo", "git", "go", "ls", "make", "mkdir", "mv", "npm", "pip",
    "printf", "python", "python3", "rm", "wget",
];
const OPERATORS: [&str; 3] = ["&&", "||", "2>&1"];
/// Characters that mean something to a shell.
const OF_A_SHELL: [char; 7] = ['|', '&', ';', '<', '>', '$', '*'];
/// Options of shells with a word behind them.
const WITH_A_WORD: [&str; 6] = ["-o", "+o", "-O", "+O", "--rcfile", "--init-file"];

pub(super) fn check(container: &Part<'_>) -> Option<PodFault> {
    let (command, args) = (container.items("command"), container.items("args"));
    let (program, given) = command.split_first()?;
    let name = program.value.as_str()?;
    if name.contains(char::is_whitespace) {
        return several_words(container, program, name);
    }
    let given: Vec<&Part<'_>> = given.iter().chain(&args).collect();
    let base = base(name);
    if SHELLS.contains(&base) {
        return of_a_shell(base, &given);
    }
    let word = given
        .iter()
        .filter(|_| PLAIN.contains(&base))
        .find(|word| {
            let text = word.value.as_str();
            text.is_some_and(|text| OPERATORS.contains(&text))
        })?;
    let text = word.text()?;
    let message = format!("{base} gets '{text}' as an argument: no shell reads it");
    let help =
        "run it in a shell: command: [sh, -c, \"...\"], with all of it in one string".to_owned();
    Some(PodFault::surprise(
        word,
        message,
        "this is only a text",
        help,
    ))
}

/// Returns the name of a program without the folders before it.
pub(in crate::validate) fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Finds the whole command in one text.
fn several_words(container: &Part<'_>, program: &Part<'_>, name: &str) -> Option<PodFault> {
    program.text()?;
    let words: Vec<&str> = name.split_whitespace().collect();
    let (first, second) = (words.first()?, words.get(1)?);
    // A path of Windows may have blanks.
    if first.contains([':', '\\']) {
        return None;
    }
    let message = format!(
        "{} runs a program whose name is '{}', with the blanks: there is probably no such program",
        container.container(),
        in_short(name)
    );
    let help = if SHELLS.contains(&base(first)) && *second == "-c" {
        let script = name.split_once("-c").map_or("", |(_, rest)| rest.trim());
        let list = listed(&[first, "-c", without_quotes(script)]);
        format!("write it as a list: command: {list}")
    } else if name.contains(OF_A_SHELL) {
        let list = listed(&["sh", "-c", name]);
        format!("run it in a shell: command: {list}")
    } else {
        format!("write each word by itself: command: {}", listed(&words))
    };
    Some(PodFault::surprise(
        program,
        message,
        "one text is one word",
        help,
    ))
}

/// Returns the words as a list, or only the form of a long one.
fn listed(words: &[&str]) -> String {
    const MOST: usize = 300;
    let list = json!(words).to_string();
    if list.len() <= MOST {
        return list;
    }
    match words {
        [shell, "-c", _] => format!("[{shell}, -c, SCRIPT]"),
        _ => "[PROGRAM, WORD, WORD]".to_owned(),
    }
}

/// Returns a script without the quotes around all of it.
fn without_quotes(script: &str) -> &str {
    let within = |quote: char| {
        let inner = script.strip_prefix(quote)?.strip_suffix(quote)?;
        (!inner.contains(quote)).then_some(inner)
    };
    within('"').or_else(|| within('\'')).unwrap_or(script)
}

/// Finds a word that a shell reads otherwise than it is meant.
fn of_a_shell(shell: &str, given: &[&Part<'_>]) -> Option<PodFault> {
    let texts: Option<Vec<&str>> = given.iter().map(|word| word.text()).collect();
    let texts = texts?;
    let (mut at, mut is_command) = (0, false);
    while let Some(word) = texts.get(at).filter(|it| it.starts_with(['-', '+'])) {
        is_command |= !word.starts_with("--") && word.starts_with('-') && word.contains('c');
        at += 1 + usize::from(WITH_A_WORD.contains(word));
    }
    let (script, words) = texts.get(at..)?.split_first()?;
    if !is_command {
        let is_path = script.starts_with(['/', '.']);
        let message = format!("{shell} takes '{}' for a file", in_short(script));
        let list = json!([shell, "-c", in_short(script)]);
        let help = format!("write -c before it: {list}");
        let is_script = words.is_empty() && script.contains(char::is_whitespace) && !is_path;
        return is_script
            .then(|| PodFault::surprise(given[at], message, "this is not a script file", help));
    }
    let reads_words = script.contains(['$', '\n'])
        || [". ", "source "]
            .iter()
            .any(|reading| script.starts_with(reading));
    // The first word behind a script is its name in messages.
    let is_name = |word: &str| {
        !word.contains(char::is_whitespace) && (["-", "--"].contains(&word) || !is_option(word))
    };
    if reads_words || words.is_empty() || matches!(words, [one] if is_name(one)) {
        return None;
    }
    let joined = if words.iter().any(|word| word.contains(char::is_whitespace)) {
        texts[at..].join(" && ")
    } else {
        texts[at..].join(" ")
    };
    let message = format!(
        "{shell} -c runs only '{}': the next arguments are $0, $1 and so on of that script",
        in_short(script)
    );
    let help = format!("write all of it in one text: {}", json!(in_short(&joined)));
    Some(PodFault::surprise(
        given[at + 1],
        message,
        "this is not run",
        help,
    ))
}

fn is_option(word: &str) -> bool {
    word.starts_with('-')
}

fn is_variable(name: &str) -> bool {
    let is_part = |it: u8| it.is_ascii_uppercase() || it.is_ascii_digit() || it == b'_';
    name.bytes()
        .next()
        .is_some_and(|it| it.is_ascii_uppercase())
        && name.bytes().all(is_part)
}

/// Finds `$(NAME)` if env has a variable with a similar name, in containers that get variables from nothing else.
pub(super) fn misspelt_variables(pod: &Pod<'_>) -> Vec<PodFault> {
    let containers = pod.containers.iter().filter(|_| pod.spec.is_some());
    containers.flat_map(in_container).collect()
}

fn in_container(container: &Part<'_>) -> Vec<PodFault> {
    let env = container.items("env");
    let known: Option<BTreeSet<&str>> = env.iter().map(Part::name).collect();
    let Some(known) = known.filter(|_| container.get("envFrom").is_none()) else {
        return Vec::new();
    };
    let mut faults = Vec::new();
    let lists = ["command", "args"].into_iter();
    for word in lists.flat_map(|list| container.items(list)) {
        let text = word.value.as_str().unwrap_or_default();
        for (at, _) in text.match_indices("$(") {
            let name = text[at + 2..].split(')').next().unwrap_or_default();
            let is_there = !is_variable(name) || known.contains(name);
            let is_of_a_service = ["_SERVICE_HOST", "_SERVICE_PORT"]
                .iter()
                .any(|end| name.contains(end));
            let is_escaped = text[..at].ends_with('$');
            let meant = suggestion::slip_or_ending(name, known.iter().copied());
            let Some(meant) = meant.filter(|_| !is_there && !is_of_a_service && !is_escaped) else {
                continue;
            };
            let message = format!(
                "{} has no variable {name} in env, so $({name}) is not replaced",
                container.container()
            );
            let help = format!("did you mean $({meant})?");
            let label = "nothing fills this in";
            faults.push(PodFault::surprise(&word, message, label, help));
        }
    }
    faults
}

/// Returns the beginning of a script.
fn in_short(text: &str) -> String {
    const MOST: usize = 60;
    let line = text.lines().next().unwrap_or_default();
    let mut short: String = line.chars().take(MOST).collect();
    if short.len() < text.trim_end().len() {
        short.push_str("...");
    }
    short
}
