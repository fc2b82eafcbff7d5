//! Makes a failing program small: takes subtrees out as long as what is left still fails, then makes the rest plain.
//!
//! Large parts are tried first: phases, rounds, bodies, halves of them, then epochs and single items, then locks of several
//! ranks and what operations are ([`plain`]), windows, ranks and threads, and settings. What is left is judged anew each time,
//! because the outcome is no part of a program; what would not be a legal program is not tried.

use super::conflicts::are_legal;
use super::makings::Making;
use super::plan::Plan;
use super::program::{Item, Kind, Program};

/// Most runs spent on one program.
const MOST_RUNS: u32 = 3000;

mod plain;

struct Minimiser {
    best: Plan,
    symptom: &'static str,
    runs: u32,
    /// Changes that were taken over.
    taken: u32,
}

/// What kind of failure it is: a smaller program that fails for another reason explains nothing.
fn symptom(cause: &str) -> &'static str {
    const SYMPTOMS: [&str; 4] = ["no rank comes further", "invariant:", "must be", "lock of rank"];
    SYMPTOMS.into_iter().find(|symptom| cause.contains(symptom)).unwrap_or("another")
}

/// A smaller plan that fails too, in the same way.
pub fn minimise(plan: &Plan) -> Plan {
    let Some(symptom) = plan.simulate().err().map(|cause| symptom(&cause)) else { return plan.clone() };
    let mut minimiser = Minimiser { best: plan.clone(), symptom, runs: 0, taken: 0 };
    loop {
        let before = minimiser.taken;
        minimiser.pauses();
        minimiser.phases();
        minimiser.rounds();
        minimiser.makings();
        minimiser.bodies();
        minimiser.halves();
        minimiser.items();
        minimiser.plain();
        minimiser.ranks();
        minimiser.windows();
        if minimiser.taken == before || minimiser.runs >= MOST_RUNS {
            minimiser.settings();
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
        let fails = plan.simulate().is_err_and(|cause| symptom(&cause) == self.symptom);
        if fails {
            (self.best, self.taken) = (plan, self.taken + 1);
        }
        fails
    }

    fn pauses(&mut self) {
        for plan in self.best.quieter() {
            self.attempt_plan(plan);
        }
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
            if self.best.program.phases[phase].stores != 0 {
                self.attempt(|program| program.phases[phase].stores = 0);
            }
            for at in 0..self.best.program.phases[phase].looks.len() {
                if self.best.program.phases[phase].looks[at] {
                    self.attempt(|program| program.phases[phase].looks[at] = false);
                }
            }
            for at in (0..self.best.program.phases[phase].rounds.len()).rev() {
                if self.best.program.phases[phase].rounds.len() > 1 {
                    self.attempt(|program| {
                        let phase = &mut program.phases[phase];
                        phase.rounds.remove(at);
                        phase.looks.remove(at);
                        if at < phase.makings.len() {
                            phase.makings.remove(at);
                        }
                        if let Kind::Active { edges, .. } = &mut phase.kind {
                            edges.remove(at);
                        }
                    });
                }
            }
        }
    }

    /// What is made, all of it, then one by one.
    fn makings(&mut self) {
        self.attempt(|program| program.phases.iter_mut().for_each(|phase| phase.makings.clear()));
        let places = |program: &Program| {
            let mut places = Vec::new();
            for (phase, of) in program.phases.iter().enumerate() {
                for (round, threads) in of.makings.iter().enumerate() {
                    for (thread, makings) in threads.iter().enumerate() {
                        places.extend((0..makings.len()).map(|at| (phase, round, thread, at)));
                    }
                }
            }
            places
        };
        for (phase, round, thread, at) in places(&self.best.program).into_iter().rev() {
            self.attempt(|program| {
                program.phases[phase].makings[round][thread].remove(at);
            });
        }
    }

    fn bodies(&mut self) {
        for (phase, round, actor) in self.places() {
            self.attempt(|program| program.phases[phase].rounds[round][actor].clear());
        }
    }

    /// Takes out halves of bodies, quarters, and so on, down to two items.
    fn halves(&mut self) {
        for (phase, round, actor) in self.places() {
            let mut len = self.best.program.phases[phase].rounds[round][actor].len().div_ceil(2);
            while len > 1 {
                let count = self.best.program.phases[phase].rounds[round][actor].len();
                for start in (0..count).step_by(len).rev() {
                    self.attempt(|program| {
                        let body = &mut program.phases[phase].rounds[round][actor];
                        body.drain(start..(start + len).min(body.len()));
                    });
                }
                len = len.div_ceil(2).min(len - 1);
            }
        }
    }

    /// Every body that is not empty: phase, round and actor.
    fn places(&self) -> Vec<(usize, usize, usize)> {
        let mut places = Vec::new();
        for (phase, of) in self.best.program.phases.iter().enumerate() {
            for (round, bodies) in of.rounds.iter().enumerate() {
                let used = bodies.iter().enumerate().filter(|(_, body)| !body.is_empty());
                places.extend(used.map(|(actor, _)| (phase, round, actor)));
            }
        }
        places
    }

    fn items(&mut self) {
        for (phase, round, actor) in self.places() {
            let count = weight(&self.best.program.phases[phase].rounds[round][actor]);
            for at in (0..count).rev() {
                self.attempt(|program| {
                    let mut at = at;
                    remove(&mut program.phases[phase].rounds[round][actor], &mut at);
                });
            }
        }
    }

    /// Takes the last rank away as long as it is not needed.
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
        for making in phase.makings.iter_mut().flatten().flatten() {
            if let Making::Create { members, .. } = making {
                *members &= (1 << last) - 1;
            }
        }
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
        Item::Op(op) | Item::Nowhere(op) => {
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
