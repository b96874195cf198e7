//! Plots as SVG: few lines, few colours, readable on light and on dark paper.

use std::fmt::Write;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 60.0;
const BOTTOM: f64 = 60.0;
const COLOURS: [&str; 6] = [
    "#0b6e99", "#d9730d", "#448361", "#ad1a72", "#6940a5", "#9b7a2f",
];

/// A plot of lines over two logarithmic axes.
#[derive(Clone, Debug)]
pub(crate) struct Plot {
    pub(crate) title: String,
    pub(crate) x: String,
    pub(crate) y: String,
    pub(crate) lines: Vec<Line>,
}

/// A line, by its points.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
}

/// A logarithmic axis from one power of ten to another.
struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    fn over(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|value| *value > 0.0) {
            low = low.min(value.log10().floor());
            high = high.max(value.log10().ceil());
        }
        if !low.is_finite() {
            (low, high) = (0.0, 1.0);
        }
        if high <= low {
            high = low + 1.0;
        }
        Self {
            low,
            high,
            from,
            to,
        }
    }

    fn at(&self, value: f64) -> f64 {
        let share = (value.max(f64::MIN_POSITIVE).log10() - self.low) / (self.high - self.low);
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// Returns the powers of ten.
    fn marks(&self) -> Vec<f64> {
        let mut marks = Vec::new();
        let mut exponent = self.low;
        while exponent <= self.high {
            marks.push(10_f64.powf(exponent));
            exponent += 1.0;
        }
        marks
    }
}

impl Plot {
    /// Returns the plot as an SVG document.
    pub(crate) fn svg(&self) -> String {
        let points = || self.lines.iter().flat_map(|line| line.points.iter());
        let x = Axis::over(points().map(|point| point.0), LEFT, WIDTH - RIGHT);
        let y = Axis::over(points().map(|point| point.1), HEIGHT - BOTTOM, TOP);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             font-family=\"sans-serif\" font-size=\"13\">\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n"
        );
        let middle = f64::midpoint(LEFT, WIDTH - RIGHT);
        text(
            &mut svg,
            (middle, 22.0),
            "middle",
            &self.title,
            "font-weight=\"bold\"",
        );
        text(&mut svg, (middle, HEIGHT - 12.0), "middle", &self.x, "");
        let turn = format!(
            "transform=\"rotate(-90 18 {})\"",
            f64::midpoint(TOP, HEIGHT - BOTTOM)
        );
        text(
            &mut svg,
            (18.0, f64::midpoint(TOP, HEIGHT - BOTTOM)),
            "middle",
            &self.y,
            &turn,
        );
        grid(&mut svg, &x, &y);
        for (line, colour) in self.lines.iter().zip(COLOURS.iter().cycle()) {
            draw(&mut svg, line, colour, &x, &y);
        }
        legend(&mut svg, &self.lines);
        svg + "</svg>\n"
    }
}

fn grid(svg: &mut String, x: &Axis, y: &Axis) {
    let rule = |svg: &mut String, from: (f64, f64), to: (f64, f64)| {
        let _ = writeln!(
            svg,
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"#dddddd\"/>",
            from.0, from.1, to.0, to.1
        );
    };
    for mark in x.marks() {
        let at = x.at(mark);
        rule(svg, (at, TOP), (at, HEIGHT - BOTTOM));
        text(
            svg,
            (at, HEIGHT - BOTTOM + 18.0),
            "middle",
            &plain(mark),
            "",
        );
    }
    for mark in y.marks() {
        let at = y.at(mark);
        rule(svg, (LEFT, at), (WIDTH - RIGHT, at));
        text(svg, (LEFT - 8.0, at + 4.0), "end", &plain(mark), "");
    }
}

fn draw(svg: &mut String, line: &Line, colour: &str, x: &Axis, y: &Axis) {
    let places: Vec<(f64, f64)> = line
        .points
        .iter()
        .map(|point| (x.at(point.0), y.at(point.1)))
        .collect();
    let path: Vec<String> = places
        .iter()
        .map(|(x, y)| format!("{x:.1},{y:.1}"))
        .collect();
    let _ = writeln!(
        svg,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
        path.join(" ")
    );
    for (x, y) in places {
        let _ = writeln!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"{colour}\"/>"
        );
    }
}

fn legend(svg: &mut String, lines: &[Line]) {
    let mut left = LEFT;
    for (line, colour) in lines.iter().zip(COLOURS.iter().cycle()) {
        let _ = writeln!(
            svg,
            "<circle cx=\"{left:.1}\" cy=\"42\" r=\"5\" fill=\"{colour}\"/>"
        );
        text(svg, (left + 10.0, 46.0), "start", &line.name, "");
        let letters = u32::try_from(line.name.chars().count()).unwrap_or_default();
        left += 30.0 + 7.0 * f64::from(letters);
    }
}

fn text(svg: &mut String, at: (f64, f64), anchor: &str, text: &str, more: &str) {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\" fill=\"#333333\" {more}>{text}</text>",
        at.0, at.1
    );
}

/// Returns a power of ten without an exponent.
fn plain(value: f64) -> String {
    if value >= 1.0 {
        format!("{value:.0}")
    } else {
        format!("{value}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_steps_on_a_logarithmic_axis_are_equal_factors() {
        let axis = Axis::over([1.0, 100.0].into_iter(), 0.0, 200.0);
        assert!((axis.at(10.0) - 100.0).abs() < 0.001);
        assert_eq!(axis.marks().len(), 3);
    }

    #[test]
    fn names_cannot_break_the_document() {
        let plot = Plot {
            title: "a < b & c".to_owned(),
            x: "x".to_owned(),
            y: "y".to_owned(),
            lines: vec![Line {
                name: "line".to_owned(),
                points: vec![(1.0, 2.0), (10.0, 0.0)],
            }],
        };
        let svg = plot.svg();
        assert!(svg.contains("a &lt; b &amp; c"), "{svg}");
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}
