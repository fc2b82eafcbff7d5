//! Random programs.
//!
//! `rma-test-seeds simulate [--count N] [--seed S] [--threads T] [--pools P] [--schedule D] [--workers W] [--explain E]` runs
//! seeds in virtual time. `rma-test-seeds deaths [--count N] [--seed S] [--kinds all|apart|alive] [--workers W] [--explain E]` runs
//! programs in which ranks die, stop, start late and lose connections. `rma-test-seeds play [--count N] [--seed S] [--threads T] [--one-node 0|1]` plays them as a rank of a job.

use rma::World;
use rma_tests::faults::simulate::{Kinds, many};
use rma_tests::options::Options;
use rma_tests::seeds::check::{Summary, explain, run};
use rma_tests::seeds::processes::play;
use rma_tests::seeds::{Plan, Pools, Schedules};
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let words = std::env::args().skip(1).collect::<Vec<_>>();
    let outcome = match words.first().map(String::as_str) {
        Some("simulate") => simulate(&Options(&words)),
        Some("deaths") => deaths(&Options(&words)),
        Some("play") => play_all(&Options(&words)),
        _ => Err("usage: rma-test-seeds simulate|deaths|play [--count N] [--seed S] ...".to_owned()),
    };
    outcome.map_or_else(
        |error| {
            eprintln!("rma-test-seeds: {error}");
            ExitCode::FAILURE
        },
        |()| ExitCode::SUCCESS,
    )
}

fn simulate(options: &Options<'_>) -> Result<(), String> {
    let (first, count) = (options.number("--seed", 0)?, options.number("--count", 1)?);
    let threads = options.number("--threads", 0)? as u32;
    let pools = options.word("--pools").unwrap_or("all");
    Pools::of(pools, 0)
        .ok_or_else(|| format!("--pools takes all, default, one, two or drawn, not {pools:?}"))?;
    let schedules = options.word("--schedule").unwrap_or("all");
    Schedules::of(schedules, 0).ok_or_else(|| {
        format!("--schedule takes all, even, starve, newest or priorities, not {schedules:?}")
    })?;
    let plan = |seed| {
        Plan::new(seed, Pools::of(pools, seed).unwrap_or(Pools::Drawn), threads)
            .under(Schedules::of(schedules, seed).unwrap_or(Schedules::Even))
    };
    let is_terminal = std::io::stderr().is_terminal();
    let on_seed = |summary: &Summary| {
        let Summary { seeds, steps, failures, .. } = summary;
        if is_terminal && (seeds.is_multiple_of(50) || *seeds == count) {
            eprint!("\r{seeds} of {count} seeds, {steps} steps, {} failures", failures.len());
            let _ = std::io::stderr().flush();
        }
    };
    let workers = options.number("--workers", 1)? as usize;
    let Summary { seeds, steps, turns, failures } = run(first..first + count, workers, plan, on_seed);
    if is_terminal {
        eprintln!();
    }
    println!("{seeds} seeds, {steps} steps of programs, {turns} turns of ranks, {} failures", failures.len());
    for failure in &failures {
        println!("seed {}: {}", failure.seed, failure.cause.lines().next().unwrap_or_default());
    }
    for failure in failures.iter().take(options.number("--explain", 1)? as usize) {
        println!("\n{}", explain(&plan(failure.seed)));
    }
    if failures.is_empty() { Ok(()) } else { Err(format!("{} seeds fail", failures.len())) }
}

fn deaths(options: &Options<'_>) -> Result<(), String> {
    let (first, count) = (options.number("--seed", 0)?, options.number("--count", 1)?);
    let word = options.word("--kinds").unwrap_or("all");
    let kinds = Kinds::of(word).ok_or_else(|| format!("--kinds takes all, apart or alive, not {word:?}"))?;
    let is_terminal = std::io::stderr().is_terminal();
    let on_seed = |found: &many::Found| {
        if is_terminal && (found.seeds.is_multiple_of(50) || found.seeds == count) {
            eprint!("\r{} of {count} seeds, {} failures", found.seeds, found.failures.len());
        }
    };
    let workers = options.number("--workers", 1)? as usize;
    let found = many::run(first..first + count, workers, kinds, on_seed);
    if is_terminal {
        eprintln!();
    }
    let many::Found { seeds, steps, deaths, cuts, failures } = found;
    println!(
        "{seeds} seeds, {steps} steps of programs, {deaths} deaths, {cuts} lost connections, {} failures",
        failures.len()
    );
    failures.iter().for_each(|(seed, fault)| println!("seed {seed}: {fault}"));
    for (seed, _) in failures.iter().take(options.number("--explain", 1)? as usize) {
        println!("\n{}", many::explain(*seed, kinds));
    }
    if failures.is_empty() { Ok(()) } else { Err(format!("{} seeds fail", failures.len())) }
}

fn play_all(options: &Options<'_>) -> Result<(), String> {
    let (first, count) = (options.number("--seed", 0)?, options.number("--count", 1)?);
    let threads = options.number("--threads", 1)? as u32;
    let is_one_node = options.number("--one-node", 1)? == 1;
    let world = World::init().map_err(|error| error.to_string())?;
    let mut steps = 0;
    for seed in first..first + count {
        let plan = Plan::for_job(seed, world.size(), threads, is_one_node);
        match play(&world, &plan) {
            Ok(made) => steps += made,
            Err(cause) => {
                eprintln!("rank {}, seed {seed}: {cause}\n{}", world.rank(), plan.program);
                world.abort(1);
            }
        }
    }
    if world.rank() == 0 {
        println!("{count} programs, {steps} steps");
    }
    world.finalize().map_err(|error| error.to_string())
}
