//! Accumulates of several processes and threads on the same elements, bulk and small, over every path: no update is lost.

use rma_tests::job::{Job, is_second_pass};
use rma_tests::paths::PATHS;

#[test]
fn bulk_and_small_accumulates_of_processes_and_threads_are_not_lost() {
    if is_second_pass() {
        return;
    }
    for path in &PATHS {
        let (ranks, rounds) = if path.name == "direct" { (4, 60) } else { (4, 4) };
        let job = Job::new(ranks, "rma-test-accumulate").line(&rounds.to_string());
        let ended = job.variables(path.variables).succeed();
        let sum = ranks * 2 * rounds;
        assert_eq!(ended.stdout.trim(), format!("8192 sums of {sum}"), "{}: {ended:#?}", path.name);
    }
}
