//! Epochs of every kind between processes, on every path, with default and with smallest sizes.

use rma_tests::job::{Job, is_second_pass};
use rma_tests::paths::{PATHS, SMALLEST};

#[test]
fn epochs_of_every_kind_bring_what_they_must() {
    if is_second_pass() {
        return;
    }
    for path in &PATHS {
        for ranks in [1, 2, 4] {
            for sizes in [&[][..], &SMALLEST[..]] {
                let job = Job::new(ranks, "rma-test-epochs").line("60");
                let ended = job.variables(path.variables).variables(sizes).succeed();
                assert_eq!(ended.stdout.lines().count(), 3, "{}, {ranks} ranks: {ended:#?}", path.name);
            }
        }
    }
}
