//! Random programs find the faults that engines of this design have had: each is put into the engine, and found within 500
//! seeds. Needs the feature `bugs`: `cargo test -p rma-tests --features bugs --test bugs`.

use rma_core::bugs::Bug;
use rma_tests::seeds::bugs::{first_found, smallest};

const SEEDS: u64 = 500;

#[test]
fn every_fault_is_found_within_500_seeds() {
    let mut missed = Vec::new();
    for bug in Bug::ALL {
        match first_found(bug, 0..SEEDS, "all") {
            Some((seed, cause)) => {
                println!("{bug:?}: seed {seed}: {}", cause.lines().next().unwrap_or_default());
            }
            None => missed.push(bug),
        }
    }
    assert!(missed.is_empty(), "not found within {SEEDS} seeds: {missed:?}");
}

#[test]
fn a_program_that_fails_is_made_small() {
    let bug = Bug::RequestDoneEarly;
    let (seed, _) = first_found(bug, 0..SEEDS, "all").expect("the fault is found");
    let small = smallest(bug, seed, "all").program;
    assert!(small.items() <= 8, "{} items are left:\n{small}", small.items());
}
