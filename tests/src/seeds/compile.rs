//! From the tree to what each actor does step by step, with what every step must bring: the oracle's half that needs no run.
//!
//! Memory is modelled as bytes, round by round: what an actor accesses in its own regions is followed in
//! order; what it reads of others does not change in a round. Regions that many actors change at once are
//! judged after the run: by their final value when the operation commutes, else by [`super::chains`].

use super::makings::Making;
use super::operations::{Prepared, prepare, prepare_nowhere};
use super::program::{
    Awaited, EQUALS, Flavor, Item, Kind, LockPlan, Op, Phase, Program, Region, STORES, WindowPlan,
};
use crate::random::Random;
use rma_core::epoch::Assert;
use std::sync::Arc;

/// A step of an actor.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // the calls of the engine, and what belongs to tests
pub enum Step {
    Fence {
        window: usize,
        assert: Assert,
    },
    /// Waits until no other thread of the rank has reserved one of these, and reserves them, each until its
    /// unlock: a rank is locked by one thread at a time, and no thread waits for another of its rank while it
    /// holds a lock.
    Reserve {
        window: usize,
        targets: Vec<u32>,
    },
    Lock {
        window: usize,
        lock: LockPlan,
    },
    Unlock {
        window: usize,
        target: u32,
    },
    LockAll {
        window: usize,
        assert: Assert,
    },
    UnlockAll {
        window: usize,
    },
    Flush {
        window: usize,
        target: u32,
        is_local: bool,
    },
    FlushAll {
        window: usize,
        is_local: bool,
    },
    Sync {
        window: usize,
    },
    Post {
        window: usize,
        group: Vec<u32>,
        assert: Assert,
    },
    Start {
        window: usize,
        group: Vec<u32>,
        assert: Assert,
    },
    Complete {
        window: usize,
    },
    /// Wait, or test again and again.
    Wait {
        window: usize,
        is_test: bool,
    },
    Operate(Arc<Prepared>),
    Requests {
        how: Awaited,
        seed: u64,
    },
    /// Puts what the equal numbers that were got last should become.
    PutEquals {
        window: usize,
        target: u32,
    },
    /// All actors of the rank are here.
    Team,
    /// All actors of the job are here; costs nothing, and nothing is waited for that is under way.
    Meet,
    /// Tells all observers that the actor's epochs are over, by a message that is there at once.
    Tell {
        round: u32,
    },
    /// Waits for what an actor tells, and looks at once.
    Hear {
        round: u32,
        actor: u32,
        window: usize,
        parts: Arc<Vec<(u64, Vec<u8>)>>,
    },
    /// The host's barrier, by one actor of each rank.
    Barrier,
    /// Stores to the own window memory.
    Store {
        window: usize,
        at: u64,
        bytes: Vec<u8>,
    },
    /// Own window memory must be this, by byte ranges.
    Look {
        window: usize,
        parts: Arc<Vec<(u64, Vec<u8>)>>,
    },
    /// Memory of another rank that is mapped here must hold this.
    Load {
        window: usize,
        target: u32,
        at: u64,
        bytes: Vec<u8>,
    },
    /// Creates, frees or duplicates, with the same thread of the other ranks.
    Make(Making),
    /// Frees what is left of that.
    ClearMakings,
    /// Attaches the memory of a dynamic window, cut into so many pieces; detaches it before.
    Attach {
        window: usize,
        pieces: u64,
    },
}

/// What every actor does, and what must be the case at the end.
#[derive(Debug)]
pub struct Compiled {
    /// By actor, and behind them one observer for each rank, which only looks at its memory.
    pub steps: Vec<Vec<Step>>,
    /// Increments of the counter by window and rank.
    pub counts: Vec<Vec<u64>>,
}

pub(super) struct Compiler<'a> {
    pub(super) program: &'a Program,
    /// Bytes by window and rank.
    pub(super) memory: Vec<Vec<Vec<u8>>>,
    /// As they were when the round began.
    pub(super) before: Vec<Vec<Vec<u8>>>,
    pub(super) counts: Vec<Vec<u64>>,
    steps: Vec<Vec<Step>>,
    /// Rounds so far.
    pub(super) round: u32,
    /// Operations so far.
    pub(super) number: u32,
    /// In an epoch of locks.
    is_inside: bool,
}

/// Works out steps and outcome.
pub fn compile(program: &Program) -> Compiled {
    let actors = program.actors();
    let windows = || program.windows.iter();
    let memory = windows().map(|window| vec![vec![0; window.used(actors) as usize]; program.ranks as usize]);
    let memory = memory.collect::<Vec<_>>();
    let mut compiler = Compiler {
        program,
        before: memory.clone(),
        memory,
        counts: windows().map(|_| vec![0; program.ranks as usize]).collect(),
        steps: vec![Vec::new(); (actors + program.ranks) as usize],
        round: 0,
        number: 0,
        is_inside: false,
    };
    for (at, phase) in program.phases.iter().enumerate() {
        compiler.phase(at, phase);
    }
    (0..actors).for_each(|actor| compiler.step(actor, Step::ClearMakings));
    compiler.all(Step::Meet);
    compiler.look();
    Compiled { steps: compiler.steps, counts: compiler.counts }
}

impl Compiler<'_> {
    fn phase(&mut self, number: usize, phase: &Phase) {
        // The first phase is the one that attaches memory.
        if phase.is_tight && number > 0 {
            return self.rounds(phase);
        }
        self.all(Step::Meet);
        if number % 2 == 1 {
            self.heads(|_| Step::Barrier);
        }
        for (window, plan) in self.program.windows.iter().enumerate() {
            if plan.flavor == Flavor::Dynamic {
                self.heads(|_| Step::Attach { window, pieces: 1 + number as u64 % 3 });
            }
        }
        self.all(Step::Meet);
        self.rounds(phase);
    }

    fn rounds(&mut self, phase: &Phase) {
        let last = phase.rounds.len() - 1;
        for (at, bodies) in phase.rounds.iter().enumerate() {
            self.stores(phase, at);
            self.open(phase, at);
            self.before.clone_from(&self.memory);
            self.teams();
            for (actor, body) in bodies.iter().enumerate() {
                let makings =
                    phase.makings.get(at).map_or(&[][..], |threads| &threads[actor % threads.len()]);
                self.body_with(actor as u32, body, makings);
            }
            if phase.kind == Kind::Passive {
                self.observe(bodies);
            }
            self.teams();
            self.close(phase, at, at == last);
            self.round += 1;
            if phase.looks[at] {
                self.look();
                self.all(Step::Meet);
            }
        }
    }

    /// The owners store to their own memory, where no epoch is open that others could access it in.
    fn stores(&mut self, phase: &Phase, at: usize) {
        // Rounds of active epochs end with wait; then the memory is not accessed until the owner posts.
        let is_first = at == 0 && !phase.is_tight;
        let has_met = is_first || (at > 0 && phase.looks[at - 1]);
        let is_alone = match phase.kind {
            Kind::Active { .. } => true,
            Kind::Passive => has_met,
            Kind::Fence { .. } | Kind::LockAll { .. } | Kind::FenceAhead { .. } => is_first,
        };
        if phase.stores == 0 || !is_alone {
            return;
        }
        let mut random = Random::new(phase.stores + at as u64);
        for window in 0..self.program.windows.len() {
            let (start, len) = self.program.windows[window].place(Region::Stores, self.program.actors());
            for rank in 0..self.program.ranks {
                let bytes = (0..STORES).flat_map(|_| random.next().to_ne_bytes()).collect::<Vec<_>>();
                self.memory[window][rank as usize][start as usize..(start + len) as usize]
                    .copy_from_slice(&bytes);
                self.head(rank, Step::Store { window, at: start, bytes });
            }
        }
        if !matches!(phase.kind, Kind::Fence { .. } | Kind::Active { .. }) {
            // Passive epochs of others do not wait for this rank. A rank that only stores tells the others by a message.
            self.all(Step::Meet);
        }
        let is_shared = |plan: &WindowPlan| matches!(plan.flavor, Flavor::Shared { .. });
        if has_met && self.program.windows.iter().any(is_shared) {
            self.all(Step::Meet);
            self.loads(&mut random);
            self.all(Step::Meet);
        }
    }

    /// Loads of what others have stored, where memory is mapped.
    fn loads(&mut self, random: &mut Random) {
        for (window, plan) in self.program.windows.iter().enumerate() {
            if !matches!(plan.flavor, Flavor::Shared { .. }) {
                continue;
            }
            let (start, len) = plan.place(Region::Stores, self.program.actors());
            for rank in 0..self.program.ranks {
                let target = random.below(self.program.ranks.into()) as u32;
                let bytes =
                    self.memory[window][target as usize][start as usize..(start + len) as usize].to_vec();
                self.head(rank, Step::Load { window, target, at: start, bytes });
            }
        }
    }

    fn open(&mut self, phase: &Phase, at: usize) {
        match &phase.kind {
            Kind::Fence { window, no_precede, .. } if at == 0 => {
                let assert = if *no_precede { Assert::NO_PRECEDE } else { Assert::NONE };
                self.heads(|_| Step::Fence { window: *window, assert });
            }
            Kind::LockAll { window, is_unchecked } if at == 0 => {
                let assert = if *is_unchecked { Assert::NO_CHECK } else { Assert::NONE };
                self.heads(|_| Step::LockAll { window: *window, assert });
            }
            Kind::Active { window, edges, no_check } => {
                let (ranks, edges) = (self.program.ranks, &edges[at]);
                let edge = |origin: u32, target: u32| edges[(origin * ranks + target) as usize];
                let assert = if *no_check { Assert::NO_CHECK } else { Assert::NONE };
                for me in 0..ranks {
                    let origins = (0..ranks).filter(|origin| edge(*origin, me)).collect::<Vec<_>>();
                    let group = (0..ranks).filter(|target| edge(me, *target)).collect();
                    if !origins.is_empty() || (me + at as u32).is_multiple_of(2) {
                        // No-store and no-put would be promises that rounds do not keep.
                        self.head(me, Step::Post { window: *window, group: origins, assert });
                    }
                    if *no_check {
                        self.team(me, Step::Meet);
                    }
                    self.head(me, Step::Start { window: *window, group, assert });
                }
            }
            Kind::FenceAhead { window } => {
                self.heads(|_| Step::Fence { window: *window, assert: Assert::NO_PRECEDE });
            }
            Kind::Fence { .. } | Kind::LockAll { .. } | Kind::Passive => {}
        }
    }

    fn close(&mut self, phase: &Phase, at: usize, is_last: bool) {
        match &phase.kind {
            Kind::Fence { window, no_succeed, .. } => {
                let assert = if is_last && *no_succeed { Assert::NO_SUCCEED } else { Assert::NONE };
                self.heads(|_| Step::Fence { window: *window, assert });
            }
            Kind::LockAll { window, .. } if is_last => {
                self.heads(|_| Step::UnlockAll { window: *window });
                self.all(Step::Meet);
            }
            Kind::LockAll { window, .. } => {
                self.heads(|_| Step::FlushAll { window: *window, is_local: false });
                self.all(Step::Meet);
                self.heads(|_| Step::Sync { window: *window });
            }
            Kind::Active { window, edges, .. } => {
                let ranks = self.program.ranks;
                for me in 0..ranks {
                    self.head(me, Step::Complete { window: *window });
                    let is_exposed = (0..ranks).any(|origin| edges[at][(origin * ranks + me) as usize])
                        || (me + at as u32).is_multiple_of(2);
                    if is_exposed {
                        self.head(
                            me,
                            Step::Wait { window: *window, is_test: (at as u32 + me).is_multiple_of(3) },
                        );
                    }
                }
            }
            Kind::Passive => self.all(Step::Meet),
            Kind::FenceAhead { .. } => {}
        }
    }

    /// What an actor has done is there for every actor that it tells when its epochs are over.
    fn observe(&mut self, bodies: &[Vec<Item>]) {
        let (round, actors) = (self.round, self.program.actors());
        for actor in (0..actors).filter(|actor| !bodies[*actor as usize].is_empty()) {
            self.step(actor, Step::Tell { round });
            for (window, plan) in self.program.windows.iter().enumerate() {
                for rank in 0..self.program.ranks {
                    let memory = &self.memory[window][rank as usize];
                    let parts = [Region::Own(actor), Region::Ordered(actor)].map(|region| {
                        let (start, len) = plan.place(region, actors);
                        (start, memory[start as usize..(start + len) as usize].to_vec())
                    });
                    let parts = Arc::new(parts.to_vec());
                    self.steps[(actors + rank) as usize].push(Step::Hear { round, actor, window, parts });
                }
            }
        }
    }

    /// Each rank looks at its own memory, but for what is judged after the run.
    fn look(&mut self) {
        let actors = self.program.actors();
        for (window, plan) in self.program.windows.iter().enumerate() {
            for rank in 0..self.program.ranks {
                let memory = &self.memory[window][rank as usize];
                let fixed = [Region::Equals, Region::Stores, Region::Shared, Region::Counter].into_iter();
                let fixed =
                    fixed.chain((0..actors).flat_map(|actor| [Region::Own(actor), Region::Ordered(actor)]));
                let parts = fixed.map(|region| {
                    let (start, len) = plan.place(region, actors);
                    (start, memory[start as usize..(start + len) as usize].to_vec())
                });
                let parts = Arc::new(parts.collect());
                self.steps[(rank * self.program.threads) as usize].push(Step::Look { window, parts });
            }
        }
    }

    /// A body, and what the actor makes meanwhile, between epochs of its own.
    fn body_with(&mut self, actor: u32, items: &[Item], makings: &[Making]) {
        let mut begin = 0;
        for (at, making) in makings.iter().enumerate() {
            let end = items.len() * at / makings.len();
            self.body(actor, &items[begin..end]);
            self.step(actor, Step::Make(*making));
            begin = end;
        }
        self.body(actor, &items[begin..]);
    }

    fn body(&mut self, actor: u32, items: &[Item]) {
        for item in items {
            match item {
                Item::Op(op) => self.operation(actor, op),
                Item::Nowhere(op) => {
                    let prepared = prepare_nowhere(self, actor, op);
                    self.step(actor, Step::Operate(Arc::new(prepared)));
                }
                Item::Flush { window, target, is_local } => {
                    let (window, target, is_local) = (*window, *target, *is_local);
                    self.step(actor, Step::Flush { window, target, is_local });
                }
                Item::FlushAll { window, is_local } => {
                    self.step(actor, Step::FlushAll { window: *window, is_local: *is_local });
                }
                Item::Sync { window } => self.step(actor, Step::Sync { window: *window }),
                Item::Requests { how, seed } => {
                    self.step(actor, Step::Requests { how: *how, seed: *seed });
                }
                Item::Increment { window, target } => {
                    self.get_equals(actor, *window, *target);
                    let is_local = self.number.is_multiple_of(2);
                    self.step(actor, Step::Flush { window: *window, target: *target, is_local });
                    self.step(actor, Step::PutEquals { window: *window, target: *target });
                    let (start, _) =
                        self.program.windows[*window].place(Region::Equals, self.program.actors());
                    let memory = &mut self.memory[*window][*target as usize];
                    for word in memory[start as usize..(start + EQUALS * 8) as usize].chunks_exact_mut(8) {
                        let next = u64::from_ne_bytes((&*word).try_into().expect("eight bytes")) + 1;
                        word.copy_from_slice(&next.to_ne_bytes());
                    }
                    // The next increment in this epoch gets what this one puts.
                    self.step(actor, Step::Flush { window: *window, target: *target, is_local: false });
                }
                Item::ReadEquals { window, target } => self.get_equals(actor, *window, *target),
                Item::Locks { window, locks, items, seed } => {
                    if !std::mem::replace(&mut self.is_inside, true) {
                        let targets = item.locked();
                        self.step(actor, Step::Reserve { window: *window, targets });
                        self.body(actor, std::slice::from_ref(item));
                        self.is_inside = false;
                        continue;
                    }
                    // Items are done as soon as the last lock is held; a lock call in between would only wait for them.
                    for lock in locks {
                        self.step(actor, Step::Lock { window: *window, lock: *lock });
                    }
                    self.body(actor, items);
                    let mut random = Random::new(*seed);
                    let mut held = locks.iter().map(|lock| lock.target).collect::<Vec<_>>();
                    while !held.is_empty() {
                        let target = held.swap_remove(random.below(held.len() as u64) as usize);
                        self.step(actor, Step::Unlock { window: *window, target });
                    }
                }
                Item::LockAll { window, is_unchecked, items } => {
                    let assert = if *is_unchecked { Assert::NO_CHECK } else { Assert::NONE };
                    self.step(actor, Step::LockAll { window: *window, assert });
                    self.body(actor, items);
                    self.step(actor, Step::UnlockAll { window: *window });
                }
            }
        }
    }

    fn get_equals(&mut self, actor: u32, window: usize, target: u32) {
        let prepared = super::operations::equals(self, window, target);
        self.step(actor, Step::Operate(Arc::new(prepared)));
    }

    fn operation(&mut self, actor: u32, op: &Op) {
        let prepared = prepare(self, actor, op);
        self.step(actor, Step::Operate(Arc::new(prepared)));
    }

    fn step(&mut self, actor: u32, step: Step) {
        self.steps[actor as usize].push(step);
    }

    fn all(&mut self, step: Step) {
        self.steps.iter_mut().for_each(|steps| steps.push(step.clone()));
    }

    /// The actors of each rank meet.
    fn teams(&mut self) {
        let actors = self.program.actors() as usize;
        self.steps[..actors].iter_mut().for_each(|steps| steps.push(Step::Team));
    }

    /// A step of all actors of a rank, and its observer.
    fn team(&mut self, rank: u32, step: Step) {
        self.step(self.program.actors() + rank, step.clone());
        for thread in 0..self.program.threads {
            self.step(rank * self.program.threads + thread, step.clone());
        }
    }

    /// A step of the first actor of each rank.
    fn heads(&mut self, step: impl Fn(u32) -> Step) {
        (0..self.program.ranks).for_each(|rank| self.head(rank, step(rank)));
    }

    fn head(&mut self, rank: u32, step: Step) {
        self.step(rank * self.program.threads, step);
    }
}
