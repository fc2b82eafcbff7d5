//! Hangs of programs in C, as the launcher tells of them.

use rma_tests::installed::{command, prefix};
use rma_tests::job::is_second_pass;
use std::path::Path;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(60);
/// Jobs side by side.
const AT_ONCE: usize = 6;

/// `hang KIND`.
const PROGRAM: &str = r#"#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Until the process is stopped. */
static void await_stop(int pid)
{
    char path[64], state = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    while (state != 'T') {
        FILE *file = fopen(path, "r");
        if (!file || fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
            state = 'T';
        if (file)
            fclose(file);
    }
}

/* The lock is held when this returns, also where calls are packets. */
static void take(int kind, int target, MPI_Win win)
{
    MPI_Win_lock(kind, target, 0, win);
    MPI_Win_flush(target, win);
}

static void get(int *value, int target, MPI_Win win)
{
    MPI_Get(value, 1, MPI_INT, target, 0, 1, MPI_INT, win);
    MPI_Win_flush(target, win);
}

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
        take(MPI_LOCK_EXCLUSIVE, rank, win);
        MPI_Barrier(grid);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, (rank + 1) % size, 0, win);
        MPI_Put(&value, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
        MPI_Win_unlock((rank + 1) % size, win);
        MPI_Win_unlock(rank, win);
    }
    if (!strcmp(argv[1], "sharers")) {
        if (rank == 0) take(MPI_LOCK_EXCLUSIVE, 0, win);
        MPI_Barrier(grid);
        if (rank == 0) MPI_Recv(&value, 1, MPI_INT, 1, 0, grid, MPI_STATUS_IGNORE);
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        get(&value, 0, win);
    }
    if (!strcmp(argv[1], "shared")) {
        if (rank < 2) take(MPI_LOCK_SHARED, 0, win);
        MPI_Barrier(grid);
        if (rank < 2) MPI_Recv(&value, 1, MPI_INT, 2, 0, grid, MPI_STATUS_IGNORE);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        get(&value, 0, win);
    }
    if (!strcmp(argv[1], "rget")) {
        MPI_Request request;
        if (rank == 1) take(MPI_LOCK_EXCLUSIVE, 1, win);
        MPI_Barrier(grid);
        if (rank == 1) MPI_Recv(&value, 1, MPI_INT, 0, 0, grid, MPI_STATUS_IGNORE);
        if (rank == 0) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
            MPI_Rget(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    }
    if (!strcmp(argv[1], "stopped")) {
        MPI_Request request;
        int pid = getpid();
        MPI_Bcast(&pid, 1, MPI_INT, 2, grid);
        if (rank == 2) raise(SIGSTOP);
        if (rank == 0) {
            await_stop(pid);
            MPI_Win_lock(MPI_LOCK_SHARED, 2, MPI_MODE_NOCHECK, win);
            MPI_Rget(&value, 1, MPI_INT, 2, 0, 1, MPI_INT, win, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    }
    if (!strcmp(argv[1], "count")) {
        for (int i = rank == size - 1; i < 5; i++)
            MPI_Bcast(&value, 1, MPI_INT, 0, grid);
        MPI_Barrier(grid);
    }
    if (!strcmp(argv[1], "roots")) {
        int all[8];
        MPI_Gather(&rank, 1, MPI_INT, all, 1, MPI_INT, rank == 1, grid);
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

/// Kinds, statuses, and reports.
const CASES: [(&str, i32, &str); 6] = [
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

/// The reports where memory is shared, and by packets; nothing where that has no such hang.
const BY_PATH: [(&str, i32, &str, &str); 6] = [
    (
        "sharers",
        125,
        "ranks 0 → 1 → 0 wait in a circle: rank 0 for rank 1, in MPI_Recv; rank 1 for rank 0, in MPI_Win_lock for the lock of rank 0 on window 1 made by MPI_Win_allocate; nothing they do can open it",
        "ranks 0 → 1 → 0 wait in a circle: rank 0 for rank 1, in MPI_Recv; rank 1 for rank 0, in MPI_Win_flush for the lock of rank 0 on window 1 made by MPI_Win_allocate; nothing they do can open it",
    ),
    (
        "shared",
        125,
        "rank 2 for rank 0, in MPI_Win_lock for the lock of rank 0 on window 1 made by MPI_Win_allocate; nothing they do can open it",
        "rank 2 for rank 0, in MPI_Win_flush for the lock of rank 0 on window 1 made by MPI_Win_allocate; nothing they do can open it",
    ),
    (
        "rget",
        125,
        "",
        "rank 0 for rank 1, in MPI_Wait for the lock of rank 1 on window 1 made by MPI_Win_allocate; rank 1 for rank 0, in MPI_Recv",
    ),
    (
        "stopped",
        124,
        "",
        "rank 2 does not answer the operations of rank 0 on window 1 made by MPI_Win_allocate: it is stopped (SIGSTOP)",
    ),
    ("count", 124, "", "rank 2 is in MPI_Barrier, collective 5 on communicator \"grid\","),
    (
        "roots",
        124,
        "",
        "rank 1 is in MPI_Gather on communicator \"grid\", root 1: different calls of one collective",
    ),
];

/// A job that hangs, and the report.
struct Job<'a> {
    variables: &'a [(&'a str, &'a str)],
    kind: &'a str,
    code: i32,
    text: &'a str,
}

impl Job<'_> {
    fn check(&self, folder: &Path) {
        let Self { variables, kind, code, text } = *self;
        let ended = command(&prefix(), folder, "rmarun")
            .words(["-n", "3", "--timeout", "4", "--on-deadlock", "end", "./hang", kind])
            .variables(variables)
            .variables(&[("RMA_WAIT_REPORT", "1")])
            .limit(LIMIT)
            .run();
        assert_eq!(ended.code(), code, "{kind} {variables:?}: {ended:#?}");
        assert!(ended.stderr.contains(text), "{kind} {variables:?}: {text:?} is missing in {ended:#?}");
    }
}

#[test]
fn programs_in_c_are_told_of_by_the_names_of_the_standard() {
    if is_second_pass() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("hang.c"), PROGRAM).unwrap();
    command(&prefix(), folder.path(), "rmacc").words(["hang.c", "-o", "hang"]).succeed();
    let mut jobs = Vec::new();
    for (path, variables) in [(0, &[][..]), (1, &[("RMA_CHANNEL", "tcp")])] {
        // The facts of the others are those of channels too.
        let plain = CASES.iter().filter(|(kind, ..)| path == 0 || *kind != "ibarrier");
        jobs.extend(plain.map(|(kind, code, text)| Job { variables, kind, code: *code, text }));
        let by_path = BY_PATH.iter().map(|(kind, code, memory, packets)| Job {
            variables,
            kind,
            code: *code,
            text: [memory, packets][path],
        });
        jobs.extend(by_path.filter(|job| !job.text.is_empty()));
    }
    // They sleep most of the time.
    for some in jobs.chunks(AT_ONCE) {
        std::thread::scope(|scope| {
            some.iter().for_each(|job| drop(scope.spawn(|| job.check(folder.path()))))
        });
    }
}
