//! Hangs of programs in C, as the launcher tells of them.

use rma_tests::installed::{command, prefix};
use rma_tests::job::is_second_pass;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(60);

/// `hang KIND`.
const PROGRAM: &str = r#"#include <mpi.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, size, value = 0, *base, sum;
    MPI_Win win;
    MPI_Comm grid, plain;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &grid);
    MPI_Comm_set_name(grid, "grid");
    MPI_Comm_dup(MPI_COMM_WORLD, &plain);
    MPI_Win_allocate(sizeof *base, sizeof *base, MPI_INFO_NULL, grid, &base, &win);
    if (!strcmp(argv[1], "locks")) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
        MPI_Win_flush(rank, win);
        MPI_Barrier(grid);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, (rank + 1) % size, 0, win);
        MPI_Put(&value, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
        MPI_Win_unlock((rank + 1) % size, win);
        MPI_Win_unlock(rank, win);
    }
    if (!strcmp(argv[1], "barrier")) {
        if (rank == size - 1) MPI_Recv(&value, 1, MPI_INT, 0, 0, grid, MPI_STATUS_IGNORE);
        MPI_Barrier(grid);
    }
    if (!strcmp(argv[1], "wait")) {
        MPI_Request requests[2];
        if (rank == size - 1) sleep(100);
        MPI_Irecv(&value, 1, MPI_INT, size - 1, 0, grid, &requests[0]);
        if (rank == 0) MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Ibarrier(plain, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    if (!strcmp(argv[1], "ibarrier")) {
        MPI_Request request;
        if (rank == size - 1) MPI_Sendrecv(&value, 1, MPI_INT, 0, 1, &sum, 1, MPI_INT, 0, 0, grid, MPI_STATUS_IGNORE);
        MPI_Ibarrier(plain, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (!strcmp(argv[1], "finalize") && rank == size - 1) sleep(100);
    if (!strcmp(argv[1], "allreduce")) {
        if (rank == size - 1) sleep(100);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Win_free(&win);
    return MPI_Finalize();
}
"#;

#[test]
fn programs_in_c_are_told_of_by_the_names_of_the_standard() {
    if is_second_pass() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("hang.c"), PROGRAM).unwrap();
    command(&prefix(), folder.path(), "rmacc").words(["hang.c", "-o", "hang"]).succeed();
    let cases = [
        (
            "locks",
            125,
            "ranks 0 → 1 → 2 → 0 wait in a circle for locks of window 1 made by MPI_Win_allocate; nothing they do can open it",
        ),
        (
            "barrier",
            125,
            "rank 2 never entered MPI_Barrier on communicator \"grid\" that ranks 0,1 are in: it waits in MPI_Recv for a message from rank 0",
        ),
        ("wait", 124, "rank 2 has not sent the message that ranks 0,1 wait for: it has slept"),
        (
            "ibarrier",
            125,
            "rank 2 never entered MPI_Ibarrier on communicator 2 made by MPI_Comm_dup that ranks 0,1 are in: it waits in MPI_Sendrecv for a message from rank 0",
        ),
        (
            "finalize",
            124,
            "rank 2 never entered MPI_Win_free of window 1 made by MPI_Win_allocate that ranks 0,1 are in: it has slept",
        ),
        (
            "allreduce",
            124,
            "rank 2 never entered MPI_Allreduce on MPI_COMM_WORLD that ranks 0,1 are in: it has slept",
        ),
    ];
    for variables in [&[][..], &[("RMA_CHANNEL", "tcp")]] {
        for (kind, code, text) in cases {
            // The facts of the others are those of channels too.
            if kind == "ibarrier" && !variables.is_empty() {
                continue;
            }
            let ended = command(&prefix(), folder.path(), "rmarun")
                .words(["-n", "3", "--timeout", "6", "--on-deadlock", "end", "./hang", kind])
                .variables(variables)
                .variables(&[("RMA_WAIT_REPORT", "2")])
                .limit(LIMIT)
                .run();
            assert_eq!(ended.code(), code, "{kind} {variables:?}: {ended:#?}");
            assert!(ended.stderr.contains(text), "{kind} {variables:?}: {text:?} is missing in {ended:#?}");
        }
    }
}
