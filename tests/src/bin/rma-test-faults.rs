//! Jobs in which a rank dies or is stopped.
//!
//! `rma-test-faults kills [--path mapped|shm|tcp|nodes|all] [--count N] [--seed S] [--workers W] [--bound SECONDS]` runs
//! random programs in which a rank dies, and judges what comes of them; `stops [--time MS] ...` the same with a rank that is
//! stopped for a while. `show --seed S --path P` prints a case. `rank ...` is a rank of such a job.

use rma_tests::faults::case::{Case, Faults, WAYS, Way};
use rma_tests::faults::judge::Kind;
use rma_tests::faults::player::play;
use rma_tests::faults::watch::{Verdict, run};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

const USAGE: &str = "usage: rma-test-faults kills|stops|none|show|rank [--path P] [--count N] [--seed S] [--workers W] \
                     [--bound SECONDS] [--time MS]";

fn main() -> ExitCode {
    let words = std::env::args().skip(1).collect::<Vec<_>>();
    let outcome = match words.first().map(String::as_str) {
        Some("kills" | "stops" | "none") => run_many(&Options(&words)),
        Some("show") => show(&Options(&words)),
        Some("rank") => rank(&Options(&words)),
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

struct Options<'a>(&'a [String]);

impl Options<'_> {
    fn word(&self, name: &str) -> Option<&str> {
        let at = self.0.iter().position(|word| word == name)?;
        self.0.get(at + 1).map(String::as_str)
    }

    fn number(&self, name: &str, default: u64) -> Result<u64, String> {
        let Some(word) = self.word(name) else { return Ok(default) };
        word.parse().map_err(|_| format!("{name} takes a number, not {word:?}"))
    }

    fn ways(&self) -> Result<Vec<Way>, String> {
        match self.word("--path").unwrap_or("all") {
            "all" => Ok(WAYS.map(|(_, way)| way).to_vec()),
            name => {
                let way = Way::of(name).map(|way| vec![way]);
                way.ok_or_else(|| format!("--path takes mapped, shm, tcp, nodes or all, not {name:?}"))
            }
        }
    }

    /// What happens to ranks: the first word, or for a rank what `--faults` says.
    fn faults(&self) -> Result<Faults, String> {
        let word = self.word("--faults").unwrap_or(&self.0[0]);
        match word {
            "kills" | "show" => Ok(Faults::Death),
            "stops" => Ok(Faults::Stop(self.number("--time", 1000)?)),
            "none" => Ok(Faults::None),
            other => Err(format!("--faults takes kills, stops or none, not {other:?}")),
        }
    }

    fn case(&self) -> Result<Case, String> {
        Ok(Case::new(self.number("--seed", 0)?, self.ways()?[0], self.faults()?))
    }
}

fn rank(options: &Options<'_>) -> Result<(), String> {
    let folder = options.word("--folder").ok_or(USAGE)?;
    play(Path::new(folder), &options.case()?)
}

fn show(options: &Options<'_>) -> Result<(), String> {
    let case = options.case()?;
    let Case { ranks, death, stop, goes_on, is_allocated, .. } = &case;
    println!("{ranks} ranks, allocated {is_allocated:?}, {death:?}, {stop:?}, goes on: {goes_on}");
    for (rank, script) in case.program.scripts.iter().enumerate() {
        println!("rank {rank}");
        script.iter().enumerate().for_each(|(at, step)| println!("  {at} {step:?}"));
    }
    Ok(())
}

fn run_many(options: &Options<'_>) -> Result<(), String> {
    let (first, count) = (options.number("--seed", 0)?, options.number("--count", 1)?);
    let (workers, faults) = (options.number("--workers", 1)?, options.faults()?);
    let bound = Duration::from_secs(options.number("--bound", 10)?);
    let (word, time) = (&options.0[0], options.number("--time", 1000)?);
    let mut is_good = true;
    for way in options.ways()? {
        let (next, found) = (AtomicU64::new(first), Mutex::new(Found::default()));
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| {
                    loop {
                        let seed = next.fetch_add(1, SeqCst);
                        if seed >= first + count {
                            return;
                        }
                        let case = Case::new(seed, way, faults);
                        let name = way.name();
                        let words = format!("rank --faults {word} --time {time} --seed {seed} --path {name}");
                        let verdict = run(&case, &words, bound);
                        found.lock().expect("nobody panics with it").add(word, &case, &verdict);
                    }
                });
            }
        });
        let found = found.into_inner().expect("nobody panics with it");
        let Found { deaths, longest, seeds } = &found;
        println!("{}: {count} jobs, {deaths} deaths, longest end {longest:?}", way.name());
        for (kind, seeds) in seeds {
            println!("  {kind} in {} jobs: seeds {seeds:?}", seeds.len());
        }
        is_good &= seeds.is_empty();
    }
    if is_good { Ok(()) } else { Err("there are faults".to_owned()) }
}

/// What was found so far.
#[derive(Default)]
struct Found {
    deaths: u64,
    longest: Duration,
    seeds: BTreeMap<Kind, Vec<u64>>,
}

impl Found {
    fn add(&mut self, word: &str, case: &Case, verdict: &Verdict) {
        self.deaths += u64::from(verdict.has_died);
        self.longest = self.longest.max(verdict.took);
        for fault in &verdict.faults {
            let seeds = self.seeds.entry(fault.kind).or_default();
            if seeds.last() != Some(&case.seed) {
                seeds.push(case.seed);
            }
        }
        if verdict.faults.is_empty() {
            return;
        }
        let (seed, way) = (case.seed, case.way.name());
        println!("rma-test-faults {word} --path {way} --seed {seed}: {} ranks, {:?}", case.ranks, case.death);
        verdict.faults.iter().take(4).for_each(|fault| println!("  {fault}"));
    }
}
