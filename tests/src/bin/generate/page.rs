//! Pages with generated blocks, each between `<!-- generate NAME -->` and `<!-- /generate NAME -->`.

use std::{fmt::Write as _, io};

/// Content of the block of this name.
pub struct Block {
    /// The name in the markers.
    pub name: &'static str,
    /// The content, which ends with a line break.
    pub content: String,
}

/// Replaces the blocks of a page. It is an error if a block has no place, or a place no block.
pub fn fill(page: &str, blocks: &[Block]) -> io::Result<String> {
    let mut text = page.to_owned();
    for block in blocks {
        text = replace(&text, block).ok_or_else(|| {
            io::Error::other(format!(
                "there is no place between <!-- generate {0} --> and <!-- /generate {0} -->",
                block.name
            ))
        })?;
    }
    let places = text.matches("<!-- generate ").count();
    if places != blocks.len() {
        return Err(io::Error::other(format!(
            "there are {places} places for {} blocks",
            blocks.len()
        )));
    }
    Ok(text)
}

fn replace(page: &str, block: &Block) -> Option<String> {
    let Block { name, content } = block;
    let begin = format!("<!-- generate {name} -->\n");
    let end = format!("<!-- /generate {name} -->\n");
    let (before, rest) = page.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    // With empty lines, so that a marker is no row of a table.
    Some(format!("{before}{begin}\n{content}\n{end}{after}"))
}

/// A table of Markdown.
pub struct Table(String);

impl Table {
    /// Begins a table with these columns.
    pub fn new(columns: &[&str]) -> Self {
        let rule = "|---".repeat(columns.len());
        Self(format!("| {} |\n{rule}|\n", columns.join(" | ")))
    }

    /// Adds a row. A bar is escaped, because it would end the cell.
    pub fn add<const N: usize>(&mut self, cells: [String; N]) {
        for cell in cells {
            let space = if cell.is_empty() { "" } else { " " };
            // Writing into a String cannot fail.
            let _ = write!(self.0, "|{space}{} ", cell.replace('|', "\\|"));
        }
        self.0.push_str("|\n");
    }

    /// Returns the text.
    pub fn text(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "one\n<!-- generate a -->\nold\n<!-- /generate a -->\ntwo\n";

    fn block(name: &'static str) -> Block {
        let content = "new\n".to_owned();
        Block { name, content }
    }

    #[test]
    fn a_block_is_replaced_and_the_rest_of_the_page_stays() {
        let filled = fill(PAGE, &[block("a")]).unwrap();
        let expected = "one\n<!-- generate a -->\n\nnew\n\n<!-- /generate a -->\ntwo\n";
        assert_eq!(filled, expected);
        assert_eq!(fill(&filled, &[block("a")]).unwrap(), expected);
    }

    #[test]
    fn a_block_without_a_place_and_a_place_without_a_block_are_errors() {
        let errors = [fill(PAGE, &[block("a"), block("b")]), fill(PAGE, &[])];
        let errors = errors.map(|it| it.unwrap_err().to_string());
        assert!(errors[0].contains("<!-- generate b -->"), "{errors:?}");
        assert!(errors[1].contains("1 places for 0 blocks"), "{errors:?}");
    }

    #[test]
    fn a_bar_does_not_end_a_cell() {
        let mut table = Table::new(&["a", "b", "c"]);
        table.add(["x|y".to_owned(), String::new(), "z".to_owned()]);
        let expected = "| a | b | c |\n|---|---|---|\n| x\\|y | | z |\n";
        assert_eq!(table.text(), expected);
    }
}
