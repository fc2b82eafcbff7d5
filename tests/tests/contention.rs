//! Many ranks want one lock: what it costs when ranks outnumber cores, and that everybody gets it.

use rma_tests::job::{Ended, Job, is_second_pass};
use rma_tests::paths::{PURE_PATHS, Path};

const LENGTH_MS: u64 = 1000;
/// The CPU time per lock of 8 ranks is at most so many times that of 2 ranks.
const MOST_COST: f64 = 2.0;

/// What a rank says.
struct Rank {
    rank: u64,
    locks: u64,
    longest_ms: u64,
    used_us: u64,
}

fn contend(ranks: u32, who: &str, path: &Path) -> Vec<Rank> {
    let job = Job::new(ranks, "rma-test-contend").line(&format!("{who} {LENGTH_MS}"));
    let job = job.variables(path.variables);
    let ended: Ended = job.succeed();
    let said = ended.stdout.lines().map(|line| {
        let numbers = line.split(' ').filter_map(|word| word.parse().ok()).collect::<Vec<u64>>();
        let [rank, locks, longest_ms, used_us] = numbers[..] else { panic!("{line}") };
        Rank { rank, locks, longest_ms, used_us }
    });
    let mut said = said.collect::<Vec<_>>();
    said.sort_by_key(|rank| rank.rank);
    assert_eq!(said.len() as u32, ranks, "{}: {ended:#?}", path.name);
    said
}

fn cost_us(ranks: &[Rank]) -> f64 {
    let (locks, used) =
        ranks.iter().fold((0, 0), |(locks, used), rank| (locks + rank.locks, used + rank.used_us));
    used as f64 / locks as f64
}

/// Runs 2 and 8 ranks, and compares. With packets the target only serves: its own lock costs no packet, and a mean over both
/// kinds would say nothing.
fn the_cost_does_not_grow(path: &Path, who: &str) {
    if is_second_pass() {
        return;
    }
    let (two, eight) = (contend(2, who, path), contend(8, who, path));
    let (of_two, of_eight) = (cost_us(&two), cost_us(&eight));
    let locks = eight.iter().map(|rank| rank.locks).skip(usize::from(who == "others")).collect::<Vec<_>>();
    let longest = eight.iter().map(|rank| rank.longest_ms).max().unwrap_or_default();
    println!("{}: {of_two:.2} us of CPU per lock with 2 ranks, {of_eight:.2} us with 8", path.name);
    println!("  locks by rank {locks:?}, longest wait {longest} ms");
    assert!(of_eight <= MOST_COST * of_two, "{}: {of_two:.2} us and {of_eight:.2} us", path.name);
    let mean = locks.iter().sum::<u64>() / locks.len() as u64;
    assert!(locks.iter().all(|locks| *locks * 4 >= mean), "{}: a rank starves: {locks:?}", path.name);
    assert!(longest < LENGTH_MS, "{}: a rank waited {longest} ms", path.name);
}

#[test]
fn a_lock_in_shared_memory_costs_no_more_when_more_ranks_want_it() {
    the_cost_does_not_grow(&PURE_PATHS[0], "all");
}

#[test]
fn a_lock_over_shm_packets_costs_no_more_when_more_ranks_want_it() {
    the_cost_does_not_grow(&PURE_PATHS[1], "others");
}

#[test]
fn a_lock_over_tcp_costs_no_more_when_more_ranks_want_it() {
    the_cost_does_not_grow(&PURE_PATHS[2], "others");
}

#[test]
fn the_target_itself_is_one_of_many() {
    if is_second_pass() {
        return;
    }
    for path in &PURE_PATHS[1..] {
        let locks = contend(8, "all", path).iter().map(|rank| rank.locks).collect::<Vec<_>>();
        let mean = locks.iter().sum::<u64>() / locks.len() as u64;
        assert!(locks.iter().all(|locks| *locks * 4 >= mean), "{}: a rank starves: {locks:?}", path.name);
    }
}
