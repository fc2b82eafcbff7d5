//! How soon random programs find a fault that was put into the engine.

use super::check::quietly;
use super::minimise::minimise;
use super::plan::{Plan, Schedules};
use crate::draws::Pools;
use rma_core::bugs::{Bug, choose};

/// The first seed of these that fails with a fault in and not without it, and how; `schedules` is a word for them.
///
/// # Panics
/// When there is no such word.
pub fn first_found(bug: Bug, seeds: std::ops::Range<u64>, schedules: &str) -> Option<(u64, String)> {
    choose(Some(bug));
    let found = quietly(|| {
        seeds.into_iter().find_map(|seed| {
            let plan = plan(seed, schedules);
            let cause = plan.simulate().err()?;
            choose(None);
            let is_right = plan.simulate().is_ok();
            choose(Some(bug));
            is_right.then_some((seed, cause))
        })
    });
    choose(None);
    found
}

/// A plan that fails with the fault in, made small.
///
/// # Panics
/// When there is no such word for schedules.
pub fn smallest(bug: Bug, seed: u64, schedules: &str) -> Plan {
    choose(Some(bug));
    let small = quietly(|| minimise(&plan(seed, schedules)));
    choose(None);
    small
}

fn plan(seed: u64, schedules: &str) -> Plan {
    let pools = Pools::of("all", seed).expect("a word for pools");
    Plan::new(seed, pools, 0).under(Schedules::of(schedules, seed).expect("a word for schedules"))
}
