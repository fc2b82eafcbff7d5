//! The C calls of fault tolerance on real processes that die: the living get what docs/faults.md promises, on
//! every path.

use rma_tests::installed::{command, prefix};
use rma_tests::job::{Ended, is_second_pass};
use rma_tests::paths::{PATHS, PURE_PATHS, Path};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use tempfile::TempDir;

const LIMIT: Duration = Duration::from_secs(60);
/// Far above what a job takes that waits for nothing but calls that end by themselves.
const BOUND: Duration = Duration::from_secs(10);

/// The programs of `tests/c-faults`, built.
fn build(name: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("c-faults").join(format!("{name}.c"));
    let words = ["-Wall", "-Wextra", "-Werror", "-O1", "-D_GNU_SOURCE"].map(Into::into);
    let words = words.into_iter().chain([source.into_os_string(), "-o".into(), "program".into()]);
    command(&prefix(), folder.path(), "rmacc").words(words).succeed();
    folder
}

fn paths() -> impl Iterator<Item = Path> {
    PURE_PATHS.into_iter().chain([PATHS[4]])
}

/// Runs a program that asks by itself that the job goes on.
fn run(folder: &TempDir, path: &Path, ranks: u32, case: &str, seed: u64) -> (String, Ended) {
    run_with(folder, path, &[], ranks, case, seed)
}

/// Runs a program under a launcher with these options.
fn run_with(
    folder: &TempDir,
    path: &Path,
    options: &[&str],
    ranks: u32,
    case: &str,
    seed: u64,
) -> (String, Ended) {
    let what = format!("{}: {ranks} ranks, {case}, seed {seed}", path.name);
    let (ranks, seed) = (ranks.to_string(), seed.to_string());
    let job = command(&prefix(), folder.path(), "rmarun")
        .words(options)
        .words(["-n", &ranks, "./program", case, &seed])
        .variables(path.variables)
        .limit(LIMIT);
    let ended = job.run();
    (what, ended)
}

/// How many ranks went on. All others must have died.
fn judge(what: &str, ended: &Ended, ranks: u32) -> usize {
    let survivors = ended.stdout.matches("went on").count();
    let killed = ended.stderr.lines().last().unwrap_or_default().matches("was killed by signal").count();
    assert!(!ended.stderr.contains("not so:") && !ended.stderr.contains("answers"), "{what}: {ended:#?}");
    assert_eq!(survivors + killed, ranks as usize, "{what}: {ended:#?}");
    survivors
}

fn seeds(default: u64) -> u64 {
    std::env::var("RMA_TEST_FAULTS").ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn a_revoked_communicator_ends_every_call_everywhere() {
    if is_second_pass() {
        return;
    }
    let folder = build("revoke");
    for path in paths() {
        for seed in 0..seeds(3) {
            for (case, dead) in [("lives", 0), ("dies", 1)] {
                let ranks = 3 + (seed as u32 * 2) % 6;
                let (what, ended) = run(&folder, &path, ranks, case, seed);
                assert_eq!(judge(&what, &ended, ranks) as u32, ranks - dead, "{what}: {ended:#?}");
            }
        }
    }
}

#[test]
fn a_revoked_window_ends_every_call_and_is_freed_by_each_rank_alone() {
    if is_second_pass() {
        return;
    }
    let folder = build("win_revoke");
    for path in paths() {
        for seed in 0..seeds(2) {
            for (case, dead) in [("lives", 0), ("dies", 1)] {
                let ranks = 3 + (seed as u32 * 3) % 6;
                let (what, ended) = run(&folder, &path, ranks, case, seed);
                assert_eq!(judge(&what, &ended, ranks) as u32, ranks - dead, "{what}: {ended:#?}");
            }
        }
    }
}

#[test]
fn survivors_agree_alike_whichever_rank_dies_meanwhile() {
    if is_second_pass() {
        return;
    }
    let folder = build("agree");
    for path in paths() {
        for seed in 0..seeds(4) {
            let (ranks, deaths) = (2 + (seed as u32 * 3) % 7, seed % 5);
            let (what, ended) = run(&folder, &path, ranks, &deaths.to_string(), seed);
            assert!(judge(&what, &ended, ranks) >= 1);
            let mut agreed = BTreeMap::new();
            for line in ended.stdout.lines().filter_map(|line| line.strip_prefix("agreed ")) {
                let (round, value) = line.split_once(' ').unwrap();
                let before = agreed.entry(round).or_insert(value);
                assert_eq!(*before, value, "{what}, round {round}: {ended:#?}");
            }
            assert!(agreed.len() >= 12, "{what}: {ended:#?}");
        }
    }
}

#[test]
fn survivors_shrink_and_go_on_with_exact_data() {
    if is_second_pass() {
        return;
    }
    let folder = build("shrink");
    for path in paths() {
        for seed in 0..seeds(3) {
            let case = if seed % 2 == 0 { "shrink" } else { "ishrink" };
            let ranks = 3 + (seed as u32 * 3) % 6;
            let (what, ended) = run(&folder, &path, ranks, case, seed);
            assert!(judge(&what, &ended, ranks) >= 1);
        }
    }
}

/// The program of docs/faults.md, with ranks killed while it runs.
#[test]
fn the_example_of_the_documentation_goes_on_with_exact_data() {
    if is_second_pass() {
        return;
    }
    let page = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/faults.md");
    let page = std::fs::read_to_string(page).unwrap();
    let program = page.split("```c\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    // Ranks from 1 on die somewhere in a step: how many, and in which, the words say.
    let mark = "/* From here on any rank may die at any moment. */";
    assert!(program.contains(mark));
    let dies = "if (argc > 2 && me >= 1 && me <= atoi(argv[1]) && step == me * atoi(argv[2]) % STEPS) \
                ualarm(1 + (me * 331 + atoi(argv[2]) * 37) % 900, 0);";
    let program = format!("#include <unistd.h>\n{}", program.replace(mark, dies));
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("example.c"), program).unwrap();
    let words = ["-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "example.c", "-o", "program"];
    command(&prefix(), folder.path(), "rmacc").words(words).succeed();
    for path in paths() {
        for seed in 0..seeds(3) {
            let ranks = 3 + (seed as u32 * 2) % 6;
            let deaths = (seed as u32).min(ranks - 1);
            let (options, deaths_text) = (["--on-failure=continue"], deaths.to_string());
            let (what, ended) = run_with(&folder, &path, &options, ranks, &deaths_text, seed * 17 + 5);
            let ends = ended.stdout.lines().filter(|line| line.contains(": 200 steps, ")).count() as u32;
            assert_eq!(ends, ranks - deaths, "{what}: {ended:#?}");
            assert!(!ended.stderr.contains(": step "), "{what}: {ended:#?}");
        }
    }
}

#[test]
fn duplications_beside_agreements_end_whichever_rank_dies_in_them() {
    if is_second_pass() {
        return;
    }
    let folder = build("dup");
    for path in paths() {
        for seed in 0..seeds(2) {
            for case in ["agree", "iagree", "ishrink"] {
                let ranks = 3 + (seed as u32 * 5) % 7;
                let (what, ended) = run(&folder, &path, ranks, case, seed);
                assert!(judge(&what, &ended, ranks) >= 1);
                assert!(ended.took < BOUND, "{what}: {ended:#?}");
            }
        }
    }
}

#[test]
fn a_communicator_that_not_all_have_got_keeps_no_rank_waiting() {
    if is_second_pass() {
        return;
    }
    let (folder, mut have) = (build("dup"), 0);
    for path in paths() {
        for ranks in [4, 6, 9] {
            let (what, ended) = run(&folder, &path, ranks, "unequal", 0);
            assert_eq!(judge(&what, &ended, ranks) as u32, ranks - 1, "{what}: {ended:#?}");
            assert!(ended.took < BOUND, "{what}: {ended:#?}");
            have += ended.stdout.matches("has got it").count();
        }
    }
    assert!(have > 0, "no rank has got it before the death");
}

#[test]
fn a_communicator_of_groups_that_not_all_have_got_keeps_no_rank_waiting() {
    if is_second_pass() {
        return;
    }
    let (folder, mut have) = (build("made"), 0);
    for (at, path) in paths().enumerate() {
        let ranks = 4 + 2 * (at as u32 % 2);
        for (seed, kind) in [(0, "group"), (0, "inter"), (1, "merge"), (0, "dup"), (1, "idup")] {
            let (what, ended) = run(&folder, &path, ranks, kind, seed);
            assert_eq!(judge(&what, &ended, ranks) as u32, ranks - 1, "{what}: {ended:#?}");
            assert!(ended.took < BOUND, "{what}: {ended:#?}");
            have += ended.stdout.matches("has got it").count();
        }
    }
    assert!(have > 0, "no rank has got one before the death");
    for (path, seed) in paths().flat_map(|path| [(path, 0), (path, 1)]) {
        let (what, ended) = run(&folder, &path, 4, "attribute", seed);
        assert_eq!(judge(&what, &ended, 4), 4, "{what}: {ended:#?}");
    }
}

#[test]
fn makings_of_communicators_end_whichever_rank_dies_in_them() {
    if is_second_pass() {
        return;
    }
    let folder = build("made");
    for path in paths() {
        for seed in 0..seeds(3) {
            let ranks = 4 + (seed as u32 * 3) % 6;
            let (what, ended) = run(&folder, &path, ranks, "random", seed);
            assert!(judge(&what, &ended, ranks) >= 1);
            assert!(ended.took < BOUND, "{what}: {ended:#?}");
        }
    }
}

#[test]
fn failures_are_told_and_acknowledged() {
    if is_second_pass() {
        return;
    }
    let folder = build("failed");
    for path in paths() {
        for ranks in [3, 4, 8] {
            let (what, ended) = run(&folder, &path, ranks, "any", u64::from(ranks));
            assert_eq!(judge(&what, &ended, ranks) as u32, ranks - 1, "{what}: {ended:#?}");
        }
    }
}

#[test]
fn one_that_gets_a_lock_of_the_dead_learns_of_it_once() {
    if is_second_pass() {
        return;
    }
    let folder = build("owner");
    for path in paths() {
        for case in ["shared", "exclusive"] {
            let (what, ended) = run(&folder, &path, 4, case, 0);
            assert_eq!(judge(&what, &ended, 4), 3, "{what}: {ended:#?}");
            assert_eq!(ended.stdout.matches("inherits").count(), 1, "{what}: {ended:#?}");
        }
    }
}

#[test]
fn a_rank_that_gets_a_lock_of_the_dead_learns_what_is_half_done() {
    if is_second_pass() {
        return;
    }
    let folder = build("owner_ops");
    // With nodes of two, rank 2 is on another one than the memory and the dead.
    for (path, case, heir) in [
        (0, "spread", 0),
        (0, "accumulate", 2),
        (0, "put", 2),
        (0, "whole", 2),
        (1, "put", 0),
        (1, "accumulate", 2),
        (3, "accumulate", 2),
        (4, "spread", 2),
    ] {
        let (what, ended) = run(&folder, &PATHS[path], 3, case, heir);
        assert_eq!(judge(&what, &ended, 3), 2, "{what}: {ended:#?}");
        let reported = usize::from(case != "whole");
        assert_eq!(ended.stdout.matches("puts right").count(), reported, "{what}: {ended:#?}");
    }
}

#[test]
fn two_groups_agree_and_shrink_whichever_rank_dies_meanwhile() {
    if is_second_pass() {
        return;
    }
    let folder = build("inter");
    for path in paths() {
        for seed in 0..seeds(4) {
            let case = ["waits", "whole", "background", "leaders"][seed as usize % 4];
            let ranks = 3 + (seed as u32 * 3) % 6;
            let (what, ended) = run(&folder, &path, ranks, case, seed);
            assert!(judge(&what, &ended, ranks) >= 1);
            let mut agreed = BTreeMap::new();
            for line in ended.stdout.lines().filter_map(|line| line.strip_prefix("agreed ")) {
                let (round, value) = line.split_once(' ').unwrap();
                assert_eq!(*agreed.entry(round).or_insert(value), value, "{what}, {round}: {ended:#?}");
            }
        }
    }
}

#[test]
fn a_program_asks_by_an_info_key_that_the_job_goes_on() {
    if is_second_pass() {
        return;
    }
    let folder = build("asked");
    for path in [PATHS[0], PATHS[3]] {
        for way in 0..5 {
            let (what, ended) = run(&folder, &path, 4, &way.to_string(), 0);
            assert_eq!(judge(&what, &ended, 4), 3, "{what}: {ended:#?}");
            assert_eq!(ended.code(), 137, "{what}: {ended:#?}");
        }
    }
}

#[test]
fn the_launcher_says_which_error_handler_there_is_at_first() {
    if is_second_pass() {
        return;
    }
    let folder = build("handler");
    for (name, options) in [
        ("mpi_errors_are_fatal", &[][..]),
        ("mpi_errors_return", &["--initial-errhandler", "MPI_ERRORS_RETURN"]),
        ("mpi_errors_abort", &["-initial-errhandler", "mpi_errors_abort"]),
    ] {
        let (what, ended) = run_with(&folder, &PATHS[0], options, 2, name, 0);
        assert!(!ended.stderr.contains("not so:"), "{what}: {ended:#?}");
        let is_over = ended.stderr.contains("the error handler ends the job");
        assert_eq!(is_over, name != "mpi_errors_return", "{what}: {ended:#?}");
        assert_eq!(ended.code() == 0, !is_over, "{what}: {ended:#?}");
    }
}
