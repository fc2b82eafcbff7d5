//! Many ranks want one lock: what it costs when ranks outnumber cores, and that everybody gets it.

use rma_tests::job::{Job, is_second_pass};
use rma_tests::paths::{PURE_PATHS, Path};
use std::sync::{Mutex, MutexGuard, PoisonError};

const LENGTH_MS: u64 = 500;
/// The CPU time per lock of 8 ranks is at most so many times that of 2 ranks.
const MOST_COST: f64 = 2.0;
/// What else the machine does in the one run or in the other can make either look dear. A cost of ours is there each time: the
/// least of some ratios tells it from a neighbour's.
const ATTEMPTS: usize = 5;
/// Packets of all kinds for each that a lock is for: start, barriers and end are packets too.
const MOST_REST: f64 = 1.01;

/// What a rank says.
struct Rank {
    rank: u64,
    locks: u64,
    longest_ms: u64,
    used_us: u64,
}

fn job(ranks: u32, what: &str, path: &Path) -> Job {
    let job = Job::new(ranks, "rma-test-contend").line(&format!("{what} {LENGTH_MS}"));
    job.variables(path.variables)
}

fn contend(ranks: u32, what: &str, path: &Path) -> Vec<Rank> {
    let ended = job(ranks, what, path).succeed();
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

/// Whoever runs many ranks on this machine at a time measures the other tests.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Eight ranks of which none starves. The target is left out: its own lock costs no packet, and it may have many more.
fn contended_by_eight(what: &str, path: &Path) -> Vec<Rank> {
    let eight = contend(8, what, path);
    let locks = eight.iter().map(|rank| rank.locks).skip(1);
    let locks = locks.collect::<Vec<_>>();
    let longest = eight.iter().map(|rank| rank.longest_ms).max().unwrap_or_default();
    println!("{}, {what}: locks by rank {locks:?}, longest epoch {longest} ms", path.name);
    let mean = locks.iter().sum::<u64>() / locks.len() as u64;
    assert!(locks.iter().all(|locks| *locks * 4 >= mean), "{}: a rank starves: {locks:?}", path.name);
    assert!(longest < LENGTH_MS, "{}: an epoch took {longest} ms", path.name);
    eight
}

/// Packets that all ranks sent for each lock, start and end of the job among them.
fn packets_per_lock(ranks: u32, what: &str, path: &Path) -> f64 {
    let ended = job(ranks, what, path).variables(&[("RMA_STATS", "1")]).run();
    assert!(ended.status.success(), "{ended:#?}");
    let locks =
        ended.stdout.lines().filter_map(|line| line.split(' ').nth(3)?.parse::<u64>().ok()).sum::<u64>();
    let counted =
        ended.stderr.lines().find_map(|line| line.split_once("packets_sent ")?.1.split_whitespace().next());
    let packets: u64 = counted.and_then(|total| total.parse().ok()).unwrap_or_else(|| panic!("{ended:#?}"));
    println!("{}, {what}: {packets} packets for {locks} locks of {ranks} ranks", path.name);
    packets as f64 / locks as f64
}

#[test]
fn a_lock_in_shared_memory_costs_no_more_when_more_ranks_want_it() {
    if is_second_pass() {
        return;
    }
    let _alone = alone();
    let (what, path) = ("all held", &PURE_PATHS[0]);
    let mut ratios = Vec::new();
    while ratios.len() < ATTEMPTS {
        let (of_two, of_eight) = (cost_us(&contend(2, what, path)), cost_us(&contended_by_eight(what, path)));
        println!("{of_two:.2} us of CPU per lock with 2 ranks, {of_eight:.2} us with 8");
        if of_eight <= MOST_COST * of_two {
            return;
        }
        ratios.push(of_eight / of_two);
    }
    panic!("locks of 8 ranks cost so many times those of 2: {ratios:.2?}");
}

/// Nobody asks twice, however many wait: the target serves only, since its own lock costs no packet.
#[test]
fn a_lock_by_packets_takes_no_more_of_them_when_more_ranks_want_it() {
    if is_second_pass() {
        return;
    }
    let _alone = alone();
    for path in &PURE_PATHS[1..] {
        // A request and its answer, and a release if the lock was held in between.
        for (what, most) in [("others whole", 2.0), ("others held", 3.0)] {
            for ranks in [2, 8] {
                let packets = packets_per_lock(ranks, what, path);
                assert!(packets < most * MOST_REST, "{}, {what}: {packets:.2} packets per lock", path.name);
            }
        }
    }
}

#[test]
fn nobody_starves_that_asks_by_packets() {
    if is_second_pass() {
        return;
    }
    let _alone = alone();
    for path in &PURE_PATHS[1..] {
        for what in ["others held", "all held"] {
            contended_by_eight(what, path);
        }
    }
}
