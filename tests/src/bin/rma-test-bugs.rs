//! How soon each schedule finds each fault that can be put into the engine.
//!
//! `rma-test-bugs [--ranges N] [--seeds S] [--only FAULT]` looks for every fault, or one, with every schedule in N ranges of S seeds, and prints the mean
//! number of seeds until the first that finds it; a range without one counts as S.

use rma_core::bugs::Bug;
use rma_tests::seeds::Schedules;
use rma_tests::seeds::bugs::first_found;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words = std::env::args().collect::<Vec<_>>();
    let only = words.iter().position(|word| word == "--only").and_then(|at| words.get(at + 1));
    let number = |name: &str, default: u64| {
        let word = words.iter().position(|word| word == name).and_then(|at| words.get(at + 1));
        word.map_or(Some(default), |word| word.parse().ok())
    };
    let (Some(ranges), Some(seeds)) = (number("--ranges", 10), number("--seeds", 500)) else {
        eprintln!("usage: rma-test-bugs [--ranges N] [--seeds S] [--only FAULT]");
        return ExitCode::FAILURE;
    };
    let names = Schedules::ALL.map(|(name, _)| name);
    let columns = names.iter().chain(&["all"]).map(|name| format!(" {name} |")).collect::<String>();
    println!("| fault |{columns}\n| --- |{}", " --- |".repeat(names.len() + 1));
    let is_wanted = |bug: &Bug| only.is_none_or(|only| *only == format!("{bug:?}"));
    for bug in Bug::ALL.into_iter().filter(is_wanted) {
        let mean = |schedules: &str| {
            let until = |range: u64| {
                let first = range * 10_000;
                let found = first_found(bug, first..first + seeds, schedules);
                found.map_or(seeds, |(seed, _)| seed - first + 1)
            };
            (0..ranges).map(until).sum::<u64>() as f64 / ranges as f64
        };
        let means =
            names.iter().chain(&["all"]).map(|name| format!(" {:.1} |", mean(name))).collect::<String>();
        println!("| {bug:?} |{means}");
    }
    ExitCode::SUCCESS
}
