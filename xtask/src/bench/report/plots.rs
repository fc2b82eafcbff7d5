//! Plots against size, as SVG: time of one call, bandwidth and rate of many.
//!
//! Each point is a median with a stroke from the lowest to the highest repetition. A hollow point came back before the target
//! can have answered. Colours are the same in all plots; the page has one legend for all.

use super::super::cases::Measure;
use super::super::figures::Figure;
use super::super::results::{Results, Transport};
use super::super::units;
use plotters::prelude::*;
use std::collections::BTreeSet;

/// A plot's subject.
#[derive(Debug)]
struct Subject {
    title: &'static str,
    case: &'static str,
    measure: Measure,
    /// The raw limit by size: through shared memory, over TCP. `raw-tcp` has an answer, like one call and a flush.
    limits: [Option<&'static str>; 2],
}

const SUBJECTS: [Subject; 6] = [
    Subject {
        title: "put + flush",
        case: "put",
        measure: Measure::Time,
        limits: [Some("raw-memcpy"), Some("raw-tcp")],
    },
    Subject {
        title: "get + flush",
        case: "get",
        measure: Measure::Time,
        limits: [Some("raw-memcpy"), Some("raw-tcp")],
    },
    Subject {
        title: "put, many per flush: bandwidth",
        case: "put-rate",
        measure: Measure::Bandwidth,
        limits: [Some("raw-memcpy"), None],
    },
    Subject {
        title: "get, many per flush: bandwidth",
        case: "get-rate",
        measure: Measure::Bandwidth,
        limits: [Some("raw-memcpy"), None],
    },
    Subject {
        title: "put, many per flush: rate",
        case: "put-rate",
        measure: Measure::Rate,
        limits: [Some("raw-memcpy"), None],
    },
    Subject {
        title: "accumulate of doubles + flush: bandwidth",
        case: "acc-double",
        measure: Measure::Bandwidth,
        limits: [None, Some("raw-tcp")],
    },
];

/// Ours first; colours that people with colour-blindness can tell apart.
const OURS: RGBColor = RGBColor(213, 94, 0);
const OTHERS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(86, 180, 233),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(110, 80, 160),
    RGBColor(120, 130, 20),
    RGBColor(150, 90, 60),
];
const LIMIT: RGBColor = RGBColor(90, 90, 90);

/// A line of a plot.
#[derive(Debug)]
struct Series {
    colour: RGBColor,
    is_ours: bool,
    is_limit: bool,
    points: Vec<Point>,
}

#[derive(Debug)]
struct Point {
    size: f64,
    value: f64,
    low: f64,
    high: f64,
    is_local: bool,
}

/// What the legend shows: colour and name.
pub(super) fn legend(results: &Results, transport: Transport) -> Vec<(String, String)> {
    let mut entries: Vec<(String, String)> = results
        .columns_of(transport)
        .map(|column| (css(colour(results, &column.name, column.is_ours)), column.name.clone()))
        .collect();
    entries.push((css(LIMIT), "limit of the machine (dashed)".to_owned()));
    entries
}

fn css(RGBColor(red, green, blue): RGBColor) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// A name has its colour in all plots of all transports.
fn colour(results: &Results, name: &str, is_ours: bool) -> RGBColor {
    if is_ours {
        return OURS;
    }
    let mut names: Vec<&str> = Vec::new();
    for column in results.columns.iter().filter(|column| !column.is_ours) {
        if !names.contains(&column.name.as_str()) {
            names.push(&column.name);
        }
    }
    let index = names.iter().position(|known| *known == name).unwrap_or(0);
    OTHERS[index % OTHERS.len()]
}

/// The plots of a transport: those with at least one line of two points.
pub(super) fn plots(results: &Results, transport: Transport) -> Result<Vec<String>, String> {
    let mut plots = Vec::new();
    for subject in &SUBJECTS {
        let series = series(results, transport, subject);
        if series.iter().any(|series| !series.is_limit && series.points.len() > 1) {
            let svg = draw(subject, &series);
            plots.push(svg.map_err(|error| format!("{} could not be drawn: {error}", subject.title))?);
        }
    }
    Ok(plots)
}

fn series(results: &Results, transport: Transport, subject: &Subject) -> Vec<Series> {
    let sizes: BTreeSet<u64> =
        results.measurements.iter().filter(|m| m.case == subject.case).map(|m| m.size).collect();
    let points = |figure: &dyn Fn(u64) -> Option<Figure>| -> Vec<Point> {
        sizes
            .iter()
            .filter_map(|&size| Some(point(results, transport, subject, size, figure(size)?)))
            .collect()
    };
    let limit = match transport {
        Transport::Shm => subject.limits[0],
        Transport::Tcp => subject.limits[1],
    };
    let mut all: Vec<Series> = Vec::new();
    if let Some(case) = limit {
        let points = points(&|size| results.raw(case, size));
        all.push(Series { colour: LIMIT, is_ours: false, is_limit: true, points });
    }
    for column in results.columns_of(transport) {
        let colour = colour(results, &column.name, column.is_ours);
        let points = points(&|size| results.figure(&column.key, subject.case, size, 2));
        all.push(Series { colour, is_ours: column.is_ours, is_limit: false, points });
    }
    // Ours is drawn last, above the others.
    all.sort_by_key(|series| series.is_ours);
    all.retain(|series| !series.points.is_empty());
    all
}

fn point(results: &Results, transport: Transport, subject: &Subject, size: u64, figure: Figure) -> Point {
    let value = |ns: f64| {
        let operations = figure.operations as f64;
        match subject.measure {
            Measure::Time | Measure::Share => ns,
            Measure::Rate => operations / ns * 1e9,
            Measure::Bandwidth => operations * size as f64 / ns * 1e9,
        }
    };
    Point {
        size: size as f64,
        value: value(figure.median),
        low: value(figure.low),
        high: value(figure.high),
        is_local: results.is_local(transport, subject.case, size, &figure),
    }
}

/// Labels of an axis are powers of ten.
fn round(text: &str) -> String {
    text.replace(".00 ", " ").replace(".0 ", " ")
}

type Failure = Box<dyn std::error::Error>;

fn draw(subject: &Subject, series: &[Series]) -> Result<String, Failure> {
    let mut svg = String::new();
    let all = || series.iter().flat_map(|series| &series.points);
    let lowest = |value: fn(&Point) -> f64| all().map(value).fold(f64::INFINITY, f64::min);
    let highest = |value: fn(&Point) -> f64| all().map(value).fold(0.0, f64::max);
    let sizes = lowest(|p| p.size) / 1.5..highest(|p| p.size) * 1.5;
    let values = lowest(|p| p.low.min(p.high)) / 1.4..highest(|p| p.low.max(p.high)) * 1.4;
    {
        let area = SVGBackend::with_string(&mut svg, (560, 360)).into_drawing_area();
        let mut chart = ChartBuilder::on(&area)
            .caption(subject.title, ("sans-serif", 16))
            .margin(8)
            .x_label_area_size(32)
            .y_label_area_size(72)
            .build_cartesian_2d(sizes.log_scale().base(8.0), values.log_scale())?;
        let show = |value: &f64| match subject.measure {
            Measure::Time => round(&units::time(*value)),
            Measure::Rate => round(&units::rate(*value)),
            Measure::Bandwidth => round(&units::bandwidth(*value)),
            Measure::Share => round(&units::share(*value)),
        };
        chart
            .configure_mesh()
            .x_label_formatter(&|size| units::bytes(size.round() as u64))
            .y_label_formatter(&show)
            .label_style(("sans-serif", 12))
            .bold_line_style(RGBColor(215, 215, 215))
            .light_line_style(RGBColor(245, 245, 245))
            .axis_style(RGBColor(120, 120, 120))
            .draw()?;
        for series in series {
            let line = series.points.iter().map(|point| (point.size, point.value));
            let style = series.colour.stroke_width(if series.is_ours { 3 } else { 2 });
            if series.is_limit {
                chart.draw_series(DashedLineSeries::new(line, 6, 4, style))?;
                continue;
            }
            chart.draw_series(LineSeries::new(line, style))?;
            let strokes = series.points.iter().map(|point| {
                PathElement::new(vec![(point.size, point.low), (point.size, point.high)], series.colour)
            });
            chart.draw_series(strokes)?;
            let dots = series.points.iter().map(|point| {
                let style = if point.is_local { series.colour.into() } else { series.colour.filled() };
                Circle::new((point.size, point.value), 4, style)
            });
            chart.draw_series(dots)?;
        }
        area.present()?;
    }
    Ok(svg)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::figures::tests::{measurement, results};

    #[test]
    fn plots_are_drawn_where_there_is_more_than_one_size() {
        let mut measurements: Vec<_> = [8, 4096].map(|size| measurement("a", "put", size, 10.0)).to_vec();
        measurements.push(measurement("a", "get", 8, 10.0));
        let results = results(Transport::Shm, &["a"], measurements);
        let plots = plots(&results, Transport::Shm).unwrap();
        assert_eq!(plots.len(), 1);
        assert!(plots[0].starts_with("<svg") && plots[0].contains("put + flush"));
        assert!(plots[0].contains("4 KiB"), "sizes are labelled");
    }

    #[test]
    fn a_library_keeps_its_colour() {
        let mut all = results(Transport::Shm, &["ours", "a", "b"], Vec::new());
        let over_tcp: Vec<_> =
            ["b", "c"].map(|key| crate::bench::figures::tests::column(key, Transport::Tcp)).into();
        all.columns.extend(over_tcp);
        let shm = legend(&all, Transport::Shm);
        let tcp = legend(&all, Transport::Tcp);
        assert_eq!(shm[2], tcp[0]);
        assert!(tcp[1].0 != tcp[0].0 && shm[0].0 == css(OURS));
    }
}
