//! Sums of a timeline: per call and rank, and per rank what it waited for.

use super::events::{Kind, Timeline};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Most lines of what was waited for, the longest first.
const MOST_WAITS: usize = 20;

#[derive(Debug, Default)]
struct Sum {
    /// Two for a collective, which begins in one and ends in another.
    spans: u64,
    time_us: f64,
    waited_us: f64,
    mapped: u64,
    bytes: u64,
}

/// A rank, and what it waited for.
type Wait<'t> = (u32, &'t str);
/// How often, and how many microseconds in all.
type Waited = (u64, f64);

/// The tables as text.
pub(super) fn show(timeline: &Timeline) -> String {
    let mut calls = BTreeMap::<(&str, u32), Sum>::new();
    let mut waits = BTreeMap::<Wait<'_>, Waited>::new();
    // A wait ends before the call that it is in.
    let mut waited = BTreeMap::new();
    for item in &timeline.items {
        let of_call = (item.name.as_str(), item.row.0);
        match item.kind {
            Kind::Call => {
                let sum = calls.entry(of_call).or_default();
                sum.spans += 1;
                sum.time_us += item.len_us;
                sum.waited_us += waited.remove(&(item.row, item.depth + 1)).unwrap_or(0.0);
            }
            Kind::Wait => {
                *waited.entry((item.row, item.depth)).or_insert(0.0) += item.len_us;
                let (times, time_us) = waits.entry((item.row.0, &item.about)).or_default();
                *times += 1;
                *time_us += item.len_us;
            }
            Kind::Direct(bytes) => {
                let sum = calls.entry(of_call).or_default();
                sum.mapped += 1;
                sum.bytes += bytes;
            }
            Kind::Mark => {}
        }
    }
    let mut text = String::new();
    let width = calls.keys().map(|(name, _)| name.len()).max().unwrap_or(0).max("call".len());
    // Writing to a string does not fail.
    let _ = writeln!(
        text,
        "{:width$} {:>5} {:>9} {:>12} {:>12} {:>9} {:>13}",
        "call", "rank", "spans", "ms", "ms waited", "mapped", "mapped bytes"
    );
    for ((name, rank), sum) in &calls {
        let _ = writeln!(
            text,
            "{name:width$} {rank:>5} {:>9} {:>12.3} {:>12.3} {:>9} {:>13}",
            sum.spans,
            sum.time_us / 1e3,
            sum.waited_us / 1e3,
            sum.mapped,
            sum.bytes
        );
    }
    show_waits(&mut text, waits);
    text
}

fn show_waits(text: &mut String, waits: BTreeMap<Wait<'_>, Waited>) {
    if waits.is_empty() {
        return;
    }
    let mut waits = waits.into_iter().collect::<Vec<_>>();
    waits.sort_by(|(_, (_, a)), (_, (_, b))| b.total_cmp(a));
    let _ = writeln!(text, "\n{:>5} {:>9} {:>12}  waited for", "rank", "waits", "ms");
    for ((rank, what), (times, time_us)) in waits.iter().take(MOST_WAITS) {
        let _ = writeln!(text, "{rank:>5} {times:>9} {:>12.3}  {what}", time_us / 1e3);
    }
    if let Some(more @ 1..) = waits.len().checked_sub(MOST_WAITS) {
        let _ = writeln!(text, "and {more} shorter");
    }
}

#[cfg(test)]
mod tests {
    use super::super::events::tests::SAMPLE;
    use super::*;

    #[test]
    fn time_bytes_and_waits_are_summed() {
        let text = show(&Timeline::read(SAMPLE.as_bytes()).unwrap());
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let lines = text.lines().map(words).collect::<Vec<_>>();
        assert_eq!(lines[1], ["fence", "0", "1", "1.001", "1.000", "0", "0"], "{text}");
        assert_eq!(lines[2], ["put", "0", "1", "0.001", "0.000", "1", "8"], "{text}");
        assert_eq!(lines[5][..4], ["0", "1", "1.000", "rank"], "{text}");
    }
}
