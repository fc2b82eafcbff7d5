//! Makes a failing program small: takes subtrees out as long as what is left still fails.
//!
//! Large parts are tried first: phases, rounds, bodies, then epochs and single items, then settings. What is left is judged
//! anew each time, because the outcome is no part of a program; what would not be a legal program is not tried.

use super::conflicts::are_legal;
use super::plan::Plan;
use super::program::{Item, Kind, Program};

/// Most runs spent on one program.
const MOST_RUNS: u32 = 600;

struct Minimiser {
    best: Plan,
    runs: u32,
}

/// A smaller plan that fails too.
pub fn minimise(plan: &Plan) -> Plan {
    let mut minimiser = Minimiser { best: plan.clone(), runs: 0 };
    loop {
        let before = minimiser.best.program.items() + minimiser.best.program.phases.len();
        minimiser.pauses();
        minimiser.phases();
        minimiser.rounds();
        minimiser.bodies();
        minimiser.items();
        minimiser.ranks();
        let after = minimiser.best.program.items() + minimiser.best.program.phases.len();
        if after == before || minimiser.runs >= MOST_RUNS {
            return minimiser.best;
        }
    }
}

impl Minimiser {
    /// Takes a change over if the program still fails.
    fn attempt(&mut self, change: impl FnOnce(&mut Program)) -> bool {
        let mut program = self.best.program.clone();
        change(&mut program);
        self.attempt_plan(self.best.with_program(program))
    }

    fn attempt_plan(&mut self, plan: Plan) -> bool {
        if self.runs >= MOST_RUNS || !are_legal(&plan.program) {
            return false;
        }
        self.runs += 1;
        let fails = plan.simulate().is_err();
        if fails {
            self.best = plan;
        }
        fails
    }

    fn pauses(&mut self) {
        let plan = self.best.without_pauses();
        self.attempt_plan(plan);
    }

    fn phases(&mut self) {
        for at in (0..self.best.program.phases.len()).rev() {
            if self.best.program.phases.len() > 1 {
                self.attempt(|program| {
                    program.phases.remove(at);
                });
            }
        }
    }

    fn rounds(&mut self) {
        for phase in 0..self.best.program.phases.len() {
            self.attempt(|program| program.phases[phase].stores = 0);
            for at in (0..self.best.program.phases[phase].rounds.len()).rev() {
                if self.best.program.phases[phase].rounds.len() > 1 {
                    self.attempt(|program| {
                        let phase = &mut program.phases[phase];
                        phase.rounds.remove(at);
                        phase.looks.remove(at);
                        if let Kind::Active { edges, .. } = &mut phase.kind {
                            edges.remove(at);
                        }
                    });
                }
            }
        }
    }

    fn bodies(&mut self) {
        for phase in 0..self.best.program.phases.len() {
            for round in 0..self.best.program.phases[phase].rounds.len() {
                for actor in 0..self.best.program.actors() as usize {
                    if !self.best.program.phases[phase].rounds[round][actor].is_empty() {
                        self.attempt(|program| program.phases[phase].rounds[round][actor].clear());
                    }
                }
            }
        }
    }

    fn items(&mut self) {
        for phase in 0..self.best.program.phases.len() {
            for round in 0..self.best.program.phases[phase].rounds.len() {
                for actor in 0..self.best.program.actors() as usize {
                    let count = weight(&self.best.program.phases[phase].rounds[round][actor]);
                    for at in (0..count).rev() {
                        self.attempt(|program| {
                            let mut at = at;
                            remove(&mut program.phases[phase].rounds[round][actor], &mut at);
                        });
                    }
                }
            }
        }
    }

    /// Takes the last rank away as long as nobody needs it.
    fn ranks(&mut self) {
        while self.best.program.ranks > 2 {
            let last = self.best.program.ranks - 1;
            let is_used = self.best.program.phases.iter().flat_map(|phase| &phase.rounds).any(|bodies| {
                let own = &bodies[(last * self.best.program.threads) as usize..];
                own.iter().any(|body| !body.is_empty()) || bodies.iter().any(|body| targets(body, last))
            });
            if is_used || !self.attempt(|program| take_last(program, last)) {
                return;
            }
        }
    }
}

fn take_last(program: &mut Program, last: u32) {
    program.ranks = last;
    for window in &mut program.windows {
        window.units.pop();
        window.pads.pop();
    }
    let actors = (last * program.threads) as usize;
    for phase in &mut program.phases {
        phase.rounds.iter_mut().for_each(|bodies| bodies.truncate(actors));
        if let Kind::Active { edges, .. } = &mut phase.kind {
            for edges in edges {
                let all = last + 1;
                *edges = (0..last)
                    .flat_map(|origin| (0..last).map(move |target| (origin * all + target) as usize))
                    .map(|at| edges[at])
                    .collect();
            }
        }
    }
}

fn targets(items: &[Item], rank: u32) -> bool {
    use super::program::{Action, Region};
    items.iter().any(|item| match item {
        Item::Op(op) => {
            // Areas of the rank's actors would be gone, too.
            let is_others = matches!(op.action, Action::Get { region: Region::Own(_), .. });
            op.target == rank || is_others
        }
        Item::Flush { target, .. } | Item::Increment { target, .. } | Item::ReadEquals { target, .. } => {
            *target == rank
        }
        Item::Locks { locks, items, .. } => {
            locks.iter().any(|lock| lock.target == rank) || targets(items, rank)
        }
        Item::LockAll { items, .. } => targets(items, rank),
        Item::FlushAll { .. } | Item::Sync { .. } | Item::Requests { .. } => false,
    })
}

fn weight(items: &[Item]) -> usize {
    items
        .iter()
        .map(|item| match item {
            Item::Locks { items, .. } | Item::LockAll { items, .. } => 1 + weight(items),
            _ => 1,
        })
        .sum()
}

/// Removes item number `at`, counted with what is inside of others.
fn remove(items: &mut Vec<Item>, at: &mut usize) -> bool {
    for index in 0..items.len() {
        if *at == 0 {
            items.remove(index);
            return true;
        }
        *at -= 1;
        if let Item::Locks { items: inner, .. } | Item::LockAll { items: inner, .. } = &mut items[index]
            && remove(inner, at)
        {
            return true;
        }
    }
    false
}
