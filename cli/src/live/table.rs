//! Tables of aligned columns.

/// Widths of columns. Cells may hold escape codes.
pub(crate) struct Columns {
    widths: Vec<usize>,
}

impl Columns {
    /// Makes each column as wide as its widest cell.
    pub(crate) fn measure(header: &[&str], rows: &[Vec<String>]) -> Self {
        let width_of = |(column, name): (usize, &&str)| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            let cells = cells.map(|cell| width(cell));
            cells.chain([width(name)]).max().unwrap_or_default()
        };
        Self {
            widths: header.iter().enumerate().map(width_of).collect(),
        }
    }

    /// Returns a row. A cell that is wider than its column moves the rest.
    pub(crate) fn line<T: AsRef<str>>(&self, cells: &[T]) -> String {
        let mut out = String::new();
        for (column, cell) in cells.iter().enumerate() {
            let cell = cell.as_ref();
            out.push_str(cell);
            if column + 1 < self.widths.len() {
                let room = self.widths.get(column).copied().unwrap_or_default() + 3;
                out.push_str(&" ".repeat(room.saturating_sub(width(cell)).max(1)));
            }
        }
        format!("{}\n", out.trim_end())
    }
}

fn width(text: &str) -> usize {
    let plain = anstream::adapter::strip_str(text).to_string();
    plain.chars().count()
}

/// Returns rows under a header.
pub(crate) fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let columns = Columns::measure(header, rows);
    let mut out = columns.line(header);
    for row in rows {
        out.push_str(&columns.line(row));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [
            vec!["a".to_owned(), "b".to_owned()],
            vec!["long".to_owned(), String::new()],
        ];
        assert_eq!(table(&["N", "V"], &rows), "N      V\na      b\nlong\n");
        // A later, wider row keeps its cells apart.
        let columns = Columns::measure(&["N", "V"], &rows);
        assert_eq!(columns.line(&["longer still", "c"]), "longer still c\n");
    }
}
