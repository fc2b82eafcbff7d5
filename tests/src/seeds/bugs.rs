//! How soon random programs find a fault that was put into the engine.

use super::check::quietly;
use super::minimise::minimise;
use super::plan::{Plan, Pools};
use rma_core::bugs::{Bug, choose};

/// The first seed of these that fails with a fault in and not without it, and how.
pub fn first_found(bug: Bug, seeds: std::ops::Range<u64>) -> Option<(u64, String)> {
    choose(Some(bug));
    let found = quietly(|| {
        seeds.into_iter().find_map(|seed| {
            let pools = Pools::of("all", seed).expect("a word for pools");
            let plan = Plan::new(seed, pools, 0);
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
pub fn smallest(bug: Bug, seed: u64) -> Plan {
    choose(Some(bug));
    let pools = Pools::of("all", seed).expect("a word for pools");
    let small = quietly(|| minimise(&Plan::new(seed, pools, 0)));
    choose(None);
    small
}
