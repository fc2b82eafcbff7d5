//! Draws a program.

use super::conflicts::Busy;
use super::makings;
use super::program::{Action, Awaited, Item, Kind, LockPlan, Op, Phase, Program, Region};
use super::windows;
use crate::random::Random;
use rma_core::epoch::LockKind;
use rma_core::kernel::ReduceOp;

mod actions;

/// Draws a program; windows that all ranks map only where all ranks are on one node.
pub(super) fn generate(random: &mut Random, ranks: u32, threads: u32, is_one_node: bool) -> Program {
    let windows = 1 + random.below(2) as usize + usize::from(threads > 1);
    let windows = (0..windows).map(|_| windows::draw(random, ranks, is_one_node)).collect();
    let program = Program { ranks, threads, windows, phases: Vec::new() };
    let mut maker = Maker {
        random,
        program,
        can_flush: false,
        is_locked: false,
        is_crowded: false,
        quiet: Vec::new(),
        busy: Vec::new(),
        takes_turns: false,
        before: Vec::new(),
    };
    for _ in 0..1 + maker.random.below(5) {
        let phases = maker.phases();
        maker.program.phases.extend(phases);
    }
    // With numbers of its own, so that programs are otherwise what they are without this.
    let (mut own, mut program) = (maker.random.clone(), maker.program);
    let rounds = program.phases.iter_mut().flat_map(|phase| &mut phase.rounds);
    rounds.flatten().for_each(|body| nowhere(&mut own, body));
    if own.below(if threads > 1 { 2 } else { 4 }) == 0 {
        // What is made keeps ranks together; tight phases are there to keep them apart.
        for phase in program.phases.iter_mut().filter(|phase| !phase.is_tight) {
            phase.makings = phase.rounds.iter().map(|_| makings::draw(&mut own, ranks, threads)).collect();
        }
    }
    program
}

/// Lets some operations be followed by their like to no process.
fn nowhere(random: &mut Random, items: &mut Vec<Item>) {
    let drawn = std::mem::take(items);
    for mut item in drawn {
        if let Item::Locks { items: inner, .. } | Item::LockAll { items: inner, .. } = &mut item {
            nowhere(random, inner);
        }
        let like = match &item {
            Item::Op(op) if random.below(8) == 0 => Some(Item::Nowhere(*op)),
            _ => None,
        };
        items.push(item);
        items.extend(like);
    }
}

struct Maker<'a> {
    random: &'a mut Random,
    program: Program,
    /// The epoch being made is one of flush and requests.
    can_flush: bool,
    /// It is one of single locks.
    is_locked: bool,
    /// Epochs of this round are short, and most are of the first ranks.
    is_crowded: bool,
    /// Actors that do not put in this round.
    quiet: Vec<bool>,
    busy: Vec<Busy>,
    /// Rounds of this phase are short: locks without checks, and then locks that are kept, by turns.
    takes_turns: bool,
    /// How windows were locked in the round before.
    before: Vec<Locking>,
}

impl Maker<'_> {
    fn below(&mut self, limit: u32) -> u32 {
        self.random.below(limit.into()) as u32
    }

    fn window(&mut self) -> usize {
        self.random.below(self.program.windows.len() as u64) as usize
    }

    /// One phase, now and then behind a fence that is not waited for.
    fn phases(&mut self) -> Vec<Phase> {
        if self.random.below(4) > 0 {
            return vec![self.phase()];
        }
        let window = self.window();
        let behind = Phase { is_tight: true, stores: 0, ..self.phase_on(window) };
        // A complete call does not wait for what it completes at the target. Post and fence do, locks do not.
        let waits = matches!(behind.kind, Kind::Fence { .. } | Kind::Active { .. });
        let rounds = vec![vec![Vec::new(); self.program.actors() as usize]];
        let is_tight = waits && self.random.coin();
        let ahead = Phase {
            kind: Kind::FenceAhead { window },
            rounds,
            makings: Vec::new(),
            looks: vec![false],
            stores: 0,
            is_tight,
        };
        vec![ahead, behind]
    }

    fn phase(&mut self) -> Phase {
        let window = self.window();
        self.phase_on(window)
    }

    fn phase_on(&mut self, window: usize) -> Phase {
        let stores = if self.random.coin() { 1 + self.random.below(1 << 40) } else { 0 };
        let count = 1 + self.random.below(4) as usize;
        let ranks = self.program.ranks;
        let kind = match self.random.below(8) {
            0 | 1 => Kind::Fence { window, no_precede: self.random.coin(), no_succeed: self.random.coin() },
            2 => Kind::LockAll { window, is_unchecked: self.random.below(4) == 0 },
            3 | 4 => Kind::Active {
                window,
                edges: (0..count).map(|_| (0..ranks * ranks).map(|_| self.random.coin()).collect()).collect(),
                no_check: self.random.below(4) == 0,
            },
            _ => Kind::Passive,
        };
        self.takes_turns = kind == Kind::Passive && self.random.below(3) == 0;
        let count = if self.takes_turns { 6 + 2 * count } else { count };
        let rounds = (0..count).map(|at| self.round(&kind, at)).collect();
        let looks = (0..count).map(|_| self.random.coin()).collect();
        Phase { kind, rounds, makings: Vec::new(), looks, stores, is_tight: false }
    }

    fn round(&mut self, kind: &Kind, at: usize) -> Vec<Vec<Item>> {
        let actors = self.program.actors();
        self.quiet = (0..actors).map(|_| self.random.below(3) == 0).collect();
        self.busy = (0..actors).map(|_| Busy::default()).collect();
        self.is_crowded = self.random.below(3) == 0 || ranks_of_crowds(&self.program) && self.random.coin();
        let lockers = self.lockers(at);
        self.before.clone_from(&lockers);
        (0..actors).map(|actor| self.body(kind, at, actor, &lockers)).collect()
    }

    /// How windows are locked in a passive round.
    fn lockers(&mut self, round: usize) -> Vec<Locking> {
        let count = self.program.windows.len();
        if self.takes_turns {
            let locking = if round.is_multiple_of(2) { Locking::Unchecked } else { Locking::Contended };
            return vec![locking; count];
        }
        if round > 0 && (self.before[0] == Locking::Unchecked || self.random.coin()) {
            // Locks that the round before has not kept, or has given back twice, are missed now.
            return vec![Locking::Contended; count];
        }
        if !self.is_crowded && self.random.below(3) == 0 {
            return vec![Locking::Unchecked; count];
        }
        let kinds =
            [Locking::Single, Locking::Single, Locking::Unchecked, Locking::All, Locking::AllUnchecked];
        if self.is_crowded && self.random.below(3) > 0 {
            // Some hold the locks of several ranks, or will, and others wait for one.
            let locking = self.random.pick(&[Locking::All, Locking::All, Locking::Crossing]);
            return vec![locking; count];
        }
        (0..self.program.windows.len()).map(|_| self.random.pick(&kinds)).collect()
    }

    fn body(&mut self, kind: &Kind, at: usize, actor: u32, lockers: &[Locking]) -> Vec<Item> {
        let mut items = Vec::new();
        let ranks = self.program.ranks;
        match kind {
            Kind::Fence { window, .. } => {
                self.can_flush = false;
                self.operations(actor, *window, &(0..ranks).collect::<Vec<_>>(), 9, &mut items);
            }
            Kind::LockAll { window, .. } => {
                (self.can_flush, self.is_locked) = (true, false);
                self.operations(actor, *window, &(0..ranks).collect::<Vec<_>>(), 9, &mut items);
                self.wait(&mut items);
            }
            Kind::Active { window, edges, .. } => {
                self.can_flush = false;
                let me = actor / self.program.threads;
                let targets =
                    (0..ranks).filter(|target| edges[at][(me * ranks + target) as usize]).collect::<Vec<_>>();
                self.operations(actor, *window, &targets, 9, &mut items);
            }
            Kind::FenceAhead { .. } => {}
            Kind::Passive => {
                self.can_flush = true;
                let most = if self.is_crowded { 9 } else { 5 };
                let count = match (self.takes_turns, at % 2) {
                    (false, _) => 1 + self.random.below(most),
                    (true, 0) => 0,
                    (true, _) => 1 + self.random.below(2),
                };
                for _ in 0..count {
                    let window = self.window();
                    self.epoch(actor, window, lockers[window], &mut items);
                }
                let window = self.window();
                match lockers[window] {
                    Locking::Single if self.random.coin() => self.last_word(actor, window, &mut items),
                    Locking::Unchecked if self.takes_turns || self.random.coin() => {
                        self.forgotten(actor, window, &mut items)
                    }
                    _ => {}
                }
            }
        }
        items
    }

    /// A passive epoch of one actor.
    fn epoch(&mut self, actor: u32, window: usize, locking: Locking, items: &mut Vec<Item>) {
        let (ranks, threads) = (self.program.ranks, self.program.threads);
        let thread = actor % threads;
        if locking == Locking::Contended {
            return self.contended(window, items);
        }
        if matches!(locking, Locking::All | Locking::AllUnchecked | Locking::Crossing) {
            // One epoch of lock_all at a time: the window is one thread's.
            if thread != window as u32 % threads {
                return;
            }
            if locking == Locking::Crossing {
                self.crossing(window, items);
                return;
            }
            // No actor waits for a lock while it holds an exclusive one.
            if locking == Locking::All && self.random.below(if self.is_crowded { 2 } else { 3 }) == 0 {
                let target = self.crowded();
                if self.is_crowded && self.random.coin() {
                    items.push(briefly(window, target, LockKind::Exclusive));
                } else {
                    self.locked(actor, window, &[target], false, items);
                }
                return;
            }
            let mut inner = Vec::new();
            self.is_locked = false;
            if self.is_crowded {
                self.in_turn(actor, window, &mut inner);
            } else {
                self.operations(actor, window, &(0..ranks).collect::<Vec<_>>(), 9, &mut inner);
            }
            self.wait(&mut inner);
            items.push(Item::LockAll {
                window,
                is_unchecked: locking == Locking::AllUnchecked,
                items: inner,
            });
            return;
        }
        // Several locks are taken in ascending order, so that programs have no deadlock of their own, also where the threads of
        // a rank wait for each other, since a rank is locked by one of them at a time.
        let first = self.crowded();
        let is_nested = !self.is_crowded || locking == Locking::Unchecked;
        let count = if is_nested { 1 + self.random.below(3) as usize } else { 1 };
        let mut targets = vec![first];
        targets.extend((first + 1..ranks).filter(|_| self.random.below(3) > 0));
        targets.truncate(count);
        self.locked(actor, window, &targets, locking == Locking::Unchecked, items);
    }

    /// The equal numbers of one of the first two ranks, changed or read.
    fn contended(&mut self, window: usize, items: &mut Vec<Item>) {
        let target = self.below(2);
        let (kind, item) = match self.random.below(3) {
            0 => (LockKind::Shared, Item::ReadEquals { window, target }),
            _ => (LockKind::Exclusive, Item::Increment { window, target }),
        };
        let locks = vec![LockPlan { target, kind, is_unchecked: false }];
        items.push(Item::Locks { window, locks, items: vec![item], seed: 0 });
    }

    /// Shared locks of the first two ranks in either order, or one exclusive lock: an actor that holds one
    /// lock and asks for another must not wait for those that wait for what it holds.
    fn crossing(&mut self, window: usize, items: &mut Vec<Item>) {
        let (first, second) = if self.random.coin() { (0, 1) } else { (1, 0) };
        if self.random.below(5) < 2 {
            items.push(briefly(window, first, LockKind::Exclusive));
            return;
        }
        let Item::Locks { locks, items: mut inner, .. } = briefly(window, first, LockKind::Shared) else {
            unreachable!("an epoch of locks")
        };
        inner.push(Item::Flush { window, target: first, is_local: false });
        inner.push(briefly(window, second, LockKind::Shared));
        items.push(Item::Locks { window, locks, items: inner, seed: self.random.next() });
    }

    /// Stores under an exclusive lock, so that the actor is over as soon as the lock is released.
    fn last_word(&mut self, actor: u32, window: usize, items: &mut Vec<Item>) {
        let target = self.below(self.program.ranks);
        let mut inner = Vec::new();
        for _ in 0..3 {
            let region = Region::Ordered(actor);
            let basic = self.program.windows[window].basic;
            let (at, area) = self.area(window, target, region, basic, true);
            let (op, data) = (ReduceOp::Replace, self.random.next());
            let action = Action::Accumulate { region, op, at, area, origin: area, data };
            inner.push(Item::Op(Op { window, target, action, has_request: false }));
        }
        let locks = vec![LockPlan { target, kind: LockKind::Exclusive, is_unchecked: false }];
        items.push(Item::Locks { window, locks, items: inner, seed: 0 });
    }

    /// Two ranks locked without checks, the first of them unlocked last, when its element may be gone, and
    /// then the actor is over: a release that is not waited for is under way when others lock the rank.
    fn forgotten(&mut self, actor: u32, window: usize, items: &mut Vec<Item>) {
        let me = actor / self.program.threads;
        let first = if me < 2 { 1 - me } else { self.below(2) };
        let others = (0..self.program.ranks).filter(|rank| *rank != first && *rank != me).collect::<Vec<_>>();
        let second = if others.is_empty() { me } else { self.random.pick(&others) };
        let mut epoch = Vec::new();
        for target in [second, first] {
            let locks = vec![LockPlan { target, kind: LockKind::Shared, is_unchecked: true }];
            let op = Op { window, target, action: Action::Count, has_request: false };
            let mut inner = vec![Item::Op(op), Item::Flush { window, target, is_local: false }];
            inner.append(&mut epoch);
            epoch.push(Item::Locks { window, locks, items: inner, seed: 0 });
        }
        items.append(&mut epoch);
    }

    /// A rank; where it is crowded, one of the first two.
    fn crowded(&mut self) -> u32 {
        let ranks = self.program.ranks;
        self.below(if self.is_crowded { ranks.min(2) } else { ranks })
    }

    /// Operations on the first ranks in one order or the other, each complete before the next is called.
    fn in_turn(&mut self, actor: u32, window: usize, items: &mut Vec<Item>) {
        let mut targets = [0, 1];
        if self.random.coin() {
            targets.reverse();
        }
        for target in targets {
            items.push(Item::Op(Op { window, target, action: Action::Count, has_request: false }));
            items.push(Item::Flush { window, target, is_local: false });
            self.busy[actor as usize].complete(window, Some(target));
        }
    }

    fn locked(
        &mut self,
        actor: u32,
        window: usize,
        targets: &[u32],
        is_unchecked: bool,
        items: &mut Vec<Item>,
    ) {
        let plan = |random: &mut Random, target: u32| LockPlan {
            target,
            kind: if !is_unchecked && random.below(5) < 2 { LockKind::Exclusive } else { LockKind::Shared },
            is_unchecked: is_unchecked && random.below(4) > 0,
        };
        self.is_locked = true;
        let cut = 1 + self.random.below(targets.len() as u64) as usize;
        let locks = targets[..cut].iter().map(|target| plan(self.random, *target)).collect::<Vec<_>>();
        let mut inner = Vec::new();
        let is_brief = !is_unchecked && self.is_crowded && self.random.coin();
        if is_brief {
            let op = Op { window, target: targets[0], action: Action::Count, has_request: false };
            inner.push(Item::Op(op));
        } else {
            self.operations(actor, window, &targets[..cut], 5, &mut inner);
        }
        if is_unchecked && self.random.coin() {
            // What is complete may be forgotten.
            inner.push(Item::FlushAll { window, is_local: false });
            self.busy[actor as usize].complete(window, None);
        }
        if !is_unchecked && !is_brief {
            let lock = locks[self.random.below(cut as u64) as usize];
            let target = lock.target;
            match (lock.kind, self.random.below(3)) {
                (LockKind::Exclusive, 0 | 1) => inner.push(Item::Increment { window, target }),
                (_, 2) => inner.push(Item::ReadEquals { window, target }),
                _ => {}
            }
        }
        if cut < targets.len() {
            // An epoch within the epoch.
            self.locked(actor, window, &targets[cut..], is_unchecked, &mut inner);
            if self.random.coin() {
                self.operations(actor, window, &targets[..cut], 3, &mut inner);
            }
        }
        self.wait(&mut inner);
        let seed = self.random.next();
        items.push(Item::Locks { window, locks, items: inner, seed });
        for target in &targets[..cut] {
            self.busy[actor as usize].complete(window, Some(*target));
        }
    }

    fn wait(&mut self, items: &mut Vec<Item>) {
        let has_requests = |item: &Item| matches!(item, Item::Op(op) if op.has_request);
        // A request that is not waited for is complete with the epoch, and may be waited for after it.
        if items.iter().any(has_requests) && self.random.below(4) > 0 {
            items.push(self.requests());
        }
    }

    fn requests(&mut self) -> Item {
        let how = self.random.pick(&[Awaited::InTurn, Awaited::All, Awaited::Any, Awaited::Some]);
        Item::Requests { how, seed: self.random.next() }
    }
}

/// How a window is locked in a passive round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Locking {
    /// Ranks one by one.
    Single,
    /// The same, all shared, some without checks.
    Unchecked,
    /// All at once, or one rank and no other.
    All,
    AllUnchecked,
    /// Shared ones in either order, or one that is exclusive.
    Crossing,
    /// The first two ranks, one at a time, for what is wrong if a lock is not kept.
    Contended,
}

/// Whether there are enough ranks that two can hold locks which two others wait for.
fn ranks_of_crowds(program: &Program) -> bool {
    program.ranks >= 4 && program.threads == 1
}

/// A lock for one increment.
fn briefly(window: usize, target: u32, kind: LockKind) -> Item {
    let locks = vec![LockPlan { target, kind, is_unchecked: false }];
    let op = Op { window, target, action: Action::Count, has_request: false };
    Item::Locks { window, locks, items: vec![Item::Op(op)], seed: 0 }
}
