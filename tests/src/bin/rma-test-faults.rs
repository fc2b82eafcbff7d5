//! Jobs in which a rank dies or is stopped.
//!
//! `rma-test-faults kills [--path mapped|shm|tcp|nodes|all] [--count N] [--seed S] [--workers W] [--bound SECONDS]
//! [--calls all|paired]` runs random programs in which a rank dies, and judges what comes of them; `stops [--time MS] ...` the same with a rank that is
//! stopped for a while. `show --seed S --path P` prints a case. `rank ...` is a rank of such a job.

use rma_tests::faults::case::{Case, Faults, WAYS, Way};
use rma_tests::faults::cells::{Cell, DELAY};
use rma_tests::faults::player::play;
use rma_tests::faults::program::Calls;
use rma_tests::faults::watch::{Verdict, run_all};
use rma_tests::options::Options;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

const USAGE: &str = "usage: rma-test-faults kills|stops|none|show|rank [--path P] [--count N] [--seed S] [--workers W] \
                     [--bound SECONDS] [--time MS] [--calls all|paired]";

fn main() -> ExitCode {
    let words = std::env::args().skip(1).collect::<Vec<_>>();
    let outcome = match words.first().map(String::as_str) {
        Some("kills" | "stops" | "none") => run_many(&Asked(Options(&words))),
        Some("show") => show(&Asked(Options(&words))),
        Some("rank") => rank(&Asked(Options(&words))),
        _ => Err(USAGE.to_owned()),
    };
    outcome.map_or_else(
        |error| {
            eprintln!("rma-test-faults: {error}");
            ExitCode::FAILURE
        },
        |()| ExitCode::SUCCESS,
    )
}

struct Asked<'a>(Options<'a>);

impl Asked<'_> {
    fn ways(&self) -> Result<Vec<Way>, String> {
        match self.0.word("--path").unwrap_or("all") {
            "all" => Ok(WAYS.map(|(_, way)| way).to_vec()),
            name => {
                let way = Way::of(name).map(|way| vec![way]);
                way.ok_or_else(|| format!("--path takes mapped, shm, tcp, nodes or all, not {name:?}"))
            }
        }
    }

    /// What happens to ranks: the first word, or for a rank what `--faults` says.
    fn faults(&self) -> Result<Faults, String> {
        let word = self.0.word("--faults").unwrap_or(self.0.verb());
        match word {
            "kills" | "show" => Ok(Faults::Death),
            "stops" => Ok(Faults::Stop(self.0.number("--time", 1000)?)),
            "none" => Ok(Faults::None),
            other => Err(format!("--faults takes kills, stops or none, not {other:?}")),
        }
    }

    fn calls(&self) -> Result<Calls, String> {
        match self.0.word("--calls").unwrap_or("all") {
            "all" => Ok(Calls::All),
            "paired" => Ok(Calls::Paired),
            other => Err(format!("--calls takes all or paired, not {other:?}")),
        }
    }

    fn case(&self) -> Result<Case, String> {
        if let Some(word) = self.0.word("--cell") {
            let cell = Cell::of(word).ok_or_else(|| format!("there is no cell {word:?}"))?;
            return Ok(cell.case(self.ways()?[0], DELAY));
        }
        Ok(Case::new(self.0.number("--seed", 0)?, self.ways()?[0], self.faults()?, self.calls()?))
    }
}

fn rank(options: &Asked<'_>) -> Result<(), String> {
    let folder = options.0.word("--folder").ok_or(USAGE)?;
    play(Path::new(folder), &options.case()?)
}

fn show(options: &Asked<'_>) -> Result<(), String> {
    let case = options.case()?;
    let Case { ranks, death, stop, goes_on, is_allocated, .. } = &case;
    println!("{ranks} ranks, allocated {is_allocated:?}, {death:?}, {stop:?}, goes on: {goes_on}");
    for (rank, script) in case.program.scripts.iter().enumerate() {
        println!("rank {rank}");
        script.iter().enumerate().for_each(|(at, step)| println!("  {at} {step:?}"));
    }
    Ok(())
}

fn run_many(options: &Asked<'_>) -> Result<(), String> {
    let (first, count) = (options.0.number("--seed", 0)?, options.0.number("--count", 1)?);
    let workers = options.0.number("--workers", 1)?;
    let (faults, calls) = (options.faults()?, options.calls()?);
    let bound = Duration::from_secs(options.0.number("--bound", 10)?);
    let word = options.0.verb();
    let mut is_good = true;
    for way in options.ways()? {
        let on_verdict = |case: &Case, verdict: &Verdict| {
            if verdict.faults.is_empty() {
                return;
            }
            let (seed, way) = (case.seed, case.way.name());
            let calls = options.0.word("--calls").unwrap_or("all");
            println!(
                "rma-test-faults {word} --path {way} --calls {calls} --seed {seed}: {} ranks, {:?}",
                case.ranks, case.death
            );
            verdict.faults.iter().take(4).for_each(|fault| println!("  {fault}"));
        };
        let draw = |seed| Case::new(seed, way, faults, calls);
        let found = run_all(first..first + count, workers, bound, draw, on_verdict);
        println!("{}: {found}", way.name());
        is_good &= found.seeds.is_empty();
    }
    if is_good { Ok(()) } else { Err("there are faults".to_owned()) }
}
