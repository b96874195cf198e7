//! Files by chance: blocks and brackets, anchors and merge keys, texts over many lines, and mistakes.
//!
//! Two things are left out, which the command refuses: a byte order mark behind another one, at which go-yaml may lose characters;
//! and directives in a file whose lines end with carriage returns only, where kubectl does not split them off.

use super::{by_chance::Chance, scalars};

/// A file of one or more documents, now and then with a mistake or with the line ends of Windows.
pub fn text(chance: &mut Chance) -> String {
    let mut text = String::new();
    if chance.once_in(6) {
        text.push_str(chance.one_of(&[
            "---\n",
            "--- # first\n",
            "\n",
            "# begin\n",
            "---\n---\n",
            "\u{feff}",
        ]));
    }
    if chance.once_in(10) {
        for _ in 0..=chance.below(3) {
            text.push_str(&json(chance, 3));
            text.push_str(chance.one_of(&["", "\n", "\n---\n", " "]));
        }
    }
    for number in 0..=chance.below(3) {
        if number > 0 {
            text.push_str(chance.one_of(&[
                "---\n",
                "---\n",
                "---\n",
                "--- \t# next\n",
                "---#next\n",
                "...\n",
                "...\n---\n",
                "--- x\n",
                " ---\n",
            ]));
        }
        text.push_str(&document(chance));
    }
    for _ in 0..chance.below(4).saturating_sub(1) {
        mistake(chance, &mut text);
    }
    if chance.once_in(12) {
        text = text.replace('\n', "\r\n");
    }
    if chance.once_in(12) {
        text = text.trim_end().to_owned();
    }
    if chance.once_in(40) {
        text.insert_str(0, "%YAML 1.1\n---\n");
    }
    text
}

fn document(chance: &mut Chance) -> String {
    let mut writer = Writer {
        chance,
        text: String::new(),
        anchors: 0,
    };
    match writer.chance.below(12) {
        0 => {
            let flow = writer.flow(3);
            writer.text.push_str(&flow);
            writer.text.push('\n');
        }
        1 => writer.sequence(0, 3),
        _ => writer.mapping(0, 3),
    }
    writer.text
}

/// Puts in, takes away or changes a character.
fn mistake(chance: &mut Chance, text: &mut String) {
    const CHARACTERS: &str = "\t :-?'\"#&*![]{},|>%@`\\\n\r~a0.é\u{85}\u{2028}\u{1}\u{7f}";
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    if places.is_empty() {
        return;
    }
    let at = places[chance.below(places.len())];
    match chance.below(3) {
        0 => text.insert(at, chance.character(CHARACTERS)),
        1 => {
            text.remove(at);
        }
        _ => {
            text.remove(at);
            text.insert(at, chance.character(CHARACTERS));
        }
    }
}

fn json(chance: &mut Chance, depth: usize) -> String {
    let count = chance.below(3);
    let mut below = |chance: &mut Chance| match chance.below(if depth == 0 { 5 } else { 7 }) {
        0 => chance
            .one_of(&["null", "true", "false", "nul", "\u{85}"])
            .to_owned(),
        1 | 2 => chance
            .one_of(&[
                "0",
                "-0",
                "1.0",
                "1e3",
                "1E-7",
                "01",
                "1.",
                "-",
                "1e400",
                "18446744073709551615",
                "9223372036854775807",
                "1.10",
            ])
            .to_owned(),
        3 => chance
            .one_of(&[
                r#""a""#,
                r#""\/""#,
                r#""\u00e9""#,
                r#""\ud83d\ude00""#,
                r#""\x""#,
                "\"a\tb\"",
                r#""\\""#,
                "\"é\u{7f}\"",
            ])
            .to_owned(),
        4 => format!("[{}]", chance.one_of(&["", "1", "1, 2", "1,", "1 2"])),
        _ => json(chance, depth - 1),
    };
    let entries: Vec<String> = (0..count)
        .map(|_| {
            let key = chance.one_of(&["a", "b", "c", "d", "e\\/"]);
            format!("\"{key}\":{}", below(chance))
        })
        .collect();
    format!("{{{}}}", entries.join(","))
}

struct Writer<'a> {
    chance: &'a mut Chance,
    text: String,
    /// How many anchors there are, named by their numbers.
    anchors: usize,
}

impl Writer<'_> {
    fn indent(&mut self, indent: usize) {
        self.text.push_str(&" ".repeat(indent));
    }

    fn comments(&mut self) {
        if self.chance.once_in(12) {
            let line = self.chance.one_of(&[
                "# comment\n",
                "\n",
                "  \n",
                "\t\n",
                "   # comment\n",
                " \t# comment\n",
            ]);
            self.text.push_str(line);
        }
    }

    fn key(&mut self) -> String {
        match self.chance.below(14) {
            0 => scalars::scalar(self.chance),
            1 => self
                .chance
                .one_of(&[
                    "1", "\"1\"", "1.0", "yes", "0x1", "? x", "*a0", "&b k", "[a]", "{a: b}", "~",
                    "",
                ])
                .to_owned(),
            2 => "k".repeat([1020, 1024, 1025][self.chance.below(3)]),
            _ => self.chance.some("abcdefgh", 1, 2),
        }
    }

    fn mapping(&mut self, indent: usize, depth: usize) {
        for _ in 0..=self.chance.below(4) {
            self.comments();
            self.indent(indent);
            if self.anchors > 0 && self.chance.once_in(8) {
                let merged = self.merged();
                self.text.push_str(&merged);
                continue;
            }
            let key = self.key();
            if self.chance.once_in(20) {
                self.text.push_str("? ");
                self.text.push_str(&key);
                self.text.push('\n');
                self.indent(indent);
            } else {
                self.text.push_str(&key);
            }
            self.text
                .push_str(self.chance.one_of(&[":", ":", ":", " :", ": ", ":\t"]));
            self.value(indent, depth, false);
        }
    }

    fn merged(&mut self) -> String {
        let one = self.chance.below(self.anchors);
        let other = self.chance.below(self.anchors);
        match self.chance.below(5) {
            0 => format!("<<: [*a{one}, *a{other}]\n"),
            1 => format!("<<: {{a: 1, <<: *a{one}}}\n"),
            2 => format!("\"<<\": *a{one}\n"),
            3 => format!("!!merge <<: *a{one}\n"),
            _ => format!("<<: *a{one}\n"),
        }
    }

    fn sequence(&mut self, indent: usize, depth: usize) {
        for _ in 0..=self.chance.below(3) {
            self.comments();
            self.indent(indent);
            self.text.push('-');
            self.value(indent, depth, true);
        }
    }

    /// What stands behind a colon or a dash, up to the end of its last line.
    fn value(&mut self, indent: usize, depth: usize, is_item: bool) {
        let space = self.chance.one_of(&[" ", " ", " ", "  ", "\t", " \t"]);
        if self.chance.once_in(6) {
            let anchor = format!(" &a{}", self.anchors);
            self.anchors += 1;
            self.text.push_str(&anchor);
        }
        match self.chance.below(if depth == 0 { 9 } else { 13 }) {
            0..=3 => {
                let scalar = scalars::scalar(self.chance);
                self.line(space, &scalar);
            }
            4 if self.anchors > 0 => {
                let alias = format!("*a{}", self.chance.below(self.anchors));
                self.line(space, &alias);
            }
            5 => {
                let flow = self.flow(depth);
                self.line(space, &flow);
            }
            6 => self.block_scalar(indent),
            7 => self.many_lines(indent),
            4 | 8 => self.line(space, ""),
            9 => {
                self.text.push('\n');
                let further = [0, 0, 2, 1][self.chance.below(4)];
                self.sequence(indent + further, depth - 1);
            }
            10 if is_item => {
                self.text.push(' ');
                let key = self.key();
                self.text.push_str(&key);
                self.text.push_str(": x\n");
                self.mapping(indent + 2, depth - 1);
            }
            _ => {
                self.text
                    .push_str(self.chance.one_of(&["\n", "\n", " # comment\n", "\n\n"]));
                let further = [1, 2, 2, 4][self.chance.below(4)];
                self.mapping(indent + further, depth - 1);
            }
        }
    }

    fn line(&mut self, space: &str, content: &str) {
        self.text.push_str(space);
        self.text.push_str(content);
        self.text.push_str(self.chance.one_of(&[
            "\n",
            "\n",
            "\n",
            " # comment\n",
            " \n",
            "#none\n",
            "\t\n",
        ]));
    }

    fn flow(&mut self, depth: usize) -> String {
        let separator = self
            .chance
            .one_of(&[", ", ",", " , ", ",\n  ", ",\t", ",\n"]);
        let count = self.chance.below(4);
        let items: Vec<String> = (0..count).map(|_| self.flow_item(depth)).collect();
        let end = self.chance.one_of(&["", "", "", ",", " ", "\n "]);
        if self.chance.once_in(2) {
            return format!("[{}{end}]", items.join(separator));
        }
        let mut entry = |item: String| match self.chance.below(6) {
            0 => item,
            1 => format!("\"{}\":{item}", self.chance.some("ab", 1, 3)),
            2 => format!("? {} : {item}", self.chance.some("ab", 1, 3)),
            3 => format!("{}:{item}", self.chance.some("ab", 1, 3)),
            _ => format!("{}: {item}", self.chance.some("abcd", 1, 3)),
        };
        let entries: Vec<String> = items.into_iter().map(&mut entry).collect();
        format!("{{{}{end}}}", entries.join(separator))
    }

    fn flow_item(&mut self, depth: usize) -> String {
        match self.chance.below(if depth == 0 { 5 } else { 7 }) {
            0 | 1 => scalars::scalar(self.chance),
            2 => self.chance.some("abcdef", 1, 3),
            3 => self
                .chance
                .one_of(&[
                    "a: b", "? a : b", "? ", ": b", "&x", "!!str", "", "- a", "a\n b",
                ])
                .to_owned(),
            4 if self.anchors > 0 => format!("*a{}", self.chance.below(self.anchors)),
            4 => "x y".to_owned(),
            _ => self.flow(depth - 1),
        }
    }

    fn block_scalar(&mut self, indent: usize) {
        let header = format!(
            " {}{}{}",
            self.chance.character("|>"),
            self.chance
                .one_of(&["", "", "", "-", "+", "2", "1-", "+2", "0", "-+"]),
            self.chance
                .one_of(&["\n", "\n", "\n", " # comment\n", " \n", "x\n"])
        );
        self.text.push_str(&header);
        let further = 1 + self.chance.below(3);
        for _ in 0..self.chance.below(5) {
            let more = self.chance.one_of(&["", "", "", " ", "  ", "\t"]);
            let content = self.chance.one_of(&[
                "text",
                "a: b",
                "# no comment",
                "",
                "",
                " ",
                "- x",
                "\ttab",
                "---",
                "é",
            ]);
            self.indent(indent + further);
            self.text.push_str(more);
            self.text.push_str(content);
            self.text.push('\n');
        }
    }

    /// A text without quotes or in them, over some lines.
    fn many_lines(&mut self, indent: usize) {
        let quote = self.chance.one_of(&["", "", "'", "\""]);
        self.text.push(' ');
        self.text.push_str(quote);
        for line in 0..=self.chance.below(4) {
            if line > 0 {
                self.text.push_str(self.chance.one_of(&[
                    "\n", "\n", "\n\n", " \n", "\\\n", "\t\n", "\r\n", "\u{2028}", "\u{85}",
                ]));
                let further = self.chance.below(4);
                self.indent(indent + further);
            }
            let content = self.chance.one_of(&[
                "word",
                "two words",
                "a  b",
                "x#y",
                "x #y",
                "b: c",
                "12",
                "-",
                "\tt",
                "...",
                "''",
            ]);
            self.text.push_str(content);
        }
        self.text.push_str(quote);
        self.text.push('\n');
    }
}
