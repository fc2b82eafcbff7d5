//! Random programs with deaths, pauses, late starts and lost connections in virtual time: the part that every suite runs.
//! `cargo xtask seeds --deaths` runs more.

use rma_tests::faults::simulate::{Kinds, many};
use rma_tests::job::is_second_pass;

/// Runs seeds; so many of a hundred must have a death, or a lost connection, while the job runs.
fn run(kinds: Kinds, seeds: u64, deaths: u64, cuts: u64) {
    if is_second_pass() {
        return;
    }
    let found = many::run(0..seeds, 2, kinds, |_| {});
    if let Some((seed, fault)) = found.failures.first() {
        panic!(
            "{} of {seeds} seeds fail; {seed}: {fault}\n{}",
            found.failures.len(),
            many::explain(*seed, kinds)
        );
    }
    let (died, lost) = (found.deaths * 100 / seeds, found.cuts * 100 / seeds);
    assert!(died >= deaths && lost >= cuts, "the faults come too late: {found:?}");
    assert!(found.steps > seeds * 100, "the programs have become short: {found:?}");
}

#[test]
fn survivors_go_on_wherever_ranks_are() {
    run(Kinds::All, 400, 50, 10);
}
