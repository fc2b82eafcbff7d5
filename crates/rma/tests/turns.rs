//! Turns that polls give away, counted.

#![allow(missing_docs)]

use rma::World;
use rma::config::Configuration;

const POLLS: u64 = 80;
/// Idle polls of which one gives its turn away, where ranks outnumber cores.
const POLLS_OF_A_TURN: u64 = 8;

/// Turns that polls in vain give away.
fn turns(variables: &'static [(&str, &str)]) -> u64 {
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
fn idle_polls_give_turns_away_where_ranks_outnumber_cores() {
    // A poll cannot sleep instead, so it does not matter how many turns a wait gives.
    for yields in [&[("RMA_SPIN", "0")][..], &[("RMA_SPIN", "0"), ("RMA_YIELDS", "0")]] {
        assert_eq!(turns(yields), POLLS / POLLS_OF_A_TURN);
    }
}

#[test]
fn idle_polls_keep_their_turns_where_waits_spin() {
    assert_eq!(turns(&[("RMA_SPIN", "30")]), 0);
}
