//! Locks in shared memory whose holder, waiter or owner is killed, in jobs that go on: every living rank gets
//! them, or an error where the owner is dead, on mapped memory and between virtual nodes, of windows in the
//! library's memory and in the ranks' own. A rank that gets a lock with which another one has died learns of
//! it, also where the lock is asked for by packets.

use rma_tests::job::{Job, is_second_pass, program};
use rma_tests::paths::{PATHS, Path};
use std::time::Duration;

/// A lock that a dead process had, or one whose owner is dead, is waited for no longer than this. On a machine with nothing else to do
/// it takes a few milliseconds; this is for loaded ones.
const BOUND: Duration = Duration::from_secs(3);
const LIMIT: Duration = Duration::from_secs(60);

/// Where locks of the node are words that it shares.
const WORDS: [Path; 3] = [PATHS[0], PATHS[4], PATHS[5]];
/// Where every lock of another rank is asked for by packets.
const PACKETS: [Path; 2] = [PATHS[2], PATHS[3]];

/// Runs a scenario over these ways, whose survivors print as many lines with `locked` and `refused` as
/// `expected` says; so many of them learn that a holder has died.
fn run<const N: usize>(
    scenario: &str,
    ranks: u32,
    paths: [Path; N],
    heirs: [usize; N],
    expected: impl Fn(u32) -> (usize, usize),
) {
    if is_second_pass() {
        return;
    }
    let mut slowest = 0;
    for (path, heirs) in paths.into_iter().zip(heirs) {
        for memory in ["allocated", "own"] {
            let folder = tempfile::tempdir().unwrap();
            let words = ["--on-failure=continue", "-n", &ranks.to_string()].map(str::to_owned);
            let job = Job::launcher(words).words([program("rma-test-heirs")]).words([scenario, memory]);
            let ended = job.words([folder.path()]).variables(path.variables).limit(LIMIT).run();
            let what = format!("{scenario}, {}, {memory} memory", path.name);
            assert_eq!(ended.code(), 137, "{what}: {ended:#?}");
            let count = |word: &str| ended.stdout.lines().filter(|line| line.contains(word)).count();
            let counts = (count(": locked after "), count(": refused after "));
            assert_eq!(counts, expected(ranks), "{what}: {ended:#?}");
            assert_eq!(counts.1, count("MPIX_ERR_PROC_FAILED"), "{what}: {ended:#?}");
            assert_eq!(count(": inherits "), heirs, "{what}: {ended:#?}");
            // Locks of other nodes are promises.
            if path.variables.is_empty() {
                assert_eq!(count("lock_all fails: false"), 0, "{what}: {ended:#?}");
            }
            let times =
                ended.stdout.lines().filter_map(|line| line.split_once(" after ")?.1.split(' ').next());
            slowest = times.filter_map(|time| time.parse::<u64>().ok()).fold(slowest, u64::max);
        }
    }
    println!("{scenario}: the longest wait took {slowest} ms");
    assert!(u128::from(slowest) < BOUND.as_millis(), "{scenario}: a wait took {slowest} ms");
}

#[test]
fn a_shared_lock_of_a_killed_rank_passes_on() {
    run("shared", 6, WORDS, [1; 3], |ranks| (2 * (ranks as usize - 1), 0));
    run("shared", 5, PACKETS, [1; 2], |ranks| (2 * (ranks as usize - 1), 0));
}

#[test]
fn an_exclusive_lock_of_a_killed_rank_passes_on() {
    run("exclusive", 6, WORDS, [1; 3], |ranks| (2 * (ranks as usize - 1), 0));
    run("exclusive", 5, PACKETS, [1; 2], |ranks| (2 * (ranks as usize - 1), 0));
}

#[test]
fn the_locks_of_lock_all_of_a_killed_rank_pass_on() {
    // Locks of ranks of other nodes have not been asked for.
    run("all", 4, WORDS, [3, 1, 2], |ranks| {
        let survivors = ranks as usize - 1;
        (survivors * survivors, survivors)
    });
}

#[test]
fn the_lock_of_a_killed_rank_that_had_it_itself_is_an_error() {
    run("self", 6, WORDS, [0; 3], |ranks| (0, 2 * (ranks as usize - 1)));
}

#[test]
fn ranks_that_wait_for_the_lock_of_a_killed_rank_get_an_error() {
    run("owner", 6, WORDS, [0; 3], |ranks| (0, ranks as usize - 1));
}

#[test]
fn a_line_of_many_goes_on_when_one_in_it_is_killed() {
    run("line", 22, WORDS, [0; 3], |ranks| (ranks as usize - 2, 0));
}
