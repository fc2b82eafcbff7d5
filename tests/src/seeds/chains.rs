//! What all ranks together have seen of the counter and the cells: the order of all changes, found out and checked in linear
//! time.
//!
//! Every value that is stored in a cell is stored once. So an operation that fetched `x` and stored `y` comes
//! directly behind the one that stored `x`: from the first value on, the changes form one chain, which must
//! contain all of them and end with what memory holds. An operation that only read has a place in it, too.
//! Places must not go back for one actor, whose accumulates on one location are ordered (MPI 3.1 §11.7.1),
//! nor from one round to the next.

use std::collections::{BTreeMap, HashMap};

/// A cell, or the counter (cell `u64::MAX`), of a rank in a window.
pub(super) type Place = (usize, u32, u64);

/// The cell that stands for the counter.
pub(super) const COUNTER: u64 = u64::MAX;

/// What an operation saw of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    /// The actor.
    pub(super) actor: u32,
    /// Number of the operation.
    pub(super) number: u32,
    /// The round that it belongs to.
    pub(super) round: u32,
    /// What was there.
    pub(super) fetched: u64,
    /// What was stored instead, if anything was.
    pub(super) wrote: Option<u64>,
}

/// What was seen, by place.
pub(super) type Log = BTreeMap<Place, Vec<Seen>>;

/// Checks what was seen against what memory holds at the end, and the number of increments.
///
/// # Errors
/// A sentence about the first thing that cannot be.
pub(super) fn check(log: &Log, last: impl Fn(Place) -> u64, counts: &[Vec<u64>]) -> Result<(), String> {
    for (place, seen) in log {
        let positions = if place.2 == COUNTER {
            count(seen, counts[place.0][place.1 as usize])
        } else {
            chain(seen, last(*place))
        };
        positions.and_then(|positions| order(seen, &positions)).map_err(|broken| {
            let (window, rank, cell) = place;
            format!("window {window}, rank {rank}, cell {cell:x}: {broken}")
        })?;
    }
    Ok(())
}

/// Before and after each operation, in changes from the first value on.
type Positions = Vec<(u64, u64)>;

fn count(seen: &[Seen], count: u64) -> Result<Positions, String> {
    let mut fetched = seen.iter().map(|seen| seen.fetched).collect::<Vec<_>>();
    fetched.sort_unstable();
    if fetched.iter().copied().eq(0..count) {
        Ok(seen.iter().map(|seen| (seen.fetched, seen.fetched + 1)).collect())
    } else {
        Err(format!("{count} increments fetched {fetched:?}"))
    }
}

fn chain(seen: &[Seen], last: u64) -> Result<Positions, String> {
    let mut next = HashMap::new();
    for change in seen.iter().filter(|seen| seen.wrote.is_some()) {
        if let Some(other) = next.insert(change.fetched, change) {
            return Err(format!("{change:?} and {other:?} replaced the same value"));
        }
    }
    let mut position = HashMap::from([(0, 0)]);
    let mut value = 0;
    while let Some(wrote) = next.remove(&value).and_then(|change| change.wrote) {
        position.insert(wrote, position.len() as u64);
        value = wrote;
    }
    if let Some(lost) = next.values().next() {
        return Err(format!("{lost:?} replaced a value that never was there"));
    }
    if value != last {
        return Err(format!("memory holds {last:#x}, but the last change was to {value:#x}"));
    }
    let places = seen.iter().map(|seen| {
        let before = position.get(&seen.fetched).copied();
        let before = before.ok_or_else(|| format!("{seen:?} fetched a value that never was there"))?;
        Ok((before, before + u64::from(seen.wrote.is_some())))
    });
    places.collect()
}

/// Positions must not go back.
fn order(seen: &[Seen], positions: &Positions) -> Result<(), String> {
    let mut by_number = seen.iter().zip(positions).collect::<Vec<_>>();
    by_number.sort_unstable_by_key(|(seen, _)| (seen.round, seen.number));
    let (mut newest, mut rounds_before, mut round, mut in_round) = (HashMap::new(), 0, 0, 0);
    for (seen, (before, after)) in by_number {
        if seen.round > round {
            (round, rounds_before) = (seen.round, in_round);
        }
        if *before < rounds_before {
            return Err(format!("{seen:?} did not see a change of an earlier round"));
        }
        in_round = in_round.max(*after);
        let own = newest.entry(seen.actor).or_insert(0);
        if *before < *own {
            return Err(format!(
                "{seen:?} did not see an earlier operation of the same actor, or what that saw"
            ));
        }
        *own = *after;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(actor: u32, number: u32, round: u32, fetched: u64, wrote: Option<u64>) -> Seen {
        Seen { actor, number, round, fetched, wrote }
    }

    fn check_cell(seen: &[Seen], last: u64) -> Result<(), String> {
        check(&Log::from([((0, 0, 0), seen.to_vec())]), |_| last, &[])
    }

    #[test]
    fn a_chain_is_accepted_and_every_break_is_found() {
        let good = [
            seen(0, 1, 0, 0, Some(10)),
            seen(1, 2, 0, 10, Some(20)),
            seen(0, 3, 0, 20, None),
            seen(1, 4, 1, 20, Some(30)),
        ];
        assert_eq!(check_cell(&good, 30), Ok(()));
        assert!(check_cell(&good, 20).unwrap_err().contains("memory holds"));
        let with = |at: usize, other: Seen| {
            let mut bad = good;
            bad[at] = other;
            check_cell(&bad, 30).unwrap_err()
        };
        assert!(with(1, seen(1, 2, 0, 0, Some(20))).contains("the same value"));
        assert!(with(2, seen(0, 3, 0, 15, None)).contains("never was there"));
        assert!(with(2, seen(0, 3, 0, 0, None)).contains("same actor"));
        assert!(with(3, seen(1, 4, 1, 25, Some(30))).contains("never was there"));
        let late = [good[0], good[1], seen(2, 5, 1, 10, None), good[3]];
        assert!(check_cell(&late, 30).unwrap_err().contains("earlier round"));
    }

    #[test]
    fn every_number_of_a_counter_is_fetched_once() {
        let log = |values: &[u64]| {
            let seen = values.iter().enumerate().map(|(at, value)| seen(at as u32, 1, 0, *value, Some(0)));
            Log::from([((0, 0, COUNTER), seen.collect())])
        };
        assert_eq!(check(&log(&[1, 0, 2]), |_| 0, &[vec![3]]), Ok(()));
        assert!(check(&log(&[1, 1, 2]), |_| 0, &[vec![3]]).is_err());
        assert!(check(&log(&[1, 0]), |_| 0, &[vec![3]]).is_err());
    }
}
