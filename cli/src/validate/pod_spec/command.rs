//! Commands that are written as for a shell, where none reads them.

use cartouche_templating::suggestion;
use serde_json::json;

use super::{Fault, Part};

const SHELLS: [&str; 7] = ["sh", "bash", "ash", "dash", "zsh", "ksh", "busybox"];
/// Programs that take such words themselves, or give them to a shell.
const TAKING_OPERATORS: [&str; 8] = [
    "find", "expr", "test", "[", "env", "xargs", "envsubst", "jq",
];
const OPERATORS: [&str; 6] = ["&&", "||", "|", ">", ">>", "2>&1"];
/// Characters that mean something to a shell.
const OF_A_SHELL: [char; 7] = ['|', '&', ';', '<', '>', '$', '*'];

pub(super) fn check(container: &Part<'_>) -> Vec<Fault> {
    let (command, args) = (container.items("command"), container.items("args"));
    let mut faults = misspelt_variables(container, &command, &args);
    let Some(program) = command.first() else {
        return faults;
    };
    let Some(name) = program.value.as_str() else {
        return faults;
    };
    let given: Vec<&Part<'_>> = command.iter().skip(1).chain(&args).collect();
    if let Some(fault) = several_words(container, program, name) {
        faults.push(fault);
        return faults;
    }
    let base = name.rsplit('/').next().unwrap_or(name);
    if SHELLS.contains(&base) {
        faults.extend(of_a_shell(base, &given));
    } else if !TAKING_OPERATORS.contains(&base) {
        faults.extend(unread_by_a_shell(base, &given));
    }
    faults
}

/// The whole command in one text.
fn several_words(container: &Part<'_>, program: &Part<'_>, name: &str) -> Option<Fault> {
    let words: Vec<&str> = name.split_whitespace().collect();
    // A filter of a tag may have blanks.
    if words.len() < 2 || name.contains("[?") {
        return None;
    }
    let message = format!(
        "{} runs a program that is called '{name}', blanks and all, and there is hardly one",
        container.container()
    );
    let help = if words.first().is_some_and(|first| SHELLS.contains(first))
        && words.get(1) == Some(&"-c")
    {
        let script = name.split_once("-c").map_or("", |(_, rest)| rest.trim());
        let script = script.trim_matches(['"', '\'']);
        format!(
            "write it as a list: command: {}",
            json!([words[0], "-c", script])
        )
    } else if name.contains(OF_A_SHELL) && !name.contains(")$") {
        format!(
            "let a shell read it: command: {}",
            json!(["sh", "-c", name])
        )
    } else {
        format!("write each word by itself: command: {}", json!(words))
    };
    Some(Fault::surprise(
        program,
        message,
        "one text is one word",
        help,
    ))
}

/// A word that a shell takes otherwise than it is meant.
fn of_a_shell(shell: &str, given: &[&Part<'_>]) -> Option<Fault> {
    let (first, rest) = given.split_first()?;
    let script = first.text()?;
    if !script.starts_with('-') {
        let is_script = rest.is_empty() && script.contains(char::is_whitespace);
        let message = format!(
            "{shell} takes '{}' for the name of a file",
            in_short(script)
        );
        let help = format!(
            "write -c before it: {}",
            json!([shell, "-c", in_short(script)])
        );
        let is_busybox = shell == "busybox";
        return (is_script && !is_busybox)
            .then(|| Fault::surprise(first, message, "this is no file", help));
    }
    let is_command = !script.starts_with("--") && script.ends_with('c');
    let (script, words) = rest.split_first().filter(|_| is_command)?;
    let text = script.text()?;
    let next = words.first()?;
    let words: Option<Vec<&str>> = words.iter().map(|word| word.value.as_str()).collect();
    if text.contains(['$', '\n']) {
        return None;
    }
    let whole = format!("{text} {}", words?.join(" "));
    let message = format!(
        "{shell} -c runs '{}' alone: what stands behind it is only $0, $1 and so on to that script",
        in_short(text)
    );
    let help = format!("write all of it in one text: {}", json!(whole));
    Some(Fault::surprise(next, message, "this is not run", help))
}

/// Words that only a shell would read.
fn unread_by_a_shell(program: &str, given: &[&Part<'_>]) -> Option<Fault> {
    let word = given.iter().find(|word| {
        let text = word.value.as_str().unwrap_or_default();
        OPERATORS.contains(&text) || variable(text).is_some()
    })?;
    let text = word.value.as_str()?;
    let (message, help) = match variable(text) {
        Some(name) => (
            format!("{program} gets '{text}' as it stands: no shell reads it"),
            format!(
                "write $({name}), which is filled in from env of the container, or begin the command with sh, -c"
            ),
        ),
        None => (
            format!("{program} gets '{text}' as an argument: no shell reads it"),
            "let a shell run it: command: [sh, -c, \"...\"], with all of it in one text".to_owned(),
        ),
    };
    Some(Fault::surprise(word, message, "this is only a text", help))
}

/// `$NAME` and `${NAME}`.
fn variable(text: &str) -> Option<&str> {
    let name = text.strip_prefix('$')?;
    let name = name
        .strip_prefix('{')
        .and_then(|name| name.strip_suffix('}'))
        .unwrap_or(name);
    is_variable(name).then_some(name)
}

fn is_variable(name: &str) -> bool {
    let is_part = |it: u8| it.is_ascii_uppercase() || it.is_ascii_digit() || it == b'_';
    name.bytes()
        .next()
        .is_some_and(|it| it.is_ascii_uppercase())
        && name.bytes().all(is_part)
}

/// `$(NAME)` where env has one that is nearly called so.
fn misspelt_variables(container: &Part<'_>, command: &[Part<'_>], args: &[Part<'_>]) -> Vec<Fault> {
    let env = container.items("env");
    let known: Option<Vec<&str>> = env.iter().map(Part::name).collect();
    let Some(known) = known.filter(|_| container.get("envFrom").is_none()) else {
        return Vec::new();
    };
    let mut faults = Vec::new();
    for word in command.iter().chain(args) {
        let text = word.value.as_str().unwrap_or_default();
        for (at, _) in text.match_indices("$(") {
            let name = text[at + 2..].split(')').next().unwrap_or_default();
            let is_there = !is_variable(name) || known.contains(&name);
            let is_escaped = text[..at].ends_with('$');
            let meant = suggestion::nearest(name, known.iter().copied());
            if let Some(meant) = meant.filter(|_| !is_there && !is_escaped) {
                let message = format!(
                    "{} has no variable {name} in env, so $({name}) stays as it is",
                    container.container()
                );
                let help = format!("did you mean $({meant})?");
                faults.push(Fault::surprise(
                    word,
                    message,
                    "nothing fills this in",
                    help,
                ));
            }
        }
    }
    faults
}

/// The beginning of a script.
fn in_short(text: &str) -> String {
    const MOST: usize = 60;
    let line = text.lines().next().unwrap_or_default();
    let mut short: String = line.chars().take(MOST).collect();
    if short.len() < text.trim_end().len() {
        short.push_str("...");
    }
    short
}
