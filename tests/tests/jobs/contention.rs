//! Many ranks want one lock: what it costs when ranks outnumber cores, and that every rank gets it.

use rma_tests::job::{Job, is_second_pass};
use rma_tests::paths::{PURE_PATHS, Path};
use std::sync::{Mutex, MutexGuard, PoisonError};

const LENGTH_MS: u64 = 500;
/// Locks in shared memory for each system call of a wait. What a system call costs beside a lock is the machine's.
const LEAST_LOCKS_PER_CALL: u64 = 4;
/// Locks in shared memory for each rank that has come to stand in line. A few thousand as counted on a quiet machine, and some 140
/// when the holder of the lock yields in a poll.
const LEAST_LOCKS_PER_WAIT: u64 = 500;
/// What else the machine does in the one run or in the other can make either look dear, or a rank starve. What is ours is
/// there each time.
const ATTEMPTS: usize = 5;
/// Packets of a rank that are for no lock.
const MOST_REST: u64 = 16;

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

/// With many ranks on this machine at a time one test would measure the others.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Eight ranks of which none starves, or `None`. The target is left out: its own lock costs no packet, and it may have many more.
fn contended_by_eight(what: &str, path: &Path) -> Option<Vec<Rank>> {
    let eight = contend(8, what, path);
    let locks = eight.iter().skip(1).map(|rank| rank.locks).collect::<Vec<_>>();
    let longest = eight.iter().map(|rank| rank.longest_ms).max().unwrap_or_default();
    println!("{}, {what}: locks by rank {locks:?}, longest epoch {longest} ms", path.name);
    let mean = locks.iter().sum::<u64>() / locks.len() as u64;
    (locks.iter().all(|locks| *locks * 4 >= mean) && longest < LENGTH_MS).then_some(eight)
}

/// Locks of all ranks of a job, and what the ranks counted.
fn locks_and_counters(ranks: u32, what: &str, path: &Path, names: &[&str]) -> (u64, Vec<u64>) {
    let ended = job(ranks, what, path).variables(&[("RMA_STATS", "1")]).run();
    assert!(ended.status.success(), "{ended:#?}");
    let locks = ended.stdout.lines().filter_map(|line| line.split(' ').nth(3)?.parse::<u64>().ok()).sum();
    let count = |name: &&str| {
        let mut totals = ended.stderr.lines().filter_map(|line| {
            line.split_once(&format!(" {name} "))?.1.split_whitespace().next()?.parse().ok()
        });
        // What no rank has counted is not in the summary.
        totals.next().unwrap_or_default()
    };
    (locks, names.iter().map(count).collect())
}

/// Most locks are taken by running ranks, without a system call: a sleep, a yield, or a packet that wakes a
/// rank.
#[test]
fn a_lock_in_shared_memory_takes_hardly_a_system_call_when_many_ranks_want_it() {
    if is_second_pass() {
        return;
    }
    let _alone = alone();
    let (what, path) = ("all held", &PURE_PATHS[0]);
    let is_cheap = |_| {
        let Some(eight) = contended_by_eight(what, path) else { return false };
        println!(
            "{:.2} us of CPU per lock with 8 ranks, {:.2} with 2",
            cost_us(&eight),
            cost_us(&contend(2, what, path))
        );
        let (locks, counted) = locks_and_counters(8, what, path, &["sleeps", "turns_given", "packets_sent"]);
        println!("{counted:?} sleeps, yields and packets for {locks} locks of 8 ranks");
        counted.iter().sum::<u64>() * LEAST_LOCKS_PER_CALL <= locks
    };
    assert!(
        (0..ATTEMPTS).any(is_cheap),
        "a rank starves, or less than {LEAST_LOCKS_PER_CALL} locks are taken for each system call"
    );
}

/// The holder of the lock keeps its core: only holders that the system stops make the others stand in line.
#[test]
fn a_lock_in_shared_memory_is_hardly_waited_for_by_many_ranks_that_take_it_for_a_moment() {
    if is_second_pass() {
        return;
    }
    let _alone = alone();
    let (what, path) = ("all whole", &PURE_PATHS[0]);
    let is_free = |_| {
        let (locks, counted) = locks_and_counters(8, what, path, &["locks_waited", "turns_given"]);
        println!("{counted:?} ranks in line and yields for {locks} locks of 8 ranks");
        counted[0] * LEAST_LOCKS_PER_WAIT <= locks
    };
    assert!((0..ATTEMPTS).any(is_free), "a rank stands in line for less than {LEAST_LOCKS_PER_WAIT} locks");
}

/// No rank asks twice, however many wait: the target serves only, since its own lock costs no packet.
#[test]
fn a_lock_by_packets_takes_no_more_of_them_when_more_ranks_want_it() {
    if is_second_pass() {
        return;
    }
    let _alone = alone();
    for path in &PURE_PATHS[1..] {
        // A request and its answer, and a release if the lock was held in between.
        for (what, each) in [("others whole", 2), ("others held", 3)] {
            for ranks in [2, 8] {
                let (locks, counted) = locks_and_counters(ranks, what, path, &["packets_sent"]);
                let packets = counted[0];
                println!("{}, {what}: {packets} packets for {locks} locks of {ranks} ranks", path.name);
                assert!(packets >= each * locks, "a release may not be left out");
                assert!(packets <= each * locks + MOST_REST * u64::from(ranks), "{}, {what}", path.name);
            }
        }
    }
}

#[test]
fn no_rank_starves_that_asks_by_packets() {
    if is_second_pass() {
        return;
    }
    let _alone = alone();
    for path in &PURE_PATHS[1..] {
        for what in ["others held", "all held"] {
            let is_fair = |_| contended_by_eight(what, path).is_some();
            assert!((0..ATTEMPTS).any(is_fair), "{}, {what}: a rank starves", path.name);
        }
    }
}
