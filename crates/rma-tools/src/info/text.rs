//! The report for people, wrapped to the width of their terminal.

use super::report::{ABI_VERSION, ChannelReport, MPI_VERSION, Report};
use rma::channels::Distance;
use rma_core::config::{Setting, Unit};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Narrower than this nothing is wrapped any more.
const NARROWEST: usize = 40;
/// What the library lacks: group, name, and what the name answers in programs of other libraries.
const UNSUPPORTED: &str = include_str!("../../../rma-capi/abi/unsupported.tsv");
/// Wider prose is hard to read.
const WIDEST: usize = 110;

/// The whole report.
pub(super) fn show(report: &Report, width: usize) -> String {
    let width = width.clamp(NARROWEST, WIDEST);
    let mut text = String::new();
    let _ = writeln!(text, "rma {}", env!("CARGO_PKG_VERSION"));
    let _ = writeln!(
        text,
        "MPI {}.{}, standard ABI {}.{}",
        MPI_VERSION.0, MPI_VERSION.1, ABI_VERSION.0, ABI_VERSION.1
    );
    let _ = writeln!(text, "channels: {}", rma::channels::names().join(", "));
    for setting in &report.settings {
        let _ = write!(text, "\n{}", variable(setting, width));
    }
    text
}

/// The channels, and what pairs of ranks use.
pub(super) fn show_channels(report: &Report, width: usize) -> String {
    let width = width.clamp(NARROWEST, WIDEST);
    let mut text: String =
        report.channels.iter().map(|channel| show_channel(channel, width) + "\n").collect();
    let preference = report.settings.iter().find(|setting| setting.variable.name == "RMA_CHANNEL");
    if let Some(setting) = preference {
        let _ = writeln!(text, "RMA_CHANNEL = {}", setting.value);
    }
    let name = |distance| report.plan.of(distance).map_or("none reaches", |kind| kind.name());
    let _ = writeln!(text, "    two ranks of a node: {}", name(Distance::Node));
    let _ = writeln!(text, "    ranks of two nodes:  {}", name(Distance::Remote));
    let way = if report.plan.is_direct { "direct (unless RMA_DIRECT is 0)" } else { "by packets" };
    let _ = writeln!(text, "    windows of a node:   {way}");
    text
}

/// The functions of MPI that the C library does not have, by group.
pub(super) fn show_missing(width: usize) -> String {
    let width = width.clamp(NARROWEST, WIDEST);
    let rows = UNSUPPORTED.lines().skip(1).filter_map(|row| row.split_once('\t'));
    let mut groups = BTreeMap::<&str, Vec<&str>>::new();
    for (group, rest) in rows {
        groups.entry(group).or_default().push(rest.split('\t').next().unwrap_or_default());
    }
    let number: usize = groups.values().map(Vec::len).sum();
    let mut text = format!("{number} functions of MPI {}.{} are not there\n", MPI_VERSION.0, MPI_VERSION.1);
    for (group, names) in groups {
        let _ = writeln!(text, "\n{group} ({})", names.len());
        let mut line = String::from("   ");
        for name in names {
            if line.len() + 1 + name.len() > width {
                let _ = writeln!(text, "{line}");
                line.truncate(3);
            }
            let _ = write!(line, " {name}");
        }
        let _ = writeln!(text, "{line}");
    }
    text
}

fn show_channel(channel: &ChannelReport, width: usize) -> String {
    let (state, why) = match &channel.state {
        Ok(what) => ("there", what),
        Err(why) => ("not there", why),
    };
    let cost =
        |ns: Option<u32>| ns.map_or("does not reach".to_owned(), |ns| format!("{} µs", f64::from(ns) / 1e3));
    let [node, remote] = channel.cost_ns.map(cost);
    let mut text = format!("{}: {}\n", channel.name, channel.text);
    for line in [
        format!("{state}: {why}"),
        format!("short packet, roughly: within a node {node}, between nodes {remote}"),
    ] {
        let options = textwrap::Options::new(width).initial_indent("    ").subsequent_indent("    ");
        text += &textwrap::fill(&line, options);
        text.push('\n');
    }
    text
}

/// One variable: the value in force, what else it can be, what it does and why it is what it is.
fn variable(setting: &Setting, width: usize) -> String {
    let row = &setting.variable;
    let mut text = format!("{} = {}", row.name, setting.value);
    if setting.value != setting.default {
        let _ = write!(text, "  (default {})", setting.default);
    }
    text.push('\n');
    let range = match row.unit {
        Unit::Switch | Unit::Choice => setting.range.clone(),
        Unit::Count | Unit::Bytes | Unit::Microseconds | Unit::Seconds => {
            format!("{}, {}", row.unit, setting.range)
        }
    };
    for paragraph in [range, row.text.to_owned(), format!("why {}: {}", setting.default, row.reason)] {
        let options = textwrap::Options::new(width).initial_indent("    ").subsequent_indent("    ");
        text += &textwrap::fill(&paragraph, options);
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(set: &'static str) -> Report {
        Report::new(&move |name| (name == "RMA_SLOTS").then(|| set.to_owned()), Vec::new())
    }

    #[test]
    fn lines_fit_the_terminal() {
        for width in [40, 60, 110] {
            let text = show(&report("64"), width);
            for line in text.lines() {
                // A word longer than the line stands alone on it.
                assert!(
                    line.chars().count() <= width || line.split_whitespace().count() < 4,
                    "{width}: {line}"
                );
            }
        }
        assert_eq!(show(&report("64"), 1), show(&report("64"), NARROWEST));
        assert_eq!(show(&report("64"), 1000), show(&report("64"), WIDEST));
    }

    #[test]
    fn channels_are_shown_with_their_state() {
        let mut report = report("64");
        report.channels[1].state = Err("no such thing".to_owned());
        let text = show_channels(&report, 80);
        for part in [
            "shm: ",
            "    there: ",
            "    not there: no such thing\n",
            "RMA_CHANNEL = auto\n",
            "a node: shm\n",
            "nodes:  tcp\n",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn a_changed_value_is_shown_beside_its_default() {
        assert!(
            show(&report("7"), 80).contains("\nRMA_SLOTS = 7  (default 64)\n    count, from 1 to 1048576\n")
        );
        assert!(show(&report("64"), 80).contains("\nRMA_SLOTS = 64\n"));
    }
}
