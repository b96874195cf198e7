//! Columns.

/// Rows under a header, each column as wide as its widest cell. Cells may hold escape codes.
pub(crate) fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let width = |text: &str| {
        anstream::adapter::strip_str(text)
            .to_string()
            .chars()
            .count()
    };
    let columns = header.len();
    let widths: Vec<usize> = (0..columns)
        .map(|column| {
            let cells = rows
                .iter()
                .filter_map(|row| row.get(column))
                .map(|cell| width(cell));
            cells
                .chain(header.get(column).map(|name| width(name)))
                .max()
                .unwrap_or_default()
        })
        .collect();
    let line = |cells: &[&str]| {
        let mut out = String::new();
        for (column, cell) in cells.iter().enumerate() {
            out.push_str(cell);
            if column + 1 < columns {
                let room = widths.get(column).copied().unwrap_or_default() + 3;
                out.push_str(&" ".repeat(room.saturating_sub(width(cell))));
            }
        }
        format!("{}\n", out.trim_end())
    };
    let mut out = line(header);
    for row in rows {
        out.push_str(&line(&row.iter().map(String::as_str).collect::<Vec<_>>()));
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
    }
}
