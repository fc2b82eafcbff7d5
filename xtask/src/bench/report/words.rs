//! What the page and the tables say in words: cells, budgets, where we stand, how to read it.

use super::super::cases::{Budget, FEWER};
use super::super::figures::{Cell, Figure, Line, TOLERANCE, table};
use super::super::results::{Results, Transport};
use super::super::units;

/// What stands in a cell: the figure and its reach, or why there is none.
pub(super) fn cell(line: &Line<'_>, cell: &Cell<'_>) -> (String, String) {
    match (&cell.figure, cell.failure) {
        (Some(figure), _) => (show(line, figure, figure.median), reach(line, figure)),
        (None, Some(failure)) => (failure.kind.word().to_owned(), String::new()),
        (None, None) => ("–".to_owned(), String::new()),
    }
}

/// Lowest and highest repetition, when there are several.
fn reach(line: &Line<'_>, figure: &Figure) -> String {
    match figure.repetitions {
        0 | 1 => String::new(),
        _ => format!("{} … {}", show(line, figure, figure.low), show(line, figure, figure.high)),
    }
}

/// A time of a row in the row's unit.
fn show(line: &Line<'_>, figure: &Figure, ns: f64) -> String {
    units::show(line.row.measure, ns, figure.operations, line.row.size)
}

/// The raw limit of a row.
pub(super) fn limit(line: &Line<'_>) -> String {
    line.limit.map_or_else(String::new, |limit| {
        // A limit is of one operation of its own size, which is the row's.
        units::show(line.row.measure, limit.median, limit.operations, line.row.size)
    })
}

/// A quotient that may not be there.
pub(super) fn ratio(value: Option<f64>) -> String {
    value.map_or_else(String::new, units::ratio)
}

/// A budget, and whether it is met.
pub(super) fn verdict(line: &Line<'_>) -> String {
    let Some(verdict) = line.verdict else { return String::new() };
    let budget = match verdict.budget {
        Budget::Best(most) => format!("{most:.2} × best"),
        Budget::Raw(most) => format!("{most:.2} × limit"),
        Budget::Both(best, raw) => format!("{best:.2} × best, {raw:.2} × limit"),
        Budget::Time(most) => units::show(line.row.measure, most, 1, line.row.size),
        Budget::Fewer(most) => format!("{most:.2} × {FEWER} ranks"),
        Budget::Own(other, most) => format!("{most:.2} × our {}", other.words),
    };
    match verdict.is_met {
        Some(true) => format!("{budget}: met"),
        Some(false) => format!("{budget}: missed"),
        None => budget,
    }
}

/// How much was measured.
pub(super) fn extent(results: &Results) -> String {
    format!(
        "{} repetition{}{}{}",
        results.repetitions,
        if results.repetitions == 1 { "" } else { "s" },
        if results.is_cut_short { ", the last one cut short by the time limit" } else { "" },
        if results.quick { ", short samples (--quick)" } else { "" }
    )
}

/// Where our library stands, a sentence per transport: behind first.
pub(super) fn standing(results: &Results) -> Vec<String> {
    let mut sentences = Vec::new();
    for transport in Transport::ALL {
        let lines = table(results, transport);
        let compared: Vec<&Line<'_>> = lines.iter().filter(|line| line.to_peer.is_some()).collect();
        if compared.is_empty() {
            continue;
        }
        let names = |is_it: &dyn Fn(f64) -> bool| -> Vec<String> {
            let chosen = compared.iter().filter(|line| line.to_peer.is_some_and(is_it));
            chosen.map(|line| format!("{} ({})", line.row.title, ratio(line.to_peer))).collect()
        };
        let behind = names(&|ratio| ratio > TOLERANCE);
        let ahead = names(&|ratio| ratio < 1.0 / TOLERANCE);
        let even = compared.len() - behind.len() - ahead.len();
        let list = match behind.is_empty() {
            true => "Nowhere behind".to_owned(),
            false => format!("Behind the best other library in {}: {}", behind.len(), behind.join("; ")),
        };
        sentences.push(format!(
            "{}, {} rows compared. {list}. Ahead in {}, level in {even}.",
            transport.title(),
            compared.len(),
            ahead.len()
        ));
    }
    let missing = Transport::ALL.iter().all(|transport| results.columns_of(*transport).all(|c| !c.is_ours));
    if missing {
        sentences.push("Our own library was not measured.".to_owned());
    }
    sentences
}

/// How to read the tables.
pub(super) const READING: [&str; 5] = [
    "Cells are medians over the repetitions, with the lowest and the highest repetition below; every repetition is itself a \
     median of samples, and every library ran in turn within it. Below a ratio of 1.3 the machine's moods may decide.",
    "local: the call came back before the target can have answered, so it says nothing about completion at the target (or \
     the data did not take the network at all). Such a figure is not compared.",
    "Ratios are of times per operation, ours over the best other library's and over the limit: below 1 is faster.",
    "Limits are measured in the same run without MPI: memcpy, an atomic addition alone or by two processes at one word, a \
     flag to another process and back, a word over TCP and back with busy polling, a TCP stream.",
    "not there: the library lacks a call that the case needs. wrong value: the case found data that it had not expected. \
     hangs, crashes: the job did not end in time, or died.",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::figures::tests::{measurement, results};

    #[test]
    fn standing_names_what_is_behind() {
        let measurements = vec![
            measurement("ours", "put", 8, 30.0),
            measurement("a", "put", 8, 10.0),
            measurement("ours", "fence", 8, 10.0),
            measurement("a", "fence", 8, 30.0),
        ];
        let results = results(Transport::Shm, &["ours", "a"], measurements);
        let [sentence] = &standing(&results)[..] else { panic!("one transport") };
        assert!(
            sentence.contains("Behind the best other library in 1: put 8 B + flush (3.00 ×)"),
            "{sentence}"
        );
        assert!(sentence.ends_with("Ahead in 1, level in 0."), "{sentence}");
    }

    #[test]
    fn a_run_without_us_says_so() {
        let results = results(Transport::Shm, &["a"], vec![measurement("a", "put", 8, 10.0)]);
        assert_eq!(standing(&results), ["Our own library was not measured."]);
    }

    #[test]
    fn cells_show_the_rows_measure() {
        let all = [1e6, 2e6, 4e6].map(|time| measurement("a", "put", 4 << 20, time)).to_vec();
        let results = results(Transport::Shm, &["a"], all);
        let lines = table(&results, Transport::Shm);
        let (large, small) = cell(&lines[0], &lines[0].cells[0]);
        assert_eq!((large.as_str(), small.as_str()), ("2.10 GB/s", "4.19 GB/s … 1.05 GB/s"));
        assert_eq!((verdict(&lines[0]), limit(&lines[0])), (String::new(), String::new()));
    }
}
