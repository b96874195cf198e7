//! The paths that Rust source names: in `use`, in its groups, and in the middle of code or a macro.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use proc_macro2::{Delimiter, Group, LexError, TokenStream, TokenTree};

/// Returns every path of one file, with `crate`, `self` and `super` resolved. A path inside its crate begins
/// with `crate`, every other is as it is written, and `*` stands for all items. Code for tests only is left
/// out: tests may look behind walls, because nothing that is shipped depends on them.
///
/// `module` is the place of the file in its crate, without `crate`.
pub fn named_in(source: &str, module: &[String]) -> Result<Vec<String>> {
    let tokens = parsed(source)?;
    let mut found = Vec::new();
    Reader {
        module: module.to_vec(),
    }
    .read(tokens, &mut found);
    Ok(found)
}

/// Returns the module of a file, by its path below `src`.
pub fn module_of(file: &Path) -> Vec<String> {
    let mut module: Vec<String> = file
        .with_extension("")
        .components()
        .map(|part| part.as_os_str().to_string_lossy().into_owned())
        .collect();
    if matches!(
        module.last().map(String::as_str),
        Some("lib" | "main" | "mod")
    ) {
        module.pop();
    }
    module
}

/// Returns the module above the module `tests` that a file of a crate is or belongs to, by its path below
/// `src`.
pub fn above_tests(file: &Path) -> Option<PathBuf> {
    let module = module_of(file);
    let at = module.iter().position(|part| part == "tests")?;
    Some(module[..at].iter().collect())
}

/// Returns true if a module declares that the module `tests` below it is built for tests only.
pub fn has_tests(source: &str) -> Result<bool> {
    let tokens: Vec<TokenTree> = parsed(source)?.into_iter().collect();
    let is_word = |token: &TokenTree, word| matches!(token, TokenTree::Ident(it) if *it == word);
    let at = tokens
        .windows(3)
        .position(|it| is_word(&it[0], "mod") && is_word(&it[1], "tests") && is(&it[2], ';'));
    Ok(at.is_some_and(|at| for_tests(&tokens[..at])))
}

fn parsed(source: &str) -> Result<TokenStream> {
    // The error itself cannot be passed on: it is bound to its thread.
    let tokens = source.parse();
    tokens.map_err(|error: LexError| anyhow!("{error}"))
}

struct Reader {
    module: Vec<String>,
}

impl Reader {
    fn read(&mut self, tokens: TokenStream, found: &mut Vec<String>) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            match &tokens[at] {
                TokenTree::Ident(word) if *word == "mod" => {
                    at = self.read_module(&tokens, at, found);
                }
                TokenTree::Ident(word) if *word == "pub" => at = after_scope(&tokens, at + 1),
                TokenTree::Ident(_) => at = self.read_path(&tokens, at, &[], found),
                TokenTree::Group(group) => {
                    self.read(group.stream(), found);
                    at += 1;
                }
                _ => at += 1,
            }
        }
    }

    /// Reads `mod name { ... }`, whose content is one level deeper. Returns the position to continue at.
    fn read_module(&mut self, tokens: &[TokenTree], at: usize, found: &mut Vec<String>) -> usize {
        let (Some(TokenTree::Ident(name)), Some(TokenTree::Group(body))) =
            (tokens.get(at + 1), tokens.get(at + 2))
        else {
            // A declaration imports nothing of the module.
            return at + 2;
        };
        if !for_tests(&tokens[..at]) {
            self.module.push(name.to_string());
            self.read(body.stream(), found);
            self.module.pop();
        }
        at + 3
    }

    /// Reads one path, and everything in its group of a `use`. Returns the position to continue at.
    fn read_path(
        &mut self,
        tokens: &[TokenTree],
        mut at: usize,
        before: &[String],
        found: &mut Vec<String>,
    ) -> usize {
        let mut path = before.to_vec();
        while let Some(TokenTree::Ident(word)) = tokens.get(at) {
            path.push(word.to_string());
            at += 1;
            if !is_separator(tokens, at) {
                break;
            }
            at += 2;
            match tokens.get(at) {
                Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                    self.read_group(group, &path, found);
                    return at + 1;
                }
                Some(sign) if is(sign, '*') => path.push("*".to_owned()),
                _ => {}
            }
        }
        found.push(self.resolve(&path));
        at
    }

    fn read_group(&mut self, group: &Group, before: &[String], found: &mut Vec<String>) {
        let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            // `*` and `as name` end at the next comma; of a new name the path before it counts.
            at = if matches!(tokens[at], TokenTree::Ident(_)) {
                self.read_path(&tokens, at, before, found)
            } else {
                found.push(self.resolve(&[before, &["*".to_owned()]].concat()));
                at + 1
            };
            while at < tokens.len() && !is(&tokens[at], ',') {
                at += 1;
            }
            at += 1;
        }
    }

    fn resolve(&self, path: &[String]) -> String {
        let mut module = self.module.clone();
        let mut rest = path;
        if !matches!(path[0].as_str(), "crate" | "self" | "super") {
            return path.join("::");
        }
        while let Some((first, others)) = rest.split_first() {
            match first.as_str() {
                "crate" => module.clear(),
                "self" => {}
                "super" => drop(module.pop()),
                _ => break,
            }
            rest = others;
        }
        let resolved = ["crate".to_owned()].into_iter().chain(module);
        resolved
            .chain(rest.iter().cloned())
            .collect::<Vec<_>>()
            .join("::")
    }
}

/// Returns the position behind the scope of `pub`: `(super)` limits the visibility of an item, and imports
/// nothing.
fn after_scope(tokens: &[TokenTree], at: usize) -> usize {
    let is_scope = |token: &TokenTree| matches!(token, TokenTree::Group(it) if it.delimiter() == Delimiter::Parenthesis);
    at + usize::from(tokens.get(at).is_some_and(is_scope))
}

fn is(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign)
}

fn is_separator(tokens: &[TokenTree], at: usize) -> bool {
    matches!(tokens.get(at..at + 2), Some([first, second]) if is(first, ':') && is(second, ':'))
}

/// Returns true if the next item has the attribute `#[cfg(test)]`.
fn for_tests(mut before: &[TokenTree]) -> bool {
    loop {
        before = match before {
            [rest @ .., TokenTree::Ident(word)] if *word == "pub" => rest,
            [rest @ .., TokenTree::Group(scope)] if scope.delimiter() == Delimiter::Parenthesis => {
                rest
            }
            [rest @ .., sign, TokenTree::Group(attribute)] if is(sign, '#') => {
                if attribute.stream().to_string().replace(' ', "") == "cfg(test)" {
                    return true;
                }
                rest
            }
            _ => return false,
        };
    }
}
