//! Many seeds, on as many threads as are asked for, and what to say of one that fails.

use super::{Kinds, SimCase, minimise};
use crate::faults::judge::Fault;
use crate::seeds::check::quietly;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// What many runs did.
#[derive(Debug, Default)]
pub struct Found {
    /// Seeds.
    pub seeds: u64,
    /// Steps of their programs that have begun.
    pub steps: u64,
    /// Ranks that have died.
    pub deaths: u64,
    /// Connections that were lost while a job ran.
    pub cuts: u64,
    /// Seeds that failed, and the first thing that is wrong.
    pub failures: Vec<(u64, Fault)>,
}

/// Runs seeds, and calls `on_seed` after each.
pub fn run(seeds: Range<u64>, workers: usize, kinds: Kinds, on_seed: impl Fn(&Found) + Sync) -> Found {
    let (next, found) = (AtomicU64::new(seeds.start), Mutex::new(Found::default()));
    let work = || {
        loop {
            let seed = next.fetch_add(1, Relaxed);
            if seed >= seeds.end {
                return;
            }
            let outcome = SimCase::new(seed, kinds).run();
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            found.seeds += 1;
            found.steps += outcome.steps;
            found.deaths += outcome.deaths as u64;
            found.cuts += u64::from(outcome.is_cut);
            found.failures.extend(outcome.faults.into_iter().next().map(|fault| (seed, fault)));
            on_seed(&found);
        }
    };
    quietly(|| std::thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(work)))));
    found.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a failing case small, and says what is left.
pub fn explain(seed: u64, kinds: Kinds) -> String {
    quietly(|| {
        let small = minimise(&SimCase::new(seed, kinds));
        let faults = small.run().faults.iter().map(|fault| format!("  {fault}\n")).collect::<String>();
        format!("seed {seed}, made small:\n{faults}{small}")
    })
}
