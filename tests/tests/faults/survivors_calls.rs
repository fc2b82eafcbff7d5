//! What calls of survivors come to when a rank has died, by kind of call: none waits, those that concern the
//! dead fail, and those among the living go on; on every path, whichever rank dies.

use rma_tests::job::{Job, is_second_pass, program};
use rma_tests::paths::PATHS;
use std::time::{Duration, Instant};

/// A bound for loaded machines; all of it takes a tenth of a second.
const SOON: Duration = Duration::from_secs(15);

/// In a job of each size, with each path, another rank dies; every survivor says `says`.
fn all_survivors_say(mode: &str, says: &str, code: i32) {
    if is_second_pass() {
        return;
    }
    let mut slowest = Duration::ZERO;
    for (number, path) in PATHS.iter().filter(|path| path.name != "shm forced").enumerate() {
        for ranks in [3u32, 4, 6, 8] {
            let victim = (number as u32 * 5 + ranks) % ranks;
            let words = ["--on-failure=continue", "-n", &ranks.to_string()].map(str::to_owned);
            let job = Job::launcher(words).words([program("rma-test-survivors")]);
            let job = job.words([mode, &victim.to_string()]).variables(path.variables).limit(SOON);
            let started = Instant::now();
            let ended = job.run();
            slowest = slowest.max(started.elapsed());
            let what = format!("{mode}, {}: rank {victim} of {ranks} dies", path.name);
            assert_eq!(ended.code(), code, "{what}: {ended:#?}");
            for rank in (0..ranks).filter(|rank| *rank != victim) {
                let line = format!("survivor {rank}: {says}");
                assert!(ended.stdout.lines().any(|said| said == line), "{what}, {rank}: {ended:#?}");
            }
        }
    }
    println!("{mode}: the slowest job took {slowest:?}");
}

#[test]
fn receives_and_probes_of_the_dead_and_of_any_source_fail_and_others_do_not() {
    all_survivors_say("receive", "true true true true true", 137);
}

#[test]
fn sends_to_the_dead_fail() {
    all_survivors_say("send", "true true", 137);
}

#[test]
fn fences_with_the_dead_fail_on_all_survivors() {
    all_survivors_say("fence", "true true true", 137);
}

#[test]
fn posts_and_starts_fail_for_partners_of_the_dead_alone() {
    all_survivors_say("post", "true", 137);
}

#[test]
fn epochs_of_all_with_a_dead_rank_serve_the_living() {
    all_survivors_say("posts", "true", 137);
}

#[test]
fn windows_that_cannot_be_made_give_their_ids_back() {
    all_survivors_say("create", "true", 137);
}

#[test]
fn communicators_of_the_dead_cannot_be_made_and_those_of_survivors_can() {
    all_survivors_say("communicators", "true", 137);
}

#[test]
fn windows_of_the_dead_are_freed_with_an_error_and_the_next_are_good() {
    all_survivors_say("free", "true true", 137);
}

#[test]
fn a_rank_that_has_left_in_order_is_in_no_ranks_way() {
    all_survivors_say("left", "true", 0);
}
