//! Both demos give the serial result with every number of ranks, over every path, and the packets go where they should.

use rma_tests::job::{Job, is_second_pass, program};
use rma_tests::paths::{PATHS, PURE_PATHS, Path, SMALLEST};
use std::io::Write;
use std::process::Command;
use std::time::Duration;
use tempfile::NamedTempFile;

const RANKS: [u32; 5] = [1, 2, 4, 7, 16];

/// A job of the smallest sizes moves every byte by itself.
const SLOW: Duration = Duration::from_secs(60);

fn heat(ranks: u32, path: &Path, sync: &str, grid: &str) -> Job {
    Job::new(ranks, "heat2d")
        .line(&format!("{grid} --sync {sync} --check --no-picture --packets"))
        .variables(path.variables)
}

fn heat_is_serial(ranks: u32, path: &Path, job: Job) {
    let ended = job.succeed();
    assert!(ended.stdout.contains("equal to the serial run, bit by bit"), "{ended:#?}");
    assert!(ended.stdout.contains(&format!(" on {ranks} ranks")), "{ended:#?}");
    path.check(ranks, &ended);
}

/// A text whose words are partly the same for all ranks and partly of one place only.
fn text(words: usize) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    let mut line = String::new();
    for i in 0..words {
        line += &format!("{} word{} ", ["the", "quick", "brown", "foxes", "größe"][i % 5], i * i % 197);
    }
    file.write_all(line.as_bytes()).unwrap();
    file
}

fn words(ranks: u32, path: &Path, file: &NamedTempFile) -> Job {
    Job::new(ranks, "wordcount")
        .line("--check --top 3 --packets")
        .words([file.path()])
        .variables(path.variables)
}

fn words_are_serial(ranks: u32, path: &Path, job: Job) {
    let ended = job.succeed();
    assert!(ended.stdout.contains("equal to the serial count"), "{ended:#?}");
    assert!(ended.stdout.contains(&format!(" on {ranks} ranks")), "{ended:#?}");
    path.check(ranks, &ended);
}

#[test]
fn heat2d_with_fences_is_serial() {
    if is_second_pass() {
        return;
    }
    for path in &PATHS {
        for ranks in RANKS {
            heat_is_serial(ranks, path, heat(ranks, path, "fence", "--rows 33 --cols 20 --steps 12"));
        }
    }
}

#[test]
fn heat2d_with_locks_is_serial() {
    if is_second_pass() {
        return;
    }
    for path in &PATHS {
        for ranks in RANKS {
            heat_is_serial(ranks, path, heat(ranks, path, "lock", "--rows 34 --cols 21 --steps 8"));
        }
    }
}

#[test]
fn wordcount_is_serial() {
    if is_second_pass() {
        return;
    }
    let file = text(1200);
    for path in &PATHS {
        for ranks in RANKS {
            words_are_serial(ranks, path, words(ranks, path, &file));
        }
    }
}

#[test]
fn odd_grids_are_serial_too() {
    if is_second_pass() {
        return;
    }
    for path in &PURE_PATHS {
        for (ranks, grid) in [
            (1, "--rows 1 --cols 1 --steps 5"),
            (4, "--rows 1 --cols 1 --steps 5"),
            (7, "--rows 3 --cols 2000 --steps 5"),
            (4, "--rows 2000 --cols 3 --steps 5"),
            (7, "--rows 5 --cols 9 --steps 20"),
            (2, "--rows 8 --cols 8 --steps 0"),
        ] {
            for sync in ["fence", "lock"] {
                let ended = heat(ranks, path, sync, grid).succeed();
                let is_equal = ended.stdout.contains("equal to the serial run, bit by bit");
                assert!(is_equal, "{} {ranks} {grid} {sync}: {ended:#?}", path.name);
            }
        }
    }
}

#[test]
fn the_smallest_sizes_give_the_same() {
    if is_second_pass() {
        return;
    }
    let file = text(150);
    for path in PATHS.iter().filter(|path| path.name != "nodes of 3") {
        for ranks in [2, 4] {
            for sync in ["fence", "lock"] {
                let job = heat(ranks, path, sync, "--rows 9 --cols 150 --steps 6");
                heat_is_serial(ranks, path, job.variables(&SMALLEST).limit(SLOW));
            }
            words_are_serial(ranks, path, words(ranks, path, &file).variables(&SMALLEST).limit(SLOW));
        }
    }
}

#[test]
fn pictures_are_pictures() {
    if is_second_pass() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for (name, grid) in [("a.png", "--rows 40 --cols 60"), ("b.png", "--rows 1 --cols 1")] {
        let file = folder.path().join(name);
        let job = Job::new(3, "heat2d").line(grid).line("--steps 10 --check --output").words([&file]);
        assert!(job.succeed().stdout.contains(&format!("wrote {}", file.display())));
        let bytes = std::fs::read(file).unwrap();
        assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n") && bytes.ends_with(b"IEND\xaeB\x60\x82"), "{name}");
    }
}

#[test]
fn a_timeline_is_summed_up_and_shown_without_a_network() {
    if is_second_pass() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.json");
    let job = Job::new(2, "heat2d").line("--rows 20 --cols 20 --steps 3 --no-picture");
    job.variables(&[("RMA_TRACE", file.to_str().unwrap())]).succeed();
    let ended = Job::command(Command::new(program("rma-trace"))).words([&file]).succeed();
    for rank in ["0", "1"] {
        let fences = ended.stdout.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let fences = fences.filter(|words| words.first().is_some_and(|name| name.contains("fence")));
        assert_eq!(fences.filter(|words| words[1] == rank).count(), 1, "{ended:#?}");
    }
    let page = std::fs::read_to_string(folder.path().join("trace.html")).unwrap();
    assert!(page.contains("rank 1 of 2") && !page.contains("http"));
}

#[test]
fn the_program_of_the_first_page_does_the_same_with_any_number_of_ranks() {
    let page = include_str!("../../../README.md");
    let shown = page.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next());
    let (_, program) = include_str!("../../../crates/rma/examples/first.rs").split_once("\n\n").unwrap();
    assert_eq!(shown, Some(program));
    for path in PURE_PATHS.iter() {
        for ranks in [1, 8] {
            let ended = Job::new(ranks, "first").variables(path.variables).succeed();
            let mut lines: Vec<_> = ended.stdout.lines().collect();
            lines.sort_unstable();
            let drew =
                |line: &&str| line.split_once(" drew ticket ").and_then(|(_, ticket)| ticket.parse().ok());
            let mut tickets: Vec<u32> = lines.iter().filter_map(drew).collect();
            tickets.sort_unstable();
            assert_eq!(tickets, (0..ranks).collect::<Vec<_>>(), "{}: {ended:#?}", path.name);
            for rank in 0..ranks {
                let left = (rank + ranks - 1) % ranks;
                let line = format!("rank {rank} was given [{left}, {left}]");
                assert!(lines.contains(&line.as_str()), "{}: {line:?} is not in {ended:#?}", path.name);
            }
        }
    }
}
