//! Windows that no machine has the memory for: every rank gets an error, none waits for ever, and the job
//! goes on.

use rma_tests::job::{Job, is_second_pass};
use rma_tests::paths::PATHS;

const RANKS: usize = 3;

/// Elements of 8 bytes: more than an address has, than a process can address, than any machine maps.
const TOO_MANY: [(u64, &str); 4] = [
    (u64::MAX, "MPI_ERR_SIZE"),
    (1 << 60, "MPI_ERR_SIZE"),
    (1 << 59, "MPI_ERR_NO_MEM"),
    (1 << 45, "MPI_ERR_NO_MEM"),
];

#[test]
fn windows_that_are_too_large_for_all_ranks() {
    if is_second_pass() {
        return;
    }
    for path in PATHS {
        for (elements, class) in TOO_MANY {
            let job = Job::new(RANKS as u32, "rma-test-huge").line(&format!("all {elements}"));
            let ended = job.variables(path.variables).run();
            assert_eq!(ended.code(), 0, "{}: {ended:#?}", path.name);
            let reported = ended.stdout.lines().filter(|line| line.contains(class)).count();
            assert_eq!(reported, RANKS, "{}, {elements}: {ended:#?}", path.name);
        }
    }
}

#[test]
fn a_window_that_is_too_large_for_one_rank() {
    if is_second_pass() {
        return;
    }
    for path in PATHS {
        for (elements, class) in TOO_MANY {
            let job = Job::new(RANKS as u32, "rma-test-huge").line(&format!("one {elements}"));
            let ended = job.variables(path.variables).run();
            assert_eq!(ended.code(), 0, "{}: {ended:#?}", path.name);
            let lines = ended.stdout.lines().collect::<Vec<_>>();
            let own = lines.iter().filter(|line| line.starts_with(&format!("{elements} elements: ")));
            let own =
                own.filter(|line| line.contains(class) && line.contains("bytes") | line.contains("size"));
            assert_eq!(own.count(), 1, "{}, {elements}: {ended:#?}", path.name);
            // The others learn of which class the error is.
            let others = lines.iter().filter(|line| line.starts_with("1 elements: win_"));
            let others = others.filter(|line| line.contains(class));
            assert_eq!(others.count(), RANKS - 1, "{}, {elements}: {ended:#?}", path.name);
        }
    }
}
