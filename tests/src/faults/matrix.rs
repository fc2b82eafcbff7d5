//! Runs an entry of the named matrix. Where one does not end in time, says what each rank waited for.

use super::case::Way;
use super::cells::{CALLS, Call, Cell, DELAY, VICTIMS, Victim};
use super::judge::Fault;
use super::simulate::SimCase;
use super::watch;
use crate::job::is_second_pass;
use std::fmt::Write;
use std::time::Duration;

/// Longest time without progress of any process, far above what it takes, so that a busy machine is no fault.
/// In virtual time it is [`BOUND`](super::simulate::BOUND).
const BOUND: Duration = Duration::from_secs(20);
/// Runs of an entry in virtual time: its sizes, delays and moments of death.
const SEEDS: u64 = 24;

/// Runs an entry; where two ranks are a node, with the target on either.
///
/// # Panics
/// When anything is wrong; the message says what, and what each rank waited for.
pub fn check(call: Call, victim: Victim, way: Way) {
    check_at(Cell { call, victim, is_target_near: false }, way);
    if way == Way::Nodes {
        check_at(Cell { call, victim, is_target_near: true }, way);
    }
}

/// Runs an entry with the target where it says.
///
/// # Panics
/// As [`check`].
pub fn check_at(cell: Cell, way: Way) {
    if is_second_pass() {
        return;
    }
    if way == Way::Tcp || matches!(cell.call, Call::Collective | Call::Message) {
        let faults = watch::run(&cell.case(way, DELAY), BOUND).faults;
        assert!(faults.is_empty(), "{} on processes:\n{}", cell.word(), words(&faults));
        return;
    }
    for seed in 0..SEEDS {
        let case = SimCase::of_cell(cell, way, seed);
        let faults = case.run().faults;
        assert!(faults.is_empty(), "{}, seed {seed}:\n{}{case}", cell.word(), words(&faults));
    }
}

fn words(faults: &[Fault]) -> String {
    faults.iter().fold(String::new(), |mut text, fault| {
        let _ = writeln!(text, "  {fault}");
        text
    })
}

/// Whether these are all entries, in the order of the tables.
pub fn is_complete(entries: &[(Call, Victim)]) -> bool {
    let all = CALLS.iter().flat_map(|(_, call)| VICTIMS.iter().map(move |(_, victim)| (*call, *victim)));
    all.eq(entries.iter().copied())
}

/// Tests of a way: a name, a call and the rank that dies, for each entry.
#[macro_export]
macro_rules! matrix {
    ($way:expr; $($name:ident: $call:ident, $victim:ident;)*) => {
        $(
            #[test]
            fn $name() {
                use $crate::faults::cells::{Call, Victim};
                $crate::faults::matrix::check(Call::$call, Victim::$victim, $way);
            }
        )*

        #[test]
        fn no_entry_is_missing() {
            use $crate::faults::cells::{Call, Victim};
            let entries = [$((Call::$call, Victim::$victim)),*];
            assert!($crate::faults::matrix::is_complete(&entries));
        }
    };
}
