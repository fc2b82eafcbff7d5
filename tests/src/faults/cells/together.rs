//! Cells of calls that several ranks make together: fences, windows that are made and freed, collectives, and messages.

use super::{CALLER, Call, Draft, Victim};
use crate::faults::program::{Collective, FENCED, Part, Step};

impl Draft {
    pub(super) fn fence(&mut self) {
        self.prepare();
        let victim = self.victim();
        let is_member = self.cell.victim != Victim::Other;
        if is_member {
            self.add(victim, Step::Fence);
        }
        for rank in self.members() {
            self.add(rank, Step::Fence);
        }
        let (window, part) = (FENCED, Part { at: 0, len: 9 });
        self.add(CALLER, Step::Put { window, target: self.target, part });
        self.die_when_next_of(CALLER);
        for rank in self.members() {
            match is_member {
                true => self.fails(rank, Step::Fence),
                false => self.add(rank, Step::Fence),
            }
        }
        self.give_back();
    }

    pub(super) fn windows(&mut self) {
        self.prepare();
        let is_free = self.cell.call == Call::Free;
        let create = Step::Create { is_allocated: true, elements: 100 };
        let mut all = self.members();
        if self.cell.victim != Victim::Other {
            all.push(self.victim());
        }
        if is_free {
            all.iter().for_each(|rank| self.add(*rank, create.clone()));
        }
        let step = if is_free { Step::Free } else { create };
        self.in_a_collective(&[step]);
        if !is_free {
            let last = if self.cell.victim == Victim::Other {
                Step::Free
            } else {
                Step::Create { is_allocated: false, elements: 5 }
            };
            self.after_a_collective(last);
        }
        self.give_back();
    }

    pub(super) fn collective(&mut self) {
        self.prepare();
        let step = |kind, elements| Step::Collective { kind, elements };
        let root = self.target;
        let steps = [
            step(Collective::AllReduce, 1),
            step(Collective::AllReduce, 40_000),
            step(Collective::Broadcast { root }, 3000),
            step(Collective::AllGather, 16),
            step(Collective::Barrier, 0),
        ];
        self.in_a_collective(&steps);
        self.after_a_collective(step(Collective::AllReduce, 1));
        self.give_back();
    }

    /// Collective calls that lack the victim, or in the first of which it dies.
    fn in_a_collective(&mut self, steps: &[Step]) {
        let victim = self.victim();
        if self.cell.victim == Victim::Owner {
            self.death = Some((victim, self.next(victim)));
            self.add(victim, steps[0].clone());
            self.add(victim, Step::AwaitDeath { rank: victim });
        } else {
            self.die_when_next_of(CALLER);
        }
        for step in steps {
            for rank in self.members() {
                match self.cell.victim {
                    Victim::Target | Victim::Holder => self.fails(rank, step.clone()),
                    Victim::Other | Victim::Owner => self.add(rank, step.clone()),
                }
            }
        }
    }

    /// One more, after the death.
    fn after_a_collective(&mut self, step: Step) {
        let victim = self.victim();
        for rank in self.members() {
            self.add(rank, Step::AwaitDeath { rank: victim });
            match self.cell.victim {
                Victim::Other => self.add(rank, step.clone()),
                _ => self.fails(rank, step.clone()),
            }
        }
    }

    pub(super) fn message(&mut self) {
        let (target, third) = (self.target, self.third);
        let exchange = |to, from| Step::Exchange { to, from, elements: 20_000, tag: 7 };
        self.prepare();
        self.die_when_next_of(CALLER);
        match self.cell.victim {
            Victim::Target => self.fails(CALLER, exchange(target, target)),
            // What is to come from the dead never does; what goes to the living arrives.
            Victim::Owner => {
                self.fails(CALLER, exchange(third, target));
                self.add(third, exchange(target, CALLER));
            }
            Victim::Other => {
                let ring = [CALLER, target, third];
                for at in 0..3 {
                    self.add(ring[at], exchange(ring[(at + 1) % 3], ring[(at + 2) % 3]));
                }
            }
            Victim::Holder => {
                self.add(CALLER, exchange(target, target));
                self.add(target, exchange(CALLER, CALLER));
            }
        }
        self.give_back();
    }
}
