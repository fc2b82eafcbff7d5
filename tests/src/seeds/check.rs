//! Many seeds, one after the other, on as many threads as are asked for.

use super::minimise::minimise;
use super::plan::Plan;
use super::simulate::Report;
use std::panic;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A seed that fails.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Which.
    pub seed: u64,
    /// What is wrong.
    pub cause: String,
}

/// What many runs did.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Seeds.
    pub seeds: u64,
    /// Steps of their programs.
    pub steps: u64,
    /// Turns of ranks.
    pub turns: u64,
    /// Seeds that failed, in the order in which they did.
    pub failures: Vec<Failure>,
}

/// Runs seeds, and calls `on_seed` after each.
pub fn run(
    seeds: std::ops::Range<u64>,
    workers: usize,
    plan: impl Fn(u64) -> Plan + Sync,
    on_seed: impl Fn(&Summary) + Sync,
) -> Summary {
    let next = AtomicU64::new(seeds.start);
    let summary = Mutex::new(Summary::default());
    quietly(|| {
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| {
                    loop {
                        let seed = next.fetch_add(1, Relaxed);
                        if seed >= seeds.end {
                            return;
                        }
                        let outcome = plan(seed).simulate();
                        let mut summary = summary.lock().expect("no thread panics here");
                        summary.add(seed, outcome);
                        on_seed(&summary);
                    }
                });
            }
        });
    });
    summary.into_inner().expect("no thread panics here")
}

impl Summary {
    fn add(&mut self, seed: u64, outcome: Result<Report, String>) {
        self.seeds += 1;
        match outcome {
            Ok(report) => {
                self.steps += report.steps;
                self.turns += report.turns;
            }
            Err(cause) => self.failures.push(Failure { seed, cause }),
        }
    }
}

/// Makes a failing plan small, and says what is left.
pub fn explain(plan: &Plan) -> String {
    quietly(|| {
        let small = minimise(plan);
        let cause = small.simulate().err().unwrap_or_else(|| "it does not fail any more".to_owned());
        format!(
            "seed {}: {cause}\n{} of {} items are left\n{}\n{}",
            plan.seed,
            small.program.items(),
            plan.program.items(),
            small.settings(),
            small.program
        )
    })
}

/// Runs something whose panics are values: they are not printed.
pub fn quietly<T>(run: impl FnOnce() -> T) -> T {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let outcome = run();
    panic::set_hook(hook);
    outcome
}
