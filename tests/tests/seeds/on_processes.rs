//! Random programs on real processes, on every path, with default and with smallest sizes.

use rma_tests::job::{Job, is_second_pass};
use rma_tests::paths::{PATHS, SMALLEST};

#[test]
fn the_same_programs_on_processes() {
    if is_second_pass() {
        return;
    }
    for (at, path) in PATHS.iter().enumerate() {
        let is_one_node = !path.name.starts_with("nodes");
        for (threads, sizes) in [(1, &[][..]), (1, &SMALLEST[..]), (4, &[][..])] {
            let line = format!(
                "play --seed {} --count 4 --threads {threads} --one-node {}",
                1000 * at,
                u8::from(is_one_node)
            );
            let job = Job::new(3, "rma-test-seeds").line(&line);
            let ended = job.variables(path.variables).variables(sizes).succeed();
            let is_reported = ended.stdout.starts_with("4 programs, ") && ended.stdout.ends_with(" steps\n");
            assert!(is_reported, "{}, {threads} threads: {ended:#?}", path.name);
        }
    }
}
