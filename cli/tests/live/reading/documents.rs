//! Files by chance: blocks and brackets, anchors and merge keys, texts over many lines, and mistakes.
//!
//! Two things are left out, which the command refuses: a byte order mark behind another one, at which go-yaml may lose
//! characters; and directives in a file whose lines end with carriage returns only, where kubectl does not split them
//! off.

use super::{by_chance::Chance, scalars};

/// Returns a file of one or more documents, now and then with a mistake or with the line ends of Windows.
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
            let sound = ["---\n", "--- \t# next\n", "---#next\n", "...\n---\n"];
            text.push_str(chance.mostly(&sound, &["...\n", "--- x\n", " ---\n"]));
        }
        text.push_str(&document(chance));
    }
    for _ in 0..chance.below(5).saturating_sub(2) {
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
        objects: Vec::new(),
        named: 0,
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
    let below = |chance: &mut Chance| match chance.below(if depth == 0 { 5 } else { 7 }) {
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
    /// Number of anchors, which are named by their numbers.
    anchors: usize,
    /// The names of the objects that have one, and how many were given.
    objects: Vec<usize>,
    named: usize,
}

impl Writer<'_> {
    fn indent(&mut self, indent: usize) {
        self.text.push_str(&" ".repeat(indent));
    }

    fn comments(&mut self) {
        if self.chance.once_in(12) {
            let sound = ["# comment\n", "\n", "  \n", "   # comment\n"];
            let line = self.chance.mostly(&sound, &["\t\n", " \t# comment\n"]);
            self.text.push_str(line);
        }
    }

    /// Most are sound: nothing else is compared in a document that is refused.
    fn scalar(&mut self) -> String {
        if self.chance.once_in(8) {
            return scalars::scalar(self.chance);
        }
        let sound = [
            "a",
            "yes",
            "1.0",
            "0755",
            "1_0",
            "'a'",
            "\"b\"",
            "2024-01-02",
            "1e3",
            "~",
            "18446744073709551615",
        ];
        self.chance.one_of(&sound).to_owned()
    }

    fn key(&mut self) -> String {
        match self.chance.below(40) {
            0 => scalars::scalar(self.chance),
            1 => self
                .chance
                .one_of(&[
                    "1", "\"1\"", "1.0", "yes", "0x1", "? x", "*a0", "&b k", "[a]", "{a: b}", "~",
                    "",
                ])
                .to_owned(),
            2 => "k".repeat([1020, 1024, 1025][self.chance.below(3)]),
            _ => self.chance.some("abcdefgh", 2, 4),
        }
    }

    fn mapping(&mut self, indent: usize, depth: usize) {
        for _ in 0..=self.chance.below(4) {
            self.comments();
            self.indent(indent);
            if !self.objects.is_empty() && self.chance.once_in(6) {
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
                .push_str(self.chance.mostly(&[":", ":", " :"], &[": ", ":\t"]));
            self.value(indent, depth, false);
        }
    }

    fn merged(&mut self) -> String {
        let one = self.objects[self.chance.below(self.objects.len())];
        let other = self.objects[self.chance.below(self.objects.len())];
        match self.chance.below(5) {
            0 => format!("<<: [*o{one}, *o{other}]\n"),
            1 => format!("<<: {{a: 1, <<: *o{one}}}\n"),
            2 => format!("\"<<\": *o{one}\n"),
            3 => format!("!!merge <<: *o{one}\n"),
            _ => format!("<<: *o{one}\n"),
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

    /// Writes the value behind a colon or a dash, up to the end of its last line.
    fn value(&mut self, indent: usize, depth: usize, is_item: bool) {
        let space = self.chance.mostly(&[" ", " ", "  "], &["\t", " \t"]);
        match self.chance.below(if depth == 0 { 9 } else { 13 }) {
            0..=3 => {
                let mut scalar = self.scalar();
                if self.chance.once_in(4) {
                    scalar = format!("&a{} {scalar}", self.anchors);
                    self.anchors += 1;
                }
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
                // Its name is known behind it only: nothing contains itself, except once in a while.
                let name = self.chance.once_in(2).then_some(self.named);
                if let Some(name) = name {
                    let anchor = format!(" &o{name}");
                    self.text.push_str(&anchor);
                    self.named += 1;
                }
                self.text
                    .push_str(self.chance.one_of(&["\n", "\n", " # comment\n", "\n\n"]));
                let further = [1, 2, 2, 4][self.chance.below(4)];
                self.mapping(indent + further, depth - 1);
                self.objects.extend(name);
            }
        }
    }

    fn line(&mut self, space: &str, content: &str) {
        self.text.push_str(space);
        self.text.push_str(content);
        self.text.push_str(
            self.chance
                .mostly(&["\n", "\n", " # comment\n", " \n"], &["#none\n", "\t\n"]),
        );
    }

    fn flow(&mut self, depth: usize) -> String {
        let separator = self
            .chance
            .mostly(&[", ", " , ", ",\n        "], &[",", ",\t", ",\n"]);
        let count = self.chance.below(4);
        let items: Vec<String> = (0..count).map(|_| self.flow_item(depth)).collect();
        let end = self.chance.mostly(&["", "", " "], &[",", "\n "]);
        if self.chance.once_in(2) {
            return format!("[{}{end}]", items.join(separator));
        }
        let mut entry = |item: String| match self.chance.below(12) {
            0 => item,
            1 => format!("\"{}\":{item}", self.chance.some("ab", 1, 3)),
            2 => format!("? {} : {item}", self.chance.some("ab", 1, 3)),
            3 => format!("{}:{item}", self.chance.some("ab", 1, 3)),
            _ => format!("{}: {item}", self.chance.some("abcdefgh", 3, 4)),
        };
        let entries: Vec<String> = items.into_iter().map(&mut entry).collect();
        format!("{{{}{end}}}", entries.join(separator))
    }

    fn flow_item(&mut self, depth: usize) -> String {
        match self.chance.below(if depth == 0 { 5 } else { 7 }) {
            0 | 1 => self.scalar(),
            2 => self.chance.some("abcdef", 1, 3),
            3 if self.chance.once_in(4) => self
                .chance
                .one_of(&[
                    "a: b", "? a : b", "? ", ": b", "&x", "!!str", "", "- a", "a\n b",
                ])
                .to_owned(),
            4 if self.anchors > 0 => format!("*a{}", self.chance.below(self.anchors)),
            3 | 4 => "x y".to_owned(),
            _ => self.flow(depth - 1),
        }
    }

    fn block_scalar(&mut self, indent: usize) {
        let header = format!(
            " {}{}{}",
            self.chance.character("|>"),
            self.chance
                .mostly(&["", "", "-", "+"], &["2", "1-", "+2", "0", "-+"]),
            self.chance.mostly(&["\n", " # comment\n", " \n"], &["x\n"])
        );
        self.text.push_str(&header);
        let further = 1 + self.chance.below(3);
        for _ in 0..self.chance.below(5) {
            let more = self.chance.mostly(&["", "", ""], &[" ", "  ", "\t"]);
            let content = self.chance.mostly(
                &["text", "a: b", "# no comment", "", "- x", "é", "\ttab"],
                &[" ", "---"],
            );
            self.indent(indent + further);
            self.text.push_str(more);
            self.text.push_str(content);
            self.text.push('\n');
        }
    }

    /// Writes a text without quotes or in them, over some lines.
    fn many_lines(&mut self, indent: usize) {
        let quote = self.chance.one_of(&["", "", "'", "\""]);
        self.text.push(' ');
        self.text.push_str(quote);
        for line in 0..=self.chance.below(4) {
            if line > 0 {
                self.text.push_str(self.chance.mostly(
                    &["\n", "\n\n", " \n", "\u{2028}"],
                    &["\\\n", "\t\n", "\r\n", "\u{85}"],
                ));
                let further = usize::from(!self.chance.once_in(20));
                self.indent(indent + further);
            }
            let content = self.chance.mostly(
                &["word", "two words", "a  b", "x#y", "12"],
                &["x #y", "b: c", "-", "\tt", "...", "''"],
            );
            self.text.push_str(content);
        }
        self.text.push_str(quote);
        self.text.push('\n');
    }
}
