//! What a variable does, as a plot of times relative to the default's, and as a table in Markdown.
//!
//! What counts is the fastest sample: other work on the machine makes samples slower and never faster, and
//! here no other library is compared, whose spread would matter.

use super::super::cases::{Measure, rows};
use super::super::figures::Figure;
use super::super::results::{Measurement, write as write_file};
use super::super::units;
use super::measure::Outcome;
use super::variable::Variable;
use plotters::prelude::*;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A line of the plot and of the table.
#[derive(Debug)]
struct Line {
    title: String,
    /// Whether its numbers are parts of a core, not times.
    is_share: bool,
    /// One for each value; nothing where the case failed.
    figures: Vec<Option<Figure>>,
}

/// How much was measured, and how busy the machine was.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    pub(super) repetitions: u32,
    pub(super) load_before: f64,
}

/// What a sweep leaves.
#[derive(Debug)]
pub(crate) struct Files {
    /// In Markdown, with what it is about.
    pub(crate) table: String,
    /// The file of the plot.
    pub(crate) plot: PathBuf,
}

/// Lines of a plot.
const MOST_LINES: usize = 10;

/// Colours that people with colour-blindness can tell apart.
const COLOURS: [RGBColor; MOST_LINES] = [
    RGBColor(213, 94, 0),
    RGBColor(0, 114, 178),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(110, 80, 160),
    RGBColor(90, 90, 90),
    RGBColor(120, 130, 20),
    RGBColor(150, 90, 60),
];

/// Writes `sweep-NAME.svg` and `sweep-NAME.md`.
pub(super) fn write(
    variable: &Variable,
    values: &[u64],
    outcomes: &[Outcome],
    extent: Extent,
    directory: &Path,
) -> Result<Files, String> {
    let lines: Vec<Line> = outcomes.iter().flat_map(lines).collect();
    let default = values.iter().position(|value| *value == variable.default).unwrap_or(0);
    if !lines.iter().any(|line| line.figures[default].is_some()) {
        return Err(format!("nothing could be measured with {}={}", variable.name, variable.default));
    }
    let labels: Vec<String> = values.iter().map(|value| variable.label(*value)).collect();
    let table = table(variable, &labels, &lines, default, extent);
    let plot = draw(&variable.name, &labels, &most_moved(lines, default), default)
        .map_err(|error| format!("{} could not be drawn: {error}", variable.name))?;
    let file = |extension: &str| directory.join(format!("sweep-{}.{extension}", variable.name));
    write_file(&file("svg"), plot)?;
    write_file(&file("md"), &table)?;
    Ok(Files { table, plot: file("svg") })
}

/// The lines that the variable moves most, in their order: a plot shows no more.
fn most_moved(lines: Vec<Line>, default: usize) -> Vec<Line> {
    let moves = |line: &Line| {
        let ratios = (0..line.figures.len()).filter_map(|index| line.ratio(index, default));
        ratios.map(|ratio| ratio.ln().abs()).fold(0.0, f64::max)
    };
    let mut by_move: Vec<(usize, Line)> = lines.into_iter().enumerate().collect();
    by_move.sort_by(|(_, one), (_, other)| moves(other).total_cmp(&moves(one)));
    by_move.truncate(MOST_LINES);
    by_move.sort_by_key(|(index, _)| *index);
    by_move.into_iter().map(|(_, line)| line).collect()
}

/// The lines of a trial: each case and size that is to be shown.
fn lines(outcome: &Outcome) -> Vec<Line> {
    let trial = &outcome.trial;
    let all = || outcome.by_value.iter().flatten();
    let mut lines = Vec::new();
    for case in &trial.cases {
        let sizes: BTreeSet<u64> = all().filter(|m| m.case == *case).map(|m| m.size).collect();
        let shown = sizes.iter().filter(|size| trial.sizes.is_empty() || trial.sizes.contains(size));
        for &size in shown {
            let of = |measurements: &Vec<Measurement>| {
                Figure::of(measurements.iter().filter(|m| m.case == *case && m.size == size))
            };
            let ranks = if trial.ranks == 2 { String::new() } else { format!(", {} ranks", trial.ranks) };
            let bytes = if size == 0 { String::new() } else { format!(" {}", units::bytes(size)) };
            let title = format!("{case}{bytes}{ranks} ({})", trial.path.title());
            lines.push(Line {
                title,
                is_share: is_share(case),
                figures: outcome.by_value.iter().map(of).collect(),
            });
        }
    }
    lines
}

fn is_share(case: &str) -> bool {
    rows().any(|row| row.case == case && row.measure == Measure::Share)
}

impl Line {
    /// Times over that with the default.
    fn ratio(&self, index: usize, default: usize) -> Option<f64> {
        Some(self.figures[index]?.fastest / self.figures[default]?.fastest)
    }
}

fn table(variable: &Variable, labels: &[String], lines: &[Line], default: usize, extent: Extent) -> String {
    let mut text = format!(
        "{} ({}): {}.\n\nTimes of one iteration, the fastest sample of {} repetitions on a machine with a load of {:.1} before, and times over that with the default, {}.\n\n",
        variable.name, variable.unit, variable.text, extent.repetitions, extent.load_before, labels[default]
    );
    text +=
        &format!("| {} | {} |\n|{}\n", variable.name, labels.join(" | "), " --- |".repeat(labels.len() + 1));
    for line in lines {
        let show = |time: f64| if line.is_share { units::share(time) } else { units::time(time) };
        let cell = |index: usize| match (line.figures[index], line.ratio(index, default)) {
            (Some(figure), _) if index == default => show(figure.fastest),
            (Some(figure), Some(ratio)) => format!("{} ({ratio:.2})", show(figure.fastest)),
            (Some(figure), None) => show(figure.fastest),
            (None, _) => "–".to_owned(),
        };
        let cells: Vec<String> = (0..labels.len()).map(cell).collect();
        text += &format!("| {} | {} |\n", line.title, cells.join(" | "));
    }
    text
}

fn draw(
    name: &str,
    labels: &[String],
    lines: &[Line],
    default: usize,
) -> Result<String, Box<dyn std::error::Error>> {
    let mut svg = String::new();
    let ratios = |line: &Line| -> Vec<(f64, f64)> {
        let points = (0..labels.len()).filter_map(|index| Some((index as f64, line.ratio(index, default)?)));
        points.collect()
    };
    let all: Vec<f64> = lines.iter().flat_map(ratios).map(|(_, ratio)| ratio).collect();
    let low = all.iter().copied().fold(0.8, f64::min) / 1.1;
    let high = all.iter().copied().fold(1.25, f64::max) * 1.1;
    {
        let height = 300 + 18 * lines.len() as u32;
        let area = SVGBackend::with_string(&mut svg, (620, height)).into_drawing_area();
        let (above, below) = area.split_vertically(300);
        let last = labels.len() as f64 - 1.0;
        let mut chart = ChartBuilder::on(&above)
            .caption(format!("{name}: time over that with {}", labels[default]), ("sans-serif", 16))
            .margin(8)
            .x_label_area_size(28)
            .y_label_area_size(48)
            .build_cartesian_2d(-0.2..last + 0.2, (low..high).log_scale())?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .x_labels(2 * labels.len())
            .x_label_formatter(&|x| match (x - x.round()).abs() < 0.01 {
                true => labels.get(x.round() as usize).cloned().unwrap_or_default(),
                false => String::new(),
            })
            .y_label_formatter(&|y| format!("{y:.2}"))
            .label_style(("sans-serif", 12))
            .bold_line_style(RGBColor(215, 215, 215))
            .light_line_style(RGBColor(245, 245, 245))
            .draw()?;
        for (index, line) in lines.iter().enumerate() {
            let colour = COLOURS[index % COLOURS.len()];
            chart.draw_series(LineSeries::new(ratios(line), colour.stroke_width(2)))?;
            chart
                .draw_series(ratios(line).into_iter().map(|point| Circle::new(point, 3, colour.filled())))?;
            let y = 4 + 18 * index as i32;
            below.draw(&Rectangle::new([(56, y), (72, y + 10)], colour.filled()))?;
            below.draw(&Text::new(line.title.clone(), (80, y), ("sans-serif", 12)))?;
        }
        area.present()?;
    }
    Ok(svg)
}

#[cfg(test)]
mod tests {
    use super::super::trials::trials;
    use super::super::variable::tests::variable;
    use super::*;
    use crate::bench::figures::tests::measurement;

    const EXTENT: Extent = Extent { repetitions: 7, load_before: 0.0 };

    fn outcome() -> Outcome {
        let trial = trials("RMA_AGENT_TICK", &[]).remove(0);
        let of = |time: f64| vec![measurement("", "put", 8, time), measurement("", "put", 4096, time)];
        Outcome { trial, by_value: vec![of(10_000.0), of(11_000.0)] }
    }

    #[test]
    fn a_value_is_shown_beside_the_default() {
        let lines = lines(&outcome());
        let titles: Vec<&str> = lines.iter().map(|line| line.title.as_str()).collect();
        assert_eq!(titles, ["put 8 B (TCP)"], "other sizes are not shown for this variable");
        let labels = ["0", "1"].map(str::to_owned);
        let text = table(&variable("RMA_AGENT"), &labels, &lines, 0, EXTENT);
        assert!(text.contains("| RMA_AGENT | 0 | 1 |\n| --- | --- | --- |\n"), "{text}");
        assert!(text.contains("| put 8 B (TCP) | 9.00 \u{b5}s | 9.90 \u{b5}s (1.10) |"), "{text}");
        let plot = draw("RMA_AGENT", &labels, &lines, 0).unwrap();
        assert!(plot.starts_with("<svg") && plot.contains("put 8 B (TCP)") && plot.len() < 20_000);
    }

    #[test]
    fn a_plot_shows_what_moves_most() {
        let line = |index: usize, time: f64| Line {
            title: index.to_string(),
            is_share: false,
            figures: [10.0, time].map(|time| Figure::of([measurement("", "put", 8, time)].iter())).to_vec(),
        };
        let mut lines: Vec<Line> = (0..12).map(|index| line(index, 11.0)).collect();
        lines[3] = line(3, 10.0);
        lines[5] = line(5, 10.1);
        lines[7] = line(7, 2.0);
        let titles: Vec<String> = most_moved(lines, 0).into_iter().map(|line| line.title).collect();
        assert_eq!(titles, ["0", "1", "2", "4", "6", "7", "8", "9", "10", "11"]);
    }

    #[test]
    fn files_are_written_and_nothing_to_compare_with_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let variable = variable("RMA_AGENT");
        write(&variable, &[0, 1], &[outcome()], EXTENT, directory.path()).unwrap();
        for extension in ["svg", "md"] {
            assert!(directory.path().join(format!("sweep-RMA_AGENT.{extension}")).is_file());
        }
        let mut empty = outcome();
        empty.by_value[0].clear();
        let error = write(&variable, &[0, 1], &[empty], EXTENT, directory.path()).unwrap_err();
        assert_eq!(error, "nothing could be measured with RMA_AGENT=0");
    }
}
