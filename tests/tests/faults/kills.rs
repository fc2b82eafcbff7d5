//! Random programs on real processes in which a rank dies or is stopped, judged by what survivors hold, what the launcher
//! says and what is left behind. `cargo xtask kills` runs as many as wanted, and prints what a seed has found.

use rma_tests::faults::case::{Case, Faults, Way};
use rma_tests::faults::program::Calls;
use rma_tests::faults::watch::{Verdict, run_all};
use rma_tests::job::is_second_pass;
use std::time::Duration;

/// Longest time without progress of any rank: far above what it takes, so that a busy machine is no fault.
const BOUND: Duration = Duration::from_secs(20);
/// Jobs at the same time.
const WORKERS: u64 = 2;

fn run(way: Way, faults: Faults, calls: Calls, jobs: u64) {
    if is_second_pass() {
        return;
    }
    let draw = |seed| Case::new(seed, way, faults, calls);
    let on_verdict = |case: &Case, verdict: &Verdict| {
        for fault in &verdict.faults {
            println!("{}: {fault}", case.words());
        }
    };
    let found = run_all(0..jobs, WORKERS, BOUND, draw, on_verdict);
    assert!(found.seeds.is_empty(), "{}: {found}", way.name());
    let hits = if matches!(faults, Faults::Stop(_)) { found.stops } else { found.deaths };
    assert!(faults == Faults::None || hits > jobs / 2, "the faults come too late: {found}");
}

#[test]
fn survivors_of_a_kill_go_on_over_shm() {
    run(Way::Shm, Faults::Death, Calls::Paired, 10);
    run(Way::Shm, Faults::Death, Calls::All, 20);
}

#[test]
fn survivors_of_a_kill_go_on_over_tcp() {
    run(Way::Tcp, Faults::Death, Calls::Paired, 10);
    run(Way::Tcp, Faults::Death, Calls::All, 20);
}

#[test]
fn a_stopped_rank_is_waited_for_where_memory_is_mapped() {
    run(Way::Mapped, Faults::Stop(1000), Calls::All, 4);
}

#[test]
fn a_stopped_rank_is_waited_for_over_shm() {
    run(Way::Shm, Faults::Stop(1000), Calls::All, 4);
}

#[test]
fn a_stopped_rank_is_waited_for_over_tcp() {
    run(Way::Tcp, Faults::Stop(1000), Calls::All, 4);
}

#[test]
fn a_stopped_rank_is_waited_for_between_nodes() {
    run(Way::Nodes, Faults::Stop(1000), Calls::All, 4);
}

#[test]
fn the_programs_are_right_where_no_rank_dies() {
    for way in [Way::Mapped, Way::Shm, Way::Tcp, Way::Nodes] {
        run(way, Faults::None, Calls::All, 4);
    }
}
