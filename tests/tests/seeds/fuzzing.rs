//! The fuzzers' targets over the inputs that are kept in `tests/fuzz`, and over random bytes.

use rma_tests::fuzzing::TARGETS;
use rma_tests::random::Random;
use std::panic::AssertUnwindSafe;
use std::path::Path;

fn check(name: &str, what: &str, target: fn(&[u8]), input: &[u8]) {
    let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| target(input)));
    assert!(outcome.is_ok(), "{name} fails with {what}: {input:?}");
}

#[test]
fn inputs_that_are_kept_find_nothing() {
    for (name, target) in TARGETS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz").join(name);
        let files = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        let mut count = 0;
        for file in files {
            let path = file.expect("an entry of the folder").path();
            check(name, &path.display().to_string(), target, &std::fs::read(&path).expect("an input"));
            count += 1;
        }
        assert!(count > 0, "no inputs in {}", folder.display());
    }
}

#[test]
fn random_bytes_find_nothing() {
    for (name, target) in TARGETS {
        for seed in 0..200 {
            let mut random = Random::new(seed);
            let len = random.below(if name == "engine" { 2000 } else { 400 });
            let input = (0..len).map(|_| random.below(256) as u8).collect::<Vec<_>>();
            check(name, &format!("seed {seed}"), target, &input);
        }
    }
}
