//! Random programs of the whole one-sided chapter: the part that every suite runs. `cargo xtask seeds` runs more of them.

use rma_tests::job::is_second_pass;
use rma_tests::seeds::check::{explain, run};
use rma_tests::seeds::{Plan, Pools, Schedules};

/// Seeds of every suite.
const SEEDS: u64 = 2000;

fn plan(seed: u64) -> Plan {
    Plan::new(seed, Pools::of("all", seed).expect("a word for pools"), 0)
        .under(Schedules::of("all", seed).expect("a word for schedules"))
}

#[test]
fn programs_bring_what_they_must() {
    if is_second_pass() {
        return;
    }
    let summary = run(0..SEEDS, 2, plan, |_| {});
    if let Some(failure) = summary.failures.first() {
        panic!("{} of {SEEDS} seeds fail; {}", summary.failures.len(), explain(&plan(failure.seed)));
    }
    assert!(summary.steps > 100_000, "the programs have become short: {} steps", summary.steps);
}

#[test]
fn seeds_that_failed_once_do_not_fail() {
    for line in include_str!("../../seeds.txt").lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        let mut word = || words.next().expect("seed, pools, threads and schedule");
        let seed = word().parse().expect("a seed");
        let pools = Pools::of(word(), seed).expect("a word for pools");
        let threads = word().parse().expect("a number of threads");
        let schedule = Schedules::of(word(), seed).expect("a word for schedules");
        let plan = Plan::new(seed, pools, threads).under(schedule);
        assert!(plan.simulate().is_ok(), "{line}: {}", explain(&plan));
    }
}
