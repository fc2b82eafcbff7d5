//! From measurements to figures: medians over repetitions, the best, ratios, what came back too early, budgets.
//!
//! A figure is the median of its repetitions' medians; its low and high are the lowest and the highest of them, which is how
//! far the machine's moods reach. Comparisons use times per operation, whatever is shown.

use super::cases::{Budget, FEWER, Row, rows};
use super::results::{Column, Failure, Measurement, RAW, Results, Transport};

/// One case and size in one column, over all repetitions. Times are nanoseconds per iteration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Figure {
    pub(crate) median: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// The fastest sample of all.
    pub(crate) fastest: f64,
    pub(crate) operations: u64,
    pub(crate) repetitions: usize,
}

impl Figure {
    /// Nothing, when there are no measurements.
    pub(crate) fn of<'m>(measurements: impl Iterator<Item = &'m Measurement>) -> Option<Self> {
        let measurements: Vec<&Measurement> = measurements.collect();
        let mut medians: Vec<f64> = measurements.iter().map(|m| m.median).collect();
        medians.sort_by(f64::total_cmp);
        let (low, high) = (*medians.first()?, *medians.last()?);
        let middle = medians.len() / 2;
        let median = if medians.len() % 2 == 1 {
            medians[middle]
        } else {
            (medians[middle - 1] + medians[middle]) / 2.0
        };
        Some(Self {
            median,
            low,
            high,
            fastest: measurements.iter().map(|m| m.min).fold(f64::INFINITY, f64::min),
            operations: measurements[0].operations,
            repetitions: medians.len(),
        })
    }

    pub(crate) fn per_operation(&self) -> f64 {
        self.median / self.operations as f64
    }

    /// How far the repetitions lie apart, as a part of the median.
    pub(crate) fn spread(&self) -> f64 {
        (self.high - self.low) / self.median
    }
}

impl Results {
    /// The figure of a case in a column.
    pub(crate) fn figure(&self, column: &str, case: &str, size: u64, ranks: u32) -> Option<Figure> {
        let is_it =
            |m: &&Measurement| m.column == column && m.case == case && m.size == size && m.ranks == ranks;
        Figure::of(self.measurements.iter().filter(is_it))
    }

    /// A raw limit.
    pub(crate) fn raw(&self, case: &str, size: u64) -> Option<Figure> {
        let is_it = |m: &&Measurement| m.column == RAW && m.case == case && m.size == size;
        Figure::of(self.measurements.iter().filter(is_it))
    }

    /// Whether a call over TCP came back before the target can have answered: sooner than seven tenths of the fastest round trip
    /// of a word that was seen, or, for large data, than half the fastest transfer of as much with an answer. Not the whole round
    /// trip: what was measured minutes before another time may have taken half as long again for the machine's mood.
    pub(crate) fn is_local(&self, transport: Transport, case: &str, size: u64, figure: &Figure) -> bool {
        if transport == Transport::Shm || WITHOUT_TRIP.contains(&case) {
            return false;
        }
        let trip = self.raw("raw-tcp", 8).map_or(0.0, |raw| 0.7 * raw.fastest);
        let transfer = self.raw("raw-tcp", size).map_or(0.0, |raw| 0.5 * raw.fastest);
        figure.median < if figure.operations == 1 { trip.max(transfer) } else { trip }
    }
}

/// Cases whose time is not that of one round trip at least: ranks answer each other out of step, or send what they like.
const WITHOUT_TRIP: [&str; 10] = [
    "rput",
    "counter",
    "counters",
    "lock-contended",
    "lock-fair",
    "mix",
    "win-allocate",
    "win-allocate-large",
    "idle-wait",
    "idle-away",
];

/// What stands in a table at one row and column.
#[derive(Clone, Debug)]
pub(crate) struct Cell<'r> {
    pub(crate) column: &'r Column,
    pub(crate) figure: Option<Figure>,
    /// Why there is no figure.
    pub(crate) failure: Option<&'r Failure>,
    /// It came back before the target can have answered, so it is not compared.
    pub(crate) is_local: bool,
}

impl Cell<'_> {
    /// What counts in comparisons.
    fn time(&self) -> Option<f64> {
        self.figure.filter(|_| !self.is_local).map(|figure| figure.per_operation())
    }
}

/// A row of a table, with everything that is said of it.
#[derive(Debug)]
pub(crate) struct Line<'r> {
    pub(crate) row: Row,
    pub(crate) cells: Vec<Cell<'r>>,
    pub(crate) limit: Option<Figure>,
    /// Time of the fastest column.
    pub(crate) best: Option<f64>,
    /// Our cell, if it has something to compare.
    pub(crate) ours: Option<usize>,
    /// The fastest other library's cell.
    pub(crate) best_peer: Option<usize>,
    /// Our time over the fastest other library's.
    pub(crate) to_peer: Option<f64>,
    /// Our time over the raw limit's.
    pub(crate) to_limit: Option<f64>,
    pub(crate) verdict: Option<Verdict>,
}

/// Our time against our budget.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Verdict {
    pub(crate) budget: Budget,
    /// Nothing, when what it is held against was not measured.
    pub(crate) is_met: Option<bool>,
}

/// Ratios this close are equal: below it the machine's moods decide.
pub(crate) const TOLERANCE: f64 = 1.05;

impl Line<'_> {
    /// How far a cell is from the best, 1 at best.
    pub(crate) fn behind(&self, cell: &Cell<'_>) -> Option<f64> {
        Some(cell.time()? / self.best?)
    }
}

/// The table of a transport: one line for every row with at least one cell that says something.
pub(crate) fn table(results: &Results, transport: Transport) -> Vec<Line<'_>> {
    rows()
        .map(|row| line(results, transport, row))
        .filter(|line| line.cells.iter().any(|cell| cell.figure.is_some() || cell.failure.is_some()))
        .collect()
}

fn line(results: &Results, transport: Transport, row: Row) -> Line<'_> {
    let cells: Vec<Cell<'_>> = results
        .columns_of(transport)
        .map(|column| {
            let figure = results.figure(&column.key, row.case, row.size, row.ranks);
            let is_local = figure.is_some_and(|f| results.is_local(transport, row.case, row.size, &f));
            let failure = match figure {
                Some(_) => None,
                None => results.failure(&column.key, row.case, row.ranks),
            };
            Cell { column, figure, failure, is_local }
        })
        .collect();
    let fastest = |is_ours: bool| {
        // A host with the guest is neither our library nor another one.
        let is_candidate = |cell: &Cell<'_>| cell.column.is_ours == is_ours && cell.column.host().is_none();
        let candidates = cells.iter().enumerate().filter(|(_, cell)| is_candidate(cell));
        candidates.filter_map(|(index, cell)| Some((index, cell.time()?))).min_by(|a, b| a.1.total_cmp(&b.1))
    };
    let (our_cell, peer) = (fastest(true), fastest(false));
    let ours = our_cell.map(|(_, time)| time);
    let limit = row.limit(transport).and_then(|(case, size)| results.raw(case, size));
    let over = |other: Option<f64>| Some(ours? / other?);
    let to_peer = over(peer.map(|(_, time)| time));
    let to_limit = over(limit.map(|limit| limit.per_operation()));
    let to_own = |case, ranks| {
        let (index, _) = our_cell?;
        let figure = results.figure(&cells[index].column.key, case, row.size, ranks)?;
        over(Some(figure.per_operation()))
    };
    let to_other = match row.budget(transport) {
        Some(Budget::Own(other, _)) => to_own(other.case, row.ranks),
        _ => None,
    };
    let ratios = Ratios { to_peer, to_limit, to_fewer: to_own(row.case, FEWER), to_other };
    let verdict = ours.and_then(|time| Some(judge(row.budget(transport)?, time, ratios)));
    Line {
        best: ours.into_iter().chain(peer.map(|(_, time)| time)).reduce(f64::min),
        ours: our_cell.map(|(index, _)| index),
        best_peer: peer.map(|(index, _)| index),
        row,
        cells,
        limit,
        to_peer,
        to_limit,
        verdict,
    }
}

/// Our time over that of others.
#[derive(Clone, Copy, Debug)]
struct Ratios {
    to_peer: Option<f64>,
    to_limit: Option<f64>,
    /// Over our own with fewer ranks.
    to_fewer: Option<f64>,
    /// Over our own of what the budget compares with.
    to_other: Option<f64>,
}

fn judge(budget: Budget, time_ns: f64, ratios: Ratios) -> Verdict {
    let Ratios { to_peer, to_limit, to_fewer, to_other } = ratios;
    let keeps = |ratio: Option<f64>, most: f64| ratio.map(|ratio| ratio <= most * TOLERANCE);
    let is_met = match budget {
        Budget::Best(most) => keeps(to_peer, most),
        Budget::Raw(most) => keeps(to_limit, most),
        Budget::Both(best, raw) => match (keeps(to_peer, best), keeps(to_limit, raw)) {
            (Some(peer), Some(limit)) => Some(peer && limit),
            (one, other) => one.or(other),
        },
        Budget::Fewer(most) => keeps(to_fewer, most),
        Budget::Own(_, most) => keeps(to_other, most),
        Budget::Time(most) => Some(time_ns <= most * TOLERANCE),
    };
    Verdict { budget, is_met }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::bench::machine::Machine;

    pub(crate) fn measurement(column: &str, case: &str, size: u64, median: f64) -> Measurement {
        Measurement {
            column: column.to_owned(),
            repetition: 0,
            case: case.to_owned(),
            size,
            ranks: if case == "counter" { 4 } else { 2 },
            operations: if case == "put-rate" { 1000 } else { 1 },
            iterations: 10,
            median,
            min: 0.9 * median,
            max: 1.2 * median,
            samples: vec![median],
        }
    }

    pub(crate) fn column(key: &str, transport: Transport) -> Column {
        Column {
            key: key.to_owned(),
            name: key.to_uppercase(),
            transport,
            is_ours: key == "ours",
            version: "1".to_owned(),
            compiler: "cc".to_owned(),
            launcher: "run".to_owned(),
            environment: Vec::new(),
        }
    }

    pub(crate) fn results(transport: Transport, columns: &[&str], measurements: Vec<Measurement>) -> Results {
        let columns = columns.iter().map(|key| column(key, transport)).collect();
        let mut results = Results::new("now".to_owned(), false, Machine::default(), columns);
        results.measurements = measurements;
        results.repetitions = 3;
        results
    }

    #[test]
    fn a_figure_is_the_median_of_medians_with_its_reach() {
        let all: Vec<Measurement> = [30.0, 10.0, 20.0].map(|m| measurement("a", "put", 8, m)).to_vec();
        let figure = Figure::of(all.iter()).unwrap();
        assert_eq!((figure.median, figure.low, figure.high, figure.fastest), (20.0, 10.0, 30.0, 9.0));
        assert_eq!(figure.spread(), 1.0);
        assert_eq!(Figure::of(all[..2].iter()).unwrap().median, 20.0);
        assert_eq!(Figure::of([].iter()), None);
    }

    #[test]
    fn ours_is_held_against_the_best_other_library() {
        let measurements = vec![
            measurement("ours", "put", 8, 12.0),
            measurement("a", "put", 8, 20.0),
            measurement("b", "put", 8, 30.0),
            measurement(RAW, "raw-memcpy", 8, 4.0),
        ];
        let results = results(Transport::Shm, &["ours", "a", "b"], measurements);
        let table = table(&results, Transport::Shm);
        let [line] = &table[..] else { panic!("one row") };
        assert_eq!((line.best, line.best_peer), (Some(12.0), Some(1)));
        assert_eq!((line.to_peer, line.to_limit), (Some(0.6), Some(3.0)));
        assert_eq!(line.verdict.unwrap().is_met, Some(false), "0.6 of the best is more than half");
        assert_eq!(line.behind(&line.cells[2]), Some(2.5));
    }

    #[test]
    fn a_host_with_the_guest_is_no_other_library() {
        let measurements = vec![
            measurement("ours", "put", 8, 12.0),
            measurement("a", "put", 8, 20.0),
            measurement("a-guest-shm", "put", 8, 10.0),
        ];
        let results = results(Transport::Shm, &["ours", "a-guest-shm", "a"], measurements);
        let table = table(&results, Transport::Shm);
        assert_eq!((table[0].best, table[0].best_peer, table[0].to_peer), (Some(12.0), Some(2), Some(0.6)));
    }

    #[test]
    fn what_comes_back_before_the_answer_is_not_compared() {
        let measurements = vec![
            measurement("ours", "put", 8, 7000.0),
            measurement("a", "put", 8, 500.0),
            measurement("b", "put", 8, 4000.0),
            measurement(RAW, "raw-tcp", 8, 6000.0),
        ];
        let results = results(Transport::Tcp, &["ours", "a", "b"], measurements);
        let table = table(&results, Transport::Tcp);
        assert!(table[0].cells[1].is_local && !table[0].cells[0].is_local);
        assert_eq!(table[0].best_peer, Some(2), "a better hour than the round trip had");
        assert_eq!(table[0].behind(&table[0].cells[1]), None);
    }

    #[test]
    fn large_transfers_are_local_by_half_of_a_bare_transfer() {
        let raw = vec![measurement(RAW, "raw-tcp", 8, 6e3), measurement(RAW, "raw-tcp", 4 << 20, 6e5)];
        let results = results(Transport::Tcp, &[], raw);
        let is_local = |case: &str, time| {
            let figure = Figure::of([measurement("a", case, 4 << 20, time)].iter()).unwrap();
            results.is_local(Transport::Tcp, case, 4 << 20, &figure)
        };
        assert!(is_local("put", 2e5) && !is_local("put", 5e5));
        assert!(!is_local("counter", 2e5) && !is_local("put-rate", 2e5) && is_local("put-rate", 2e3));
    }

    #[test]
    fn many_ranks_are_held_against_few_of_our_own() {
        let of = |column: &str, ranks: u32, median: f64| Measurement {
            ranks,
            operations: u64::from(ranks),
            ..measurement(column, "counter", 8, median)
        };
        let all = vec![of("ours", 2, 20.0), of("ours", 8, 240.0), of("a", 2, 1.0)];
        let results = results(Transport::Shm, &["ours", "a"], all);
        let table = table(&results, Transport::Shm);
        let line = table.iter().find(|line| line.row.ranks == 8).unwrap();
        assert_eq!(line.verdict.unwrap().is_met, Some(false), "30 ns for each is more than twice 10 ns");
    }

    #[test]
    fn a_notified_put_is_held_against_our_own_put_and_its_answer() {
        let of = |case, put| {
            let all = vec![measurement("ours", case, 8, 110.0), measurement("ours", "put", 8, put)];
            let results = results(Transport::Tcp, &["ours"], all);
            let table = table(&results, Transport::Tcp);
            let line = table.iter().find(|line| (line.row.case, line.row.size) == (case, 8)).unwrap();
            line.verdict.unwrap().is_met
        };
        assert_eq!([of("put-notify", 101.0), of("put-notify", 90.0)], [Some(true), Some(false)]);
    }

    #[test]
    fn budgets_need_what_they_are_held_against() {
        let met = |budget, to_peer, to_limit| {
            judge(budget, 100.0, Ratios { to_peer, to_limit, to_fewer: Some(1.5), to_other: None }).is_met
        };
        assert_eq!(met(Budget::Best(0.5), None, Some(1.0)), None);
        assert_eq!(met(Budget::Best(0.5), Some(0.52), None), Some(true), "within the tolerance");
        assert_eq!(met(Budget::Both(0.5, 2.0), Some(0.4), Some(3.0)), Some(false));
        assert_eq!(met(Budget::Both(0.5, 2.0), Some(0.4), None), Some(true));
        assert_eq!(met(Budget::Time(50.0), None, None), Some(false));
        assert_eq!(met(Budget::Fewer(2.0), Some(9.0), None), Some(true));
        assert_eq!(met(Budget::Fewer(1.2), None, None), Some(false));
    }
}
