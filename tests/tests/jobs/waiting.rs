//! A rank that waits gives its core away: with 16 ranks, 15 wait for 10 s and use next to no CPU time.

use rma_tests::job::{Job, is_second_pass};
use rma_tests::paths::PURE_PATHS;
use std::time::Duration;

const RANKS: u32 = 16;
const WAIT_S: u64 = 10;
const MOST_CPU_US: u64 = 100_000;

/// All paths at the same time: ranks that wait do not disturb each other.
fn waits_cost_nothing(what: &str) {
    if is_second_pass() {
        return;
    }
    let jobs = PURE_PATHS.map(|path| {
        let job = Job::new(RANKS, "rma-test-wait").line(&format!("{what} {WAIT_S}"));
        (path, job.variables(path.variables).limit(Duration::from_secs(WAIT_S + 30)).start())
    });
    // All jobs end before anything is said about any of them, so that a failure leaves none running.
    for (path, ended) in jobs.map(|(path, running)| (path, running.finish())) {
        assert!(ended.code() == 0 && ended.stderr.is_empty(), "{}: {ended:#?}", path.name);
        let numbers = |line: &str| {
            let numbers = line.split(' ').filter_map(|word| word.parse().ok()).collect::<Vec<u64>>();
            <[u64; 3]>::try_from(numbers).unwrap_or_else(|_| panic!("{line}"))
        };
        let waits = ended.stdout.lines().map(numbers).collect::<Vec<_>>();
        assert_eq!(waits.len() as u32, RANKS - 1, "{}: {ended:#?}", path.name);
        for [rank, waited_ms, used_us] in waits {
            assert!(waited_ms >= WAIT_S * 950, "{what}, {}: rank {rank} waited {waited_ms} ms", path.name);
            assert!(used_us < MOST_CPU_US, "{what}, {}: rank {rank} used {used_us} us of CPU", path.name);
        }
    }
}

#[test]
fn in_a_barrier() {
    waits_cost_nothing("barrier");
}

#[test]
fn in_a_fence() {
    waits_cost_nothing("fence");
}

#[test]
fn for_an_exclusive_lock() {
    waits_cost_nothing("lock");
}
