//! A process that may open few files: its job succeeds, or ends in time and says which limit is in the way.

use rma_tests::job::{Job, is_second_pass, program};
use std::time::Duration;

const RANKS: u32 = 8;
/// What a job may take that fails: a TCP connection is tried for 30 s.
const LIMIT: Duration = Duration::from_secs(45);

/// How a rank becomes one that may have so many files open.
#[derive(Clone, Copy)]
enum Limited {
    All,
    /// Only rank 0 may not have as many as it needs.
    First,
}

fn job(limit: u32, limited: Limited, options: &str) -> Job {
    let heat = program("heat2d");
    let heat = format!("exec {} --rows 32 --cols 32 --steps 20 --sync fence --no-picture", heat.display());
    let script = match limited {
        Limited::All => format!("ulimit -n {limit}; {heat}"),
        Limited::First => format!("[ $PMI_RANK = 0 ] && ulimit -n {limit}; {heat}"),
    };
    let words = ["-n", "8"].into_iter().chain(options.split_whitespace());
    Job::launcher(words.chain(["sh", "-c", &script])).limit(LIMIT)
}

fn sweep(options: &str) {
    if is_second_pass() {
        return;
    }
    let mut succeeded = 0;
    for limit in (10..=40).step_by(2).chain([64]) {
        for limited in [Limited::All, Limited::First] {
            let ended = job(limit, limited, options).run();
            let is_good = ended.status.success();
            succeeded += u32::from(is_good);
            assert!(
                is_good || ended.stderr.contains("limit of open files is reached"),
                "{limit}: {ended:#?}"
            );
        }
    }
    assert!(succeeded >= 2, "64 are enough for {RANKS} ranks");
}

#[test]
fn few_files_and_shared_windows() {
    sweep("");
}

#[test]
fn few_files_and_packets_through_memory() {
    sweep("--channel shm");
}

#[test]
fn few_files_and_tcp() {
    sweep("--channel tcp");
}

#[test]
fn few_files_and_two_ranks_to_a_node() {
    sweep("--ranks-per-node 2");
}

/// A limit that the process may raise is raised.
#[test]
fn a_soft_limit_is_none() {
    if is_second_pass() {
        return;
    }
    let heat = program("heat2d");
    let heat = format!("exec {} --rows 32 --cols 32 --steps 20 --sync fence --no-picture", heat.display());
    let script = format!("ulimit -Sn 12; {heat}");
    Job::launcher(["-n", "8", "sh", "-c", &script]).succeed();
}
