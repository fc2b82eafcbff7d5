//! Random programs in virtual time, with small pools, tiny buffers, pauses and deaths: each run follows from its seed.
//!
//! `RMA_SEED=7` runs that seed alone, `RMA_SEEDS=5000` so many.

use rma_tests::simulated::Plan;
use std::panic::AssertUnwindSafe;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn run(seeds: u64, first: u64, plan: impl Fn(u64) -> Plan) {
    let seeds = match number("RMA_SEED") {
        Some(seed) => seed..seed + 1,
        None => first..first + number("RMA_SEEDS").unwrap_or(seeds),
    };
    for seed in seeds {
        let plan = plan(seed);
        if std::panic::catch_unwind(AssertUnwindSafe(|| plan.run())).is_err() {
            panic!("seed {seed} fails; RMA_SEED={seed} replays it");
        }
    }
}

#[test]
fn programs_leave_in_memory_what_they_must() {
    run(200, 0, Plan::new);
}

#[test]
fn ranks_that_do_not_depend_on_the_dead_go_on() {
    run(100, 100_000, Plan::with_death);
}
