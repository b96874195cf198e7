//! A picture of a terminal, for the README.

use super::Step;

/// Commands that the picture shows, each by its beginning and by something that it contains.
const SHOWN: [(&str, &str); 3] = [
    ("kubectl get runnable hello", ""),
    ("kubectl patch runnable hello", "moon"),
    ("cartouche why hello", ""),
];
const COMMAND: &str = "#7ee787";
const PRINTED: &str = "#e6edf3";
/// Height of a line, width of a letter, and the margin, in pixels.
const LINE: usize = 19;
const LETTER: usize = 8;
const MARGIN: usize = 20;

/// Draws some of these commands with what they have printed, as SVG.
pub(super) fn of(steps: &[Step]) -> String {
    let shown = SHOWN.iter().filter_map(|(start, part)| {
        steps
            .iter()
            .find(|it| it.command.starts_with(start) && it.command.contains(part))
    });
    let mut text = Vec::new();
    for step in shown {
        let command = format!("$ {}", step.command);
        text.extend(command.lines().map(|line| (COMMAND, line.to_owned())));
        text.extend(step.printed.lines().map(|line| (PRINTED, line.to_owned())));
        text.push((PRINTED, String::new()));
    }
    text.pop();
    let columns = text
        .iter()
        .map(|(_, it)| it.chars().count())
        .max()
        .unwrap_or(0);
    let (width, height) = (
        columns * LETTER + 2 * MARGIN,
        text.len() * LINE + 2 * MARGIN,
    );
    let lines = text.iter().enumerate().map(|(index, (colour, line))| {
        let y = MARGIN + LINE * (index + 1) - 4;
        format!(
            "<text x=\"{MARGIN}\" y=\"{y}\" fill=\"{colour}\">{}</text>\n",
            escaped(line)
        )
    });
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\">\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#0d1117\"/>\n\
         <g font-family=\"monospace\" font-size=\"13.3\" xml:space=\"preserve\">\n{}</g>\n</svg>\n",
        lines.collect::<String>()
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
