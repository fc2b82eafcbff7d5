//! Compares a run with a saved one, and names what became slower beyond noise.
//!
//! Noise is what both runs say of themselves: a figure's repetitions lie apart by its spread. Our time is a regression when it
//! grew by more than both spreads together, and by more than a floor, since few repetitions can agree by chance. When the
//! machine's own limits moved as far, the finding says so: the machine is slower, perhaps not the library.

use super::cases::rows;
use super::figures::Figure;
use super::libraries::OLDER;
use super::results::{Column, Measurement, RAW, Results, Transport};
use super::units;
use std::collections::{BTreeMap, BTreeSet};

/// Changes below this are noise, however well repetitions agree.
const FLOOR: f64 = 0.05;
/// The same with fewer repetitions than it takes to know a spread.
const FLOOR_OF_FEW: f64 = 0.15;
const FEW: usize = 3;

/// A figure that became worse.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Regression {
    pub(crate) what: String,
    pub(crate) before: f64,
    pub(crate) after: f64,
    /// What the ratio had to exceed.
    pub(crate) threshold: f64,
    /// How many times slower the raw limit of that row is.
    pub(crate) machine: Option<f64>,
}

impl Regression {
    /// One line for people.
    pub(crate) fn describe(&self) -> String {
        let machine = match self.machine {
            Some(ratio) if ratio > 1.0 + FLOOR => {
                format!("; the machine's own limit is {} as slow as then", units::ratio(ratio))
            }
            _ => String::new(),
        };
        format!(
            "{}: {} → {}, {} the time (noise is up to {}){machine}",
            self.what,
            units::time(self.before),
            units::time(self.after),
            units::ratio(self.after / self.before),
            units::ratio(self.threshold)
        )
    }
}

/// What became slower for us from `before` to `after`, or why the two cannot be compared.
pub(crate) fn find(before: &Results, after: &Results) -> Result<Vec<Regression>, String> {
    let machines = [&before.machine, &after.machine];
    if machines[0].processor != machines[1].processor || machines[0].cores != machines[1].cores {
        return Err(format!(
            "the saved results are from another machine: {} with {} cores, not {} with {}",
            machines[0].processor, machines[0].cores, machines[1].processor, machines[1].cores
        ));
    }
    let mut regressions = Vec::new();
    for transport in Transport::ALL {
        let keys = |results: &Results| -> Vec<String> {
            results.columns_of(transport).filter(|c| c.is_ours).map(|c| c.key.clone()).collect()
        };
        for key in keys(before).iter().filter(|key| keys(after).contains(key)) {
            compare(before, after, transport, key, &mut regressions);
        }
    }
    Ok(regressions)
}

/// The rows of one run in which this library takes more than the floor longer than the older build beside it, by the median over
/// the repetitions of the ratio of both; nothing when there was none.
pub(crate) fn beside(results: &Results) -> Option<Vec<Regression>> {
    let (mut slower, mut has_older) = (Vec::new(), false);
    for transport in Transport::ALL {
        let key = |is_it: fn(&Column) -> bool| {
            results.columns_of(transport).find(|column| is_it(column)).map(|column| column.key.clone())
        };
        let columns = key(|column| column.is_ours).zip(key(|column| column.key.contains(OLDER)));
        let Some((ours, older)) = columns else { continue };
        has_older = true;
        slower.extend(longer(results, transport, [&older, &ours], 1.0 + FLOOR, by_pairs));
    }
    has_older.then_some(slower)
}

/// What a call may take with the guest, by our own C library's time.
const OF_GUEST: f64 = 1.15;

/// The rows of windows in which a library with the guest takes longer than it may: than our own library, or than the host alone.
pub(crate) fn of_guests(results: &Results) -> Vec<Regression> {
    let mut behind = Vec::new();
    for transport in Transport::ALL {
        let columns: Vec<&Column> = results.columns_of(transport).collect();
        for column in &columns {
            let Some(key) = column.host() else { continue };
            let ours = columns.iter().find(|other| other.is_ours).map(|other| (&other.key, OF_GUEST));
            let host = columns.iter().find(|other| other.key == key).map(|other| (&other.key, 1.0));
            for (other, limit) in ours.into_iter().chain(host) {
                let rows = longer(results, transport, [other, &column.key], limit, by_figures);
                let named = rows.into_iter().filter(|row| !row.what.contains(" message "));
                behind.extend(named.map(|row| Regression {
                    what: format!("{}, {} than {other}", row.what, column.key),
                    ..row
                }));
            }
        }
    }
    behind
}

/// The time of an operation in one column and, to be held against it, in another.
type Times = fn(&Results, [&str; 2], &(String, u64, u32)) -> Option<(f64, f64)>;

fn by_figures(
    results: &Results,
    columns: [&str; 2],
    (case, size, ranks): &(String, u64, u32),
) -> Option<(f64, f64)> {
    let [one, other] = columns.map(|column| results.figure(column, case, *size, *ranks));
    Some((one?.per_operation(), other?.per_operation()))
}

/// Moods of the machine that last longer than a repetition are in both times of a pair.
fn by_pairs(results: &Results, columns: [&str; 2], row: &(String, u64, u32)) -> Option<(f64, f64)> {
    let (one, _) = by_figures(results, columns, row)?;
    let (case, size, ranks) = row;
    let of = |column: &str| -> BTreeMap<u32, f64> {
        let is_it =
            |m: &&Measurement| m.column == column && m.case == *case && m.size == *size && m.ranks == *ranks;
        results.measurements.iter().filter(is_it).map(|m| (m.repetition, m.min)).collect()
    };
    let [before, after] = columns.map(of);
    let ratio = |(repetition, after): (&u32, &f64)| before.get(repetition).map(|before| after / before);
    let mut ratios: Vec<f64> = after.iter().filter_map(ratio).collect();
    ratios.sort_by(f64::total_cmp);
    Some((one, one * ratios.get(ratios.len() / 2)?))
}

/// The rows in which the second column takes more than `limit` of the first one's time.
fn longer(
    results: &Results,
    transport: Transport,
    columns: [&str; 2],
    limit: f64,
    times: Times,
) -> Vec<Regression> {
    let measured = results.measurements.iter().filter(|measurement| measurement.column == columns[1]);
    let rows: BTreeSet<_> = measured.map(|m| (m.case.clone(), m.size, m.ranks)).collect();
    let row = |row: (String, u64, u32)| {
        let (before, after) = times(results, columns, &row)?;
        (after / before > limit).then(|| {
            let (case, size, ranks) = row;
            let what = format!("{} {case} {}, {ranks} ranks", transport.word(), units::bytes(size));
            Regression { what, before, after, threshold: limit, machine: None }
        })
    };
    rows.into_iter().filter_map(row).collect()
}

fn compare(
    before: &Results,
    after: &Results,
    transport: Transport,
    column: &str,
    regressions: &mut Vec<Regression>,
) {
    let id = |m: &Measurement| (m.case.clone(), m.size, m.ranks);
    let measured: BTreeSet<_> =
        before.measurements.iter().filter(|m| m.column == column && m.column != RAW).map(id).collect();
    for (case, size, ranks) in measured {
        let figure = |results: &Results| results.figure(column, &case, size, ranks);
        let what = format!("{} {case} {}, {ranks} ranks", transport.word(), units::bytes(size));
        let (Some(then), Some(now)) = (figure(before), figure(after)) else { continue };
        let Some(threshold) = exceeded(&then, &now) else { continue };
        let limit = rows().find(|row| row.case == case).and_then(|row| row.limit(transport));
        let raw = |results: &Results| limit.and_then(|(case, size)| results.raw(case, size));
        let machine = raw(before).zip(raw(after)).map(|(then, now)| now.median / then.median);
        let (before, after) = (then.per_operation(), now.per_operation());
        regressions.push(Regression { what, before, after, threshold, machine });
    }
}

/// The threshold, if the time grew beyond it.
fn exceeded(then: &Figure, now: &Figure) -> Option<f64> {
    let floor = if then.repetitions.min(now.repetitions) < FEW { FLOOR_OF_FEW } else { FLOOR };
    let threshold = 1.0 + floor.max(then.spread() + now.spread());
    (now.per_operation() / then.per_operation() > threshold).then_some(threshold)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::figures::tests::{measurement, results};

    fn run(times: &[f64], raw: f64) -> Results {
        let mut measurements: Vec<Measurement> =
            times.iter().map(|time| measurement("ours", "put", 8, *time)).collect();
        measurements.push(measurement(RAW, "raw-memcpy", 8, raw));
        results(Transport::Shm, &["ours"], measurements)
    }

    fn found(before: &[f64], after: &[f64]) -> Vec<Regression> {
        find(&run(before, 1.0), &run(after, 1.5)).unwrap()
    }

    #[test]
    fn what_grows_beyond_both_spreads_is_named() {
        let [regression] = &found(&[10.0, 10.1, 10.2], &[12.0, 12.1, 12.2])[..] else { panic!("one") };
        assert_eq!(regression.what, "shm put 8 B, 2 ranks");
        assert_eq!(regression.machine, Some(1.5));
        assert!(regression.describe().contains("10.1 ns → 12.1 ns"), "{}", regression.describe());
    }

    #[test]
    fn noise_is_not_a_regression() {
        assert!(found(&[10.0, 10.1, 10.2], &[10.3, 10.4, 10.5]).is_empty(), "below the floor");
        assert!(found(&[9.0, 10.0, 11.0], &[11.0, 12.0, 13.0]).is_empty(), "within both spreads");
        assert!(found(&[10.0], &[11.0]).is_empty(), "too few repetitions");
        assert!(found(&[10.0, 10.0, 10.0], &[5.0, 5.0, 5.0]).is_empty(), "faster");
    }

    #[test]
    fn rows_behind_the_older_build_of_a_run_are_named() {
        let key = format!("ours{OLDER}");
        let at = |column: &str, case: &str, time| measurement(column, case, 8, time);
        let all = vec![
            at("ours", "put", 10.6),
            at(&key, "put", 10.0),
            at("ours", "get", 10.4),
            at(&key, "get", 10.0),
            at("ours", "fence", 1.0),
        ];
        let run = results(Transport::Shm, &["ours", &key], all);
        let [slower] = &beside(&run).unwrap()[..] else { panic!("one") };
        assert_eq!((slower.what.as_str(), slower.before), ("shm put 8 B, 2 ranks", 10.0));
        assert!((slower.after - 10.6).abs() < 1e-9, "{}", slower.after);
        assert_eq!(beside(&results(Transport::Shm, &["ours"], Vec::new())), None);
        // A machine that was slow during one repetition was slow for both.
        let pairs = [("ours", 0, 10.2), (&key, 0, 10.0), ("ours", 1, 30.6), (&key, 1, 30.0), (&key, 2, 10.0)];
        let all =
            pairs.map(|(column, repetition, time)| Measurement { repetition, ..at(column, "put", time) });
        assert_eq!(beside(&results(Transport::Shm, &["ours", &key], all.to_vec())).unwrap(), []);
    }

    #[test]
    fn other_machines_are_not_compared() {
        let before = run(&[1.0], 1.0);
        let mut after = before.clone();
        after.machine.cores += 1;
        assert!(find(&before, &after).unwrap_err().contains("another machine"));
    }
}
