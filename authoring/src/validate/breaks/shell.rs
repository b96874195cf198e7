//! Scripts of a shell, as far as it is known in which quotes a tag stands.

use super::Filled;
use crate::source::Node;

pub(super) const CURE: &str = "give the value to the container as an environment variable, and write \"$NAME\" in the script: docs/how-to/write-templates.md";

/// Returns the element of `command` or `args` of a container that is a script: the one behind `-c`.
pub(super) fn script_of(container: &Node) -> Option<&Node> {
    let items = |key: &str| container.get(key).map(Node::items).unwrap_or_default();
    let mut words = items("command").iter().chain(items("args"));
    words.find(|word| word.text().is_some_and(is_flag))?;
    words.next()
}

/// Returns true for `-c`, also with other letters, as in `-ec`.
fn is_flag(word: &str) -> bool {
    let flags = word.strip_prefix('-').and_then(|it| it.strip_suffix('c'));
    flags.is_some_and(|flags| flags.bytes().all(|it| it.is_ascii_alphabetic()))
}

/// Returns the tags whose value is a command to the shell, or ends the quotes that it stands in, and why.
pub(super) fn broken(script: &str, filled: &[Filled]) -> Vec<(usize, String)> {
    let mut reader = ShellReader::default();
    let (mut broken, mut at) = (Vec::new(), 0);
    for (index, one) in filled.iter().enumerate() {
        reader.read(script.get(at..one.span.start).unwrap_or_default());
        at = one.span.end;
        let (signs, place) = match reader.quotes() {
            Quotes::None => ("'\"`$\\;|&<>()\n", "a command of the script"),
            Quotes::Single => ("'", "the text in '...' of the script"),
            Quotes::Double => ("\"`$\\", "the text in \"...\" of the script"),
            Quotes::Document => ("`$\\", "the here-document of the script"),
            Quotes::Comment => ("\n", "a comment of the script"),
        };
        if let Some(sign) = one.value.chars().find(|sign| signs.contains(*sign)) {
            let sign = if sign == '\n' {
                "a new line".to_owned()
            } else {
                format!("`{sign}`")
            };
            broken.push((index, format!("breaks {place}: it has {sign}")));
        }
        reader.is_word = true;
    }
    broken
}

/// Context of a place in a script.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Quotes {
    None,
    Single,
    Double,
    /// A here-document.
    Document,
    Comment,
}

/// Reads a script from left to right.
#[derive(Default)]
struct ShellReader {
    /// Contexts that are open; commands in `$(...)` are `None`.
    open: Vec<Quotes>,
    is_escaped: bool,
    /// True if something stands before, in the same word.
    is_word: bool,
    last: [char; 2],
    /// The word that ends the here-document of this line.
    delimiter: Option<String>,
    /// True if that word is being read.
    reads_delimiter: bool,
    line: String,
}

impl ShellReader {
    fn quotes(&self) -> Quotes {
        self.open.last().copied().unwrap_or(Quotes::None)
    }

    fn read(&mut self, text: &str) {
        for sign in text.chars() {
            self.sign(sign);
            self.last = [self.last[1], sign];
        }
    }

    fn sign(&mut self, sign: char) {
        if self.quotes() == Quotes::Document {
            return self.in_document(sign);
        }
        if std::mem::take(&mut self.is_escaped) {
            self.is_word = true;
            return;
        }
        match (self.quotes(), sign) {
            (Quotes::Single, '\'') | (Quotes::Double, '"') | (Quotes::Comment, '\n') => {
                self.open.pop();
                if sign == '\n' {
                    self.end_line();
                }
            }
            (Quotes::Single | Quotes::Comment, _) => {}
            (_, '\\') => self.is_escaped = true,
            (_, '(') if self.last[1] == '$' => self.open.push(Quotes::None),
            (Quotes::Double, _) => {}
            (_, '\'') if !self.reads_delimiter => self.open.push(Quotes::Single),
            (_, '"') if !self.reads_delimiter => self.open.push(Quotes::Double),
            (_, '(') => self.open.push(Quotes::None),
            (_, ')') => {
                self.open.pop();
            }
            (_, '#') if !self.is_word => self.open.push(Quotes::Comment),
            // A text for the input, and no document.
            (_, '<') if self.last == ['<', '<'] => {
                self.delimiter = None;
                self.reads_delimiter = false;
            }
            (_, '<') if self.last[1] == '<' => {
                self.delimiter = Some(String::new());
                self.reads_delimiter = true;
            }
            (_, '\n') => self.end_line(),
            _ => self.delimited(sign),
        }
        self.is_word = !sign.is_whitespace() && !";|&(".contains(sign);
    }

    /// Reads the word behind `<<`, without its quotes.
    fn delimited(&mut self, sign: char) {
        let Some(delimiter) = self.delimiter.as_mut().filter(|_| self.reads_delimiter) else {
            return;
        };
        if sign.is_alphanumeric() || sign == '_' {
            delimiter.push(sign);
        } else if !delimiter.is_empty() {
            self.reads_delimiter = false;
        }
    }

    fn end_line(&mut self) {
        self.reads_delimiter = false;
        if self.delimiter.as_ref().is_some_and(|it| !it.is_empty()) {
            self.line.clear();
            self.open.push(Quotes::Document);
        } else {
            self.delimiter = None;
        }
    }

    fn in_document(&mut self, sign: char) {
        if sign != '\n' {
            self.line.push(sign);
            return;
        }
        if self.delimiter.as_deref() == Some(self.line.trim()) {
            self.delimiter = None;
            self.open.pop();
        }
        self.line.clear();
        self.is_word = false;
    }
}

#[cfg(test)]
mod tests {
    use cartouche_language::syntax;

    use super::*;

    fn is_broken(script: &str, value: &str) -> bool {
        let filled: Vec<Filled> = syntax::tags(script)
            .into_iter()
            .map(|tag| Filled {
                path: tag.path,
                span: tag.span,
                value: value.to_owned(),
                is_json: false,
            })
            .collect();
        !broken(script, &filled).is_empty()
    }

    #[test]
    fn what_a_value_may_hold_depends_on_the_quotes_around_it() {
        const TAG: &str = "$(runnable.x)$";
        for (script, good, bad) in [
            (format!("echo {TAG}"), "a b", "a; b"),
            (format!("echo \"{TAG}\""), "it's; a|b", "say \"hi\""),
            (format!("echo \"{TAG}\""), "a", "$HOME"),
            (format!("echo '{TAG}'"), "\"$HOME\"", "it's"),
            (format!("echo 'a' \"b\" '{TAG}'"), "\"", "'"),
            (format!("echo \"it's\" \"{TAG}\""), "'", "\""),
            (format!("echo \\\" \"{TAG}\""), "'", "`x`"),
            (format!("# it's\necho \"{TAG}\""), "'", "\""),
            (format!("# {TAG}\necho"), "it's; $x", "a\nb"),
            (format!("x=\"$(cat '{TAG}')\""), "\"", "'"),
            (format!("x=\"$(cat a)\" y='{TAG}'"), "\"", "'"),
            (format!("cat <<EOF\nit's {TAG}\nEOF\n"), "a \"b\"", "$x"),
            (format!("cat <<EOF\nit's\nEOF\necho \"{TAG}\""), "'", "\""),
            (format!("cat <<'END'\n\"\nEND\necho '{TAG}'"), "\"", "'"),
            (format!("echo a#b '{TAG}'"), "\"", "'"),
            (format!("cat <<< \"a\" \"{TAG}\"\n"), "'", "\""),
        ] {
            assert!(!is_broken(&script, good), "{script}: {good}");
            assert!(is_broken(&script, bad), "{script}: {bad}");
        }
    }

    #[test]
    fn a_script_stands_behind_a_flag_that_ends_in_c() {
        assert!(["-c", "-ec", "-euxc"].iter().all(|word| is_flag(word)));
        assert!(
            !["c", "-", "-x", "--rc", "-c1"]
                .iter()
                .any(|word| is_flag(word))
        );
    }
}
