//! Ranks that outlive others (`--on-failure=continue`, handlers that return errors) finalize in order,
//! whichever rank has died and when, on every path; the launcher names the dead, and says that the job went
//! on.

use rma_tests::installed::{command, prefix};
use rma_tests::job::is_second_pass;
use rma_tests::paths::PURE_PATHS;
use std::time::Duration;

/// When the victims die, and which contacts they have had.
const CASES: [(&str, &str); 5] =
    [("early", "none"), ("early", "window"), ("late", "none"), ("late", "window"), ("late", "receive")];
const VICTIMS: [&[u32]; 3] = [&[0], &[1], &[1, 2]];

const LIMIT: Duration = Duration::from_secs(30);

const PROGRAM: &str = r#"#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* survivors END CONTACT VICTIMS... */
int main(int argc, char **argv)
{
    int rank, size, value = 0, *base, is_victim = 0, i;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (i = 3; i < argc; i++) is_victim |= atoi(argv[i]) % size == rank;
    if (!strcmp(argv[2], "window")) {
        MPI_Win_allocate(sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
        MPI_Win_fence(0, win);
        MPI_Put(&value, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
        MPI_Win_fence(0, win);
    }
    if (is_victim && strcmp(argv[1], "late")) raise(SIGKILL);
    if (!strcmp(argv[2], "receive"))
        MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &value, 1, MPI_INT, (rank + size - 1) % size, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (is_victim) {
        /* while the others finalize */
        usleep(50000);
        raise(SIGKILL);
    }
    if (MPI_Finalize() != MPI_SUCCESS) return 9;
    printf("rank %d went on\n", rank);
    return 0;
}
"#;

#[test]
fn survivors_finalize_and_the_last_line_names_the_dead() {
    if is_second_pass() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("survivors.c"), PROGRAM).unwrap();
    command(&prefix(), folder.path(), "rmacc").words(["survivors.c", "-o", "survivors"]).succeed();
    let mut number = 0;
    for path in PURE_PATHS {
        for (end, contact) in CASES {
            for victims in VICTIMS {
                number += 1;
                let ranks = 4 + number % 4;
                let ranks_text = ranks.to_string();
                let what = format!("{}: {victims:?} of {ranks} die {end}, contact {contact}", path.name);
                let job = command(&prefix(), folder.path(), "rmarun")
                    .words(["-n", &ranks_text, "--on-failure=continue", "./survivors", end, contact])
                    .words(victims.iter().map(u32::to_string))
                    .variables(path.variables)
                    .limit(LIMIT);
                let ended = job.run();
                let left = ranks as usize - victims.len();
                assert_eq!(ended.code(), 137, "{what}: {ended:#?}");
                assert_eq!(ended.stdout.matches("went on").count(), left, "{what}: {ended:#?}");
                let last = ended.stderr.lines().last().unwrap_or_default();
                let says = format!("; the other {left} ranks went on to the end");
                assert!(last.starts_with("rmarun: rank ") && last.ends_with(&says), "{what}: {ended:#?}");
                for victim in victims {
                    let says = format!("rank {victim} was killed by signal 9 (SIGKILL)");
                    assert!(last.contains(&says), "{what}: {ended:#?}");
                }
            }
        }
    }
}
