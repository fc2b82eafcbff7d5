//! Ranks that end their part while others wait for them: each of those gets an error at once, the job ends, and the launcher names the rank
//! that was first, with what it had to say.

use rma_tests::installed::{command, prefix};
use rma_tests::job::{Job, is_second_pass};
use rma_tests::paths::PATHS;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(20);

#[test]
fn whoever_waits_for_a_rank_that_has_left_gets_an_error() {
    let listed = Job::new(1, "rma-test-leavers").limit(LIMIT).run();
    let calls: Vec<_> = listed.stdout.split_whitespace().collect();
    assert_eq!(calls.len(), 17, "{listed:#?}");
    for call in calls {
        for (path, ranks) in PATHS.iter().zip([2, 3, 4, 2, 3, 4].into_iter().cycle()) {
            let ranks = if call.starts_with("far_") { 8 } else { ranks };
            let what = format!("{call} on {ranks} ranks, {}", path.name);
            let job = Job::new(ranks, "rma-test-leavers").words([call]).variables(path.variables);
            let ended = job.limit(LIMIT).run();
            assert_eq!(ended.code(), 1, "{what}: {ended:#?}");
            assert!(ended.stderr.contains("the input of rank 1 cannot be read"), "{what}: {ended:#?}");
            let named = ended.stderr.lines().last().unwrap_or_default();
            assert!(
                named.starts_with("rmarun: rank 1 (") && named.ends_with("exited with status 1"),
                "{what}: {ended:#?}"
            );

            assert!(ended.stderr.contains("MPI_ERR_PROC_ABORTED"), "{what}: {ended:#?}");
        }
    }
}

/// A thread that cannot be started, of one rank, while the others make a window.
#[test]
fn a_rank_that_cannot_begin_says_why() {
    if is_second_pass() {
        return;
    }
    const PROGRAM: &str = r#"#include <mpi.h>
int main(int argc, char **argv)
{
    int *base;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Win_allocate(4, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_free(&win);
    return MPI_Finalize();
}
"#;
    const START: &str = "[ $PMI_RANK = 1 ] && export RUST_MIN_STACK=140737488355328; exec ./begin";
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("begin.c"), PROGRAM).unwrap();
    command(&prefix(), folder.path(), "rmacc").words(["begin.c", "-o", "begin"]).succeed();
    let job = command(&prefix(), folder.path(), "rmarun").words(["-n", "4", "sh", "-c", START]);
    let ended = job.limit(LIMIT).run();
    assert_eq!(ended.code(), 16, "{ended:#?}");
    assert!(ended.stderr.contains("MPI_Init: the progress agent's thread cannot be started"), "{ended:#?}");
    let named = ended.stderr.lines().last().unwrap_or_default();
    assert!(named.starts_with("rmarun: rank 1 ("), "{ended:#?}");
}
