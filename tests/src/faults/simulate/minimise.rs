//! Makes a failing case small: takes out phases, faults and odd sizes as long as it still fails in the same way.

use super::super::case::{Death, When};
use super::super::judge::Kind;
use super::{Fault, SimCase};
use rma_ch_sim::SimConfig;
use rma_core::config::EngineConfig;
use std::time::Duration;

/// The smallest case found that fails as this one does.
pub fn minimise(case: &SimCase) -> SimCase {
    let Some(kind) = kind(&case.run().faults) else { return case.clone() };
    let mut small = case.clone();
    loop {
        let smaller =
            candidates(&small).into_iter().find(|next| self::kind(&next.run().faults) == Some(kind));
        match smaller {
            Some(next) => small = next,
            None => return small,
        }
    }
}

fn kind(faults: &[Fault]) -> Option<Kind> {
    faults.first().map(|fault| fault.kind)
}

/// Everything that is a little less.
fn candidates(case: &SimCase) -> Vec<SimCase> {
    let mut all = (0..case.case.program.ends.len())
        .rev()
        .filter_map(|phase| without_phase(case, phase))
        .collect::<Vec<_>>();
    let mut push = |change: &dyn Fn(&mut SimCase)| {
        let mut next = case.clone();
        change(&mut next);
        all.push(next);
    };
    for at in 0..case.pauses.len() {
        push(&|next| {
            next.pauses.remove(at);
        });
    }
    if case.deaths.len() + usize::from(case.cut.is_some()) > 1 {
        for at in 0..case.deaths.len() {
            push(&|next| {
                next.deaths.remove(at);
            });
        }
        push(&|next| next.cut = None);
    }
    if case.lateness.iter().any(|late| !late.is_zero()) {
        push(&|next| next.lateness.fill(Duration::ZERO));
    }
    let plain = SimConfig { ranks_per_node: case.sim.ranks_per_node, ..SimConfig::default() };
    if case.sim != plain {
        push(&|next| next.sim = plain.clone());
    }
    let usual = EngineConfig { direct_poll_interval: 1, ..EngineConfig::default() };
    if case.engine != usual {
        push(&|next| next.engine = usual.clone());
    }
    all
}

/// The same without a phase, unless a rank dies in it.
fn without_phase(case: &SimCase, phase: usize) -> Option<SimCase> {
    let mut small = case.clone();
    for Death { rank, when, .. } in &mut small.deaths {
        let When::Step(at, _) = when else { continue };
        let gone = case.case.program.phase(phase, *rank);
        if gone.contains(at) {
            return None;
        }
        if *at >= gone.end {
            *at -= gone.len();
        }
    }
    small.case.program = case.case.program.without(phase);
    Some(small)
}
