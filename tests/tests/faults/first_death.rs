//! Of ranks that fail because of each other, the first is named, and its status is the job's: whatever the others do when they
//! notice, on every path.

use rma_tests::installed::{command, prefix};
use rma_tests::job::is_second_pass;
use rma_tests::paths::PURE_PATHS;
use std::path::Path;
use std::time::Duration;

/// How one rank ends, and the status of the job then.
const ENDS: [(&str, i32); 4] = [("exit", 3), ("assert", 134), ("leave", 1), ("kill", 137)];
/// In what the others are then, under handlers that end the job.
const WAITS: [&str; 4] = ["fence", "receive", "barrier", "lock"];

const LIMIT: Duration = Duration::from_secs(30);

/// `first_death END WAIT VICTIM`.
const PROGRAM: &str = r#"#include <mpi.h>
#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, size, value = 0, *base, victim;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    victim = atoi(argv[3]) % size;
    MPI_Win_allocate(sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == victim) {
        usleep(3000);
        if (!strcmp(argv[1], "exit")) exit(3);
        if (!strcmp(argv[1], "assert")) assert(rank < 0);
        if (!strcmp(argv[1], "leave")) exit(0);
        raise(SIGKILL);
    }
    if (!strcmp(argv[2], "fence")) for (;;) MPI_Win_fence(0, win);
    if (!strcmp(argv[2], "receive")) MPI_Recv(&value, 1, MPI_INT, victim, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!strcmp(argv[2], "lock")) for (;;) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, victim, 0, win);
        MPI_Put(&value, 1, MPI_INT, victim, 0, 1, MPI_INT, win);
        MPI_Win_unlock(victim, win);
    }
    for (;;) MPI_Barrier(MPI_COMM_WORLD);
}
"#;

fn compile(folder: &Path) {
    std::fs::write(folder.join("first_death.c"), PROGRAM).unwrap();
    command(&prefix(), folder, "rmacc").words(["first_death.c", "-o", "first_death"]).succeed();
}

#[test]
fn the_first_rank_that_failed_is_named() {
    if is_second_pass() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    compile(folder.path());
    let mut number = 0;
    for path in PURE_PATHS {
        for (end, code) in ENDS {
            for wait in WAITS {
                // A mapped lock asks nothing of its owner, so there is nothing to notice.
                if wait == "lock" && path.variables.is_empty() {
                    continue;
                }
                number += 1;
                let ranks = 2 + number % 7;
                let victim = (number / 7 % ranks).to_string();
                let what = format!("{}: {end} of rank {victim} of {ranks}, {wait}", path.name);
                let job = command(&prefix(), folder.path(), "rmarun")
                    .words(["-n", &ranks.to_string(), "./first_death", end, wait, &victim])
                    .variables(path.variables)
                    .limit(LIMIT);
                let ended = job.run();
                assert_eq!(ended.code(), code, "{what}: {ended:#?}");
                let named: Vec<_> = ended.stderr.lines().filter(|line| line.starts_with("rmarun:")).collect();
                let start = format!("rmarun: rank {victim} (pid ");
                assert!(named.len() == 1 && named[0].starts_with(&start), "{what}: {ended:#?}");
            }
        }
    }
}
