//! How often polls yield.

#![allow(missing_docs)]

use rma::World;
use rma::config::Configuration;

const POLLS: u64 = 80;
/// Idle polls of which one yields, where ranks outnumber cores.
const POLLS_PER_YIELD: u64 = 8;

/// How often polls in vain yield.
fn yields_of(variables: &'static [(&str, &str)]) -> u64 {
    let value =
        |name: &str| variables.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned());
    let configuration = Configuration::read(&value).unwrap();
    let ran = World::run_threads_with(1, &configuration, &Default::default(), |world| {
        while world.engine().poll() {}
        let before = world.engine().counters().turns_given;
        (0..POLLS).for_each(|_| assert!(!world.engine().poll()));
        Ok(world.engine().counters().turns_given - before)
    });
    ran.unwrap()[0]
}

#[test]
fn idle_polls_yield_where_ranks_outnumber_cores() {
    // A poll cannot sleep instead, so it does not matter how often a wait yields.
    for yields in [&[("RMA_SPIN", "0")][..], &[("RMA_SPIN", "0"), ("RMA_YIELDS", "0")]] {
        assert_eq!(yields_of(yields), POLLS / POLLS_PER_YIELD);
    }
}

#[test]
fn idle_polls_do_not_yield_where_waits_spin() {
    assert_eq!(yields_of(&[("RMA_SPIN", "30")]), 0);
}
