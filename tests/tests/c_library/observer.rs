//! A program in C has a timeline too: its calls, with the names of its windows, and its messages.

#![allow(missing_docs)]

use rma_tests::installed::{command, prefix};
use rma_tests::job::is_second_pass;
use rma_tests::paths::PATHS;
use serde_json::Value;
use std::fs;

const PROGRAM: &str = r#"
#include <mpi.h>

int main(int argc, char **argv) {
    int rank, size, next, value = 7, *memory;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    next = (rank + 1) % size;
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_set_name(win, "halo of c");
    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_INT, next, 0, 1, MPI_INT, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win);
    MPI_Put(&value, 1, MPI_INT, next, 0, 1, MPI_INT, win);
    MPI_Win_unlock(next, win);
    MPI_Sendrecv(&rank, 1, MPI_INT, next, 0, &value, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
    return MPI_Finalize();
}
"#;

#[test]
fn a_program_in_c_has_a_timeline_and_a_summary() {
    if is_second_pass() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("prog.c"), PROGRAM).unwrap();
    let run = |line: &str, variables: &[(&str, &str)]| {
        let (name, rest) = line.split_once(' ').unwrap();
        let ended = command(&prefix(), directory.path(), name).line(rest).variables(variables).run();
        assert!(ended.status.success(), "{line} {variables:?}: {ended:?}");
        ended
    };
    run("rmacc -Wall -Werror prog.c -o prog", &[]);
    for path in PATHS {
        let more = [("RMA_TRACE", "c.json"), ("RMA_STATS", "1")];
        let variables: Vec<_> = path.variables.iter().copied().chain(more).collect();
        let ended = run("rmarun -n 3 ./prog", &variables);
        assert!(ended.stderr.starts_with("rma: summary of 3 of 3 ranks, "), "{path:?}: {ended:?}");
        let text = fs::read_to_string(directory.path().join("c.json")).unwrap();
        let timeline: Value = serde_json::from_str(&text).unwrap();
        let events = timeline["traceEvents"].as_array().unwrap();
        for rank in 0..3 {
            let count = |phase: &str, name: &str| {
                let found =
                    events.iter().filter(|e| e["pid"] == rank && e["ph"] == phase && e["name"] == name);
                found.count()
            };
            let lock = format!("lock epoch to {}, window halo of c", (rank + 1) % 3);
            assert_eq!((count("b", "fence epoch, window halo of c"), count("b", &lock)), (1, 1), "{path:?}");
            assert_eq!((count("e", "fence epoch, window halo of c"), count("e", &lock)), (1, 1), "{path:?}");
            for (call, times) in
                [("win_create", 1), ("fence", 2), ("lock", 1), ("unlock", 1), ("win_free", 1)]
            {
                assert_eq!(count("B", call), times, "{path:?}: rank {rank}: {call}");
            }
            assert_eq!(count("B", "put") + count("i", "put"), 2, "{path:?}: rank {rank}");
            let fences = events.iter().filter(|e| e["pid"] == rank && e["ph"] == "B" && e["name"] == "fence");
            assert!(fences.into_iter().all(|e| e["args"]["window name"] == "halo of c"), "{path:?}");
            let started = events.iter().filter(|e| e["pid"] == rank && e["ph"] == "B").count();
            let ended = events.iter().filter(|e| e["pid"] == rank && e["ph"] == "E").count();
            assert_eq!(started, ended, "{path:?}: rank {rank}");
            assert!(count("X", "send message") > 0, "{path:?}: rank {rank}");
        }
    }
}
