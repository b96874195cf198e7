//! Parser for the grammar of kubectl's paths (client-go's `util/jsonpath`).
//!
//! The grammar hardly nests: a filter ends at its first closing parenthesis outside of quotes, an index at its
//! first bracket. So the parser is a loop; only the sides of a filter and the members of a union are parsed by
//! calling it again, a few levels at most.

use std::ops::Range;

use super::{
    PathError, SearchError, SyntaxError,
    error::ParseError,
    shorten,
    step::{Filter, Operator, PathNode, Slice},
    unquote::unquote,
};
use crate::bounds::{MAX_NESTING, MAX_PATH_BYTES};

/// Parses a path in braces.
pub(super) fn parse(wrapped: &str) -> Result<Vec<PathNode>, PathError> {
    let mut parser = PathParser::new(wrapped, 0);
    match parser.action() {
        Ok(()) if parser.rest().is_empty() => Ok(parser.parsed.nodes),
        Ok(()) => Err(PathError::ManyQueries {
            wrapped: shorten(wrapped).into_owned(),
        }),
        Err(ParseError::Find(reason)) => Err(PathError::Find(reason)),
        Err(ParseError::Syntax(error)) => Err(PathError::Syntax {
            wrapped: shorten(wrapped).into_owned(),
            error,
        }),
    }
}

/// Returns the steps of a path in braces with the bytes that each covers, up to the first that cannot be parsed.
pub(super) fn spans(wrapped: &str) -> Vec<(PathNode, Range<usize>)> {
    let Parsed { nodes, spans, .. } = as_far_as_readable(wrapped);
    nodes.into_iter().zip(spans).collect()
}

/// Returns the positions of names between `['` and `']`, also in filters, up to the first error. Those in unions
/// are left out.
pub(super) fn quoted_names(wrapped: &str) -> Vec<Range<usize>> {
    as_far_as_readable(wrapped).quoted_names
}

fn as_far_as_readable(wrapped: &str) -> Parsed {
    if wrapped.len() > MAX_PATH_BYTES + "{.}".len() {
        return Parsed::default();
    }
    let mut parser = PathParser::new(wrapped, 0);
    // Its error is reported by `parse`.
    let _ = parser.action();
    parser.parsed
}

/// Parses a part of a path in brackets. Text after a closing brace is ignored, as in kubectl. Positions are those
/// in `{part}`.
fn parse_part(text: &str, nesting: usize) -> Result<Parsed, ParseError> {
    if nesting > MAX_NESTING {
        return Err(SyntaxError::TooDeep.into());
    }
    let part = format!("{{{text}}}");
    let mut parser = PathParser::new(&part, nesting);
    parser.action()?;
    Ok(parser.parsed)
}

/// A path, or a part of one.
#[derive(Default)]
struct Parsed {
    nodes: Vec<PathNode>,
    /// The bytes of the input that each node covers.
    spans: Vec<Range<usize>>,
    /// The bytes of the names between `['` and `']`.
    quoted_names: Vec<Range<usize>>,
}

struct PathParser<'a> {
    input: &'a str,
    at: usize,
    nesting: usize,
    parsed: Parsed,
}

impl<'a> PathParser<'a> {
    fn new(input: &'a str, nesting: usize) -> Self {
        Self {
            input,
            at: 0,
            nesting,
            parsed: Parsed::default(),
        }
    }

    /// Adds a node for the text since `start`.
    fn push(&mut self, node: PathNode, start: usize) {
        self.parsed.nodes.push(node);
        self.parsed.spans.push(start..self.at);
    }

    fn rest(&self) -> &'a str {
        self.input.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek();
        self.at += next.map_or(0, char::len_utf8);
        next
    }

    fn since(&self, start: usize) -> &'a str {
        self.input.get(start..self.at).unwrap_or_default()
    }

    fn take(&mut self, prefix: &str) -> bool {
        let found = self.rest().starts_with(prefix);
        if found {
            self.at += prefix.len();
        }
        found
    }

    /// Parses everything from an opening brace to the closing one.
    fn action(&mut self) -> Result<(), ParseError> {
        self.take("{");
        loop {
            if self.take("}") {
                return Ok(());
            }
            if self.take("[?(") {
                self.filter()?;
                continue;
            }
            if self.take("..") {
                self.descend()?;
                continue;
            }
            match self.next() {
                None | Some('\r' | '\n') => return Err(SyntaxError::Unclosed.into()),
                // Every path starts from the current object anyway.
                Some(' ' | '@' | '$') => {}
                Some('[') => self.brackets()?,
                Some(quote @ ('"' | '\'')) => self.quoted(quote)?,
                Some('.') => self.field(),
                Some(c) if c == '+' || c == '-' || c.is_ascii_digit() => self.number(c)?,
                Some(c) if is_word(c) => self.word(c)?,
                Some(c) => return Err(SyntaxError::Character(c).into()),
            }
        }
    }

    fn field(&mut self) {
        let start = self.at;
        while let Some(c) = self.peek() {
            if ends_word(c) {
                break;
            }
            self.next();
            if c == '\\' {
                self.next();
            }
        }
        let node = match self.since(start) {
            "*" => PathNode::Wildcard,
            key => PathNode::Key(key.replace('\\', "")),
        };
        self.push(node, start);
    }

    fn descend(&mut self) -> Result<(), ParseError> {
        if self.parsed.nodes.last() == Some(&PathNode::Descend) {
            return Err(SyntaxError::Descent.into());
        }
        self.push(PathNode::Descend, self.at - "..".len());
        if self.peek().is_some_and(is_word) {
            self.field();
        }
        Ok(())
    }

    fn word(&mut self, first: char) -> Result<(), ParseError> {
        let start = self.at - first.len_utf8();
        while self.peek().is_some_and(|c| !ends_word(c)) {
            self.next();
        }
        match self.since(start) {
            "true" => self.push(PathNode::Literal(true.into()), start),
            "false" => self.push(PathNode::Literal(false.into()), start),
            word => return Err(SearchError::Word(word.to_owned()).into()),
        }
        Ok(())
    }

    fn number(&mut self, first: char) -> Result<(), ParseError> {
        let start = self.at - first.len_utf8();
        while self.peek().is_some_and(|c| c == '.' || c.is_ascii_digit()) {
            self.next();
        }
        let text = self.since(start);
        let value = match (text.parse::<i64>(), text.parse::<f64>()) {
            (Ok(integer), _) => integer.into(),
            (_, Ok(float)) if float.is_finite() => float.into(),
            _ => return Err(SyntaxError::Number(text.to_owned()).into()),
        };
        self.push(PathNode::Literal(value), start);
        Ok(())
    }

    fn quoted(&mut self, quote: char) -> Result<(), ParseError> {
        let start = self.at - 1;
        loop {
            match self.next() {
                None | Some('\n') => return Err(SyntaxError::OpenQuote.into()),
                Some(c) if c == quote && !self.follows_backslash() => break,
                Some(_) => {}
            }
        }
        let quoted = self.since(start);
        let inner = quoted.get(1..quoted.len() - 1).unwrap_or_default();
        let text = unquote(inner, quote).ok_or_else(|| SyntaxError::Quoted(quoted.to_owned()))?;
        self.push(PathNode::Literal(text.into()), start);
        Ok(())
    }

    /// Returns true if a backslash precedes the (one byte wide) character just read.
    fn follows_backslash(&self) -> bool {
        self.at >= 2 && self.input.as_bytes().get(self.at - 2) == Some(&b'\\')
    }

    fn brackets(&mut self) -> Result<(), ParseError> {
        let start = self.at;
        loop {
            match self.next() {
                None | Some('\n') => return Err(SyntaxError::OpenBracket.into()),
                Some(']') => break,
                Some(_) => {}
            }
        }
        let text = self.input.get(start..self.at - 1).unwrap_or_default();
        let text = if text == "*" { ":" } else { text };
        if text.contains(',') {
            let members = text.split(',').map(|member| {
                let member = format!("[{}]", member.trim_matches(' '));
                parse_part(&member, self.nesting + 1).map(|part| part.nodes)
            });
            let members = members.collect::<Result<_, _>>()?;
            self.push(PathNode::Union(members), start - 1);
        } else if let Some(key) = quoted_key(text) {
            let name = start + "'".len();
            self.parsed.quoted_names.push(name..name + key.len());
            let part = parse_part(&format!(".{key}"), self.nesting + 1)?;
            // The part is `{.key}`, and the input has `['key']`. Added first: a descent begins at the dot.
            let moved = |at: usize| name + at - "{.".len();
            let spans = part
                .spans
                .into_iter()
                .map(|span| moved(span.start)..moved(span.end));
            self.parsed.nodes.extend(part.nodes);
            self.parsed.spans.extend(spans);
        } else {
            self.push(PathNode::Slice(slice(text)?), start - 1);
        }
        Ok(())
    }

    fn filter(&mut self) -> Result<(), ParseError> {
        let start = self.at - "[?(".len();
        let text = self.filter_text()?;
        let (left, comparison) = match split_comparison(text) {
            None => (text, None),
            Some((left, operator, right)) => (left, Some((operator, right))),
        };
        let left = self.side(left, start + "[?(".len())?;
        let comparison = match comparison {
            None => None,
            Some((operator, right)) => {
                let right = self.side(right, self.at - ")]".len() - right.len());
                let right = right.map_err(|error| match error {
                    ParseError::Find(SearchError::Word(word)) => SearchError::NoText(word).into(),
                    other => other,
                })?;
                let operator = Operator::parse(operator)
                    .ok_or_else(|| SearchError::Operator(operator.to_owned()))?;
                Some((operator, right))
            }
        };
        self.push(PathNode::Filter(Filter { left, comparison }), start);
        Ok(())
    }

    /// Parses a side of a filter, which begins at `start`.
    fn side(&mut self, text: &str, start: usize) -> Result<Vec<PathNode>, ParseError> {
        let part = parse_part(text, self.nesting + 1)?;
        // The part is `{side}`.
        let moved = |at: usize| start + at - "{".len();
        let names = part.quoted_names.iter();
        let names = names.map(|name| moved(name.start)..moved(name.end));
        self.parsed.quoted_names.extend(names);
        Ok(part.nodes)
    }

    /// Returns the text between `[?(` and `)]`: it ends at the first `)` that is not inside the first pair of
    /// quotes.
    fn filter_text(&mut self) -> Result<&'a str, ParseError> {
        let start = self.at;
        let mut quote = None;
        let mut closed = false;
        loop {
            match self.next() {
                None | Some('\n') => return Err(SyntaxError::OpenFilter.into()),
                Some(c @ ('"' | '\'')) => match quote {
                    None => quote = Some(c),
                    Some(opening) if opening == c && !self.follows_backslash() => closed = true,
                    Some(_) => {}
                },
                Some(')') if quote.is_some() == closed => break,
                Some(_) => {}
            }
        }
        let end = self.at - 1;
        if !self.take("]") {
            return Err(SyntaxError::FilterWithoutBracket.into());
        }
        Ok(self.input.get(start..end).unwrap_or_default())
    }
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

pub(crate) fn ends_word(c: char) -> bool {
    matches!(
        c,
        ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}'
    )
}

/// Returns the text of `'text'`, if it contains no further quote.
fn quoted_key(text: &str) -> Option<&str> {
    let key = text.strip_prefix('\'')?.strip_suffix('\'')?;
    (!key.contains('\'')).then_some(key)
}

/// Splits `left==right` at the first run of comparison signs. A sign is left for the right side.
fn split_comparison(text: &str) -> Option<(&str, &str, &str)> {
    let is_sign = |c: char| matches!(c, '!' | '<' | '>' | '=');
    let start = text.find(is_sign).filter(|start| *start > 0)?;
    let (left, rest) = text.split_at(start);
    let end = rest.find(|c| !is_sign(c)).unwrap_or(rest.len() - 1);
    let (operator, right) = rest.split_at(end);
    (!operator.is_empty()).then_some((left, operator, right))
}

/// Parses `1`, `1:2`, `:` or `::2`.
fn slice(text: &str) -> Result<Slice, ParseError> {
    let parts: Vec<&str> = text.split(':').collect();
    let is_part = |part: &&str| {
        part.strip_prefix('-')
            .unwrap_or(part)
            .bytes()
            .all(|b| b.is_ascii_digit())
    };
    if parts.len() > 3 || !parts.iter().all(is_part) {
        return Err(SyntaxError::Index(text.to_owned()).into());
    }
    let number = |index: usize| match parts.get(index) {
        None | Some(&"") => Ok(None),
        Some(part) => part
            .parse::<i64>()
            .map(Some)
            .map_err(|_| SyntaxError::IndexNumber((*part).to_owned())),
    };
    let single = parts.len() == 1;
    let start = number(0)?;
    Ok(Slice {
        start,
        end: if single {
            Some(start.unwrap_or(0).wrapping_add(1))
        } else {
            number(1)?
        },
        single,
        step: number(2)?,
    })
}
