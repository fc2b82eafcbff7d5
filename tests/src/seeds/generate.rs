//! Draws a program.

use super::calls::{can_be_swapped, is_defined};
use super::conflicts::Busy;
use super::operations::base_of;
use super::program::{Action, CELLS, Item, Kind, LockPlan, Op, Phase, Program, Region, STORES, Shape};
use super::values::operations_on;
use super::windows;
use crate::random::Random;
use rma_core::datatype::BasicType;
use rma_core::epoch::LockKind;
use rma_core::kernel::ReduceOp;

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
    };
    for _ in 0..1 + maker.random.below(5) {
        let phases = maker.phases();
        maker.program.phases.extend(phases);
    }
    maker.program
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
}

impl Maker<'_> {
    fn below(&mut self, limit: u32) -> u32 {
        self.random.below(limit.into()) as u32
    }

    fn window(&mut self) -> usize {
        self.random.below(self.program.windows.len() as u64) as usize
    }

    /// One phase, now and then behind a fence that nobody waits for.
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
        let ahead =
            Phase { kind: Kind::FenceAhead { window }, rounds, looks: vec![false], stores: 0, is_tight };
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
        let count = if kind == Kind::Passive { 1 } else { count };
        let rounds = (0..count).map(|at| self.round(&kind, at)).collect();
        let looks = (0..count).map(|_| self.random.coin()).collect();
        Phase { kind, rounds, looks, stores, is_tight: false }
    }

    fn round(&mut self, kind: &Kind, at: usize) -> Vec<Vec<Item>> {
        let actors = self.program.actors();
        self.quiet = (0..actors).map(|_| self.random.below(3) == 0).collect();
        self.busy = (0..actors).map(|_| Busy::default()).collect();
        self.is_crowded = self.random.below(3) == 0;
        let lockers = self.lockers();
        (0..actors).map(|actor| self.body(kind, at, actor, &lockers)).collect()
    }

    /// How windows are locked in a passive round.
    fn lockers(&mut self) -> Vec<Locking> {
        let kinds =
            [Locking::Single, Locking::Single, Locking::Unchecked, Locking::All, Locking::AllUnchecked];
        if self.is_crowded && self.random.coin() {
            // Some hold the locks of all ranks, or will, and others wait for one.
            return vec![Locking::All; self.program.windows.len()];
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
                let count = 1 + self.random.below(if self.is_crowded { 9 } else { 5 });
                for _ in 0..count {
                    let window = self.window();
                    self.epoch(actor, window, lockers[window], &mut items);
                }
                let window = self.window();
                if lockers[window] == Locking::Single && self.random.coin() {
                    self.last_word(actor, window, &mut items);
                }
            }
        }
        items
    }

    /// A passive epoch of one actor.
    fn epoch(&mut self, actor: u32, window: usize, locking: Locking, items: &mut Vec<Item>) {
        let (ranks, threads) = (self.program.ranks, self.program.threads);
        let thread = actor % threads;
        if matches!(locking, Locking::All | Locking::AllUnchecked) {
            // One epoch of lock_all at a time: the window is one thread's.
            if thread != window as u32 % threads {
                return;
            }
            // Nobody who holds an exclusive lock waits for another.
            if locking == Locking::All && self.random.below(if self.is_crowded { 2 } else { 3 }) == 0 {
                let target = self.crowded();
                self.locked(actor, window, &[target], false, items);
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
        // Several locks are taken in ascending order, so that programs have no deadlock of their own. A rank is locked by one
        // thread of a rank at a time.
        let first = self.crowded();
        let is_nested = !self.is_crowded || locking == Locking::Unchecked;
        let count = if is_nested { 1 + self.random.below(3) as usize } else { 1 };
        let targets =
            (first..ranks).filter(|target| target % threads == thread).take(count).collect::<Vec<_>>();
        if !targets.is_empty() {
            self.locked(actor, window, &targets, locking == Locking::Unchecked, items);
        }
    }

    /// Stores under an exclusive lock, so that the actor is over as soon as the lock is released.
    fn last_word(&mut self, actor: u32, window: usize, items: &mut Vec<Item>) {
        let target = self.below(self.program.ranks);
        if target % self.program.threads != actor % self.program.threads {
            return;
        }
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
        if items.iter().any(has_requests) {
            items.push(Item::Requests { seed: self.random.next() });
        }
    }

    fn operations(&mut self, actor: u32, window: usize, targets: &[u32], most: u64, items: &mut Vec<Item>) {
        if targets.is_empty() {
            return;
        }
        for _ in 0..self.random.below(most + 1) {
            let target = self.random.pick(targets);
            let action = self.action(actor, window, target);
            let is_single = matches!(
                action,
                Action::FetchOp { .. } | Action::CompareSwap { .. } | Action::Count | Action::SwapIf { .. }
            );
            let is_cells = matches!(action, Action::Swap { .. } | Action::Peek { .. });
            let has_request = self.can_flush && !is_single && !is_cells && self.random.below(4) == 0;
            let op = Op { window, target, action, has_request };
            if !self.busy[actor as usize].allows(&op) {
                if !self.can_flush {
                    continue;
                }
                items.push(Item::Flush { window, target, is_local: false });
                self.busy[actor as usize].complete(window, Some(target));
            }
            self.busy[actor as usize].add(&op);
            items.push(Item::Op(op));
            if self.can_flush {
                self.between(actor, window, target, items);
            }
        }
    }

    /// What may come between two operations of a passive epoch.
    fn between(&mut self, actor: u32, window: usize, target: u32, items: &mut Vec<Item>) {
        match self.random.below(16) {
            0 => {
                items.push(Item::Flush { window, target, is_local: false });
                self.busy[actor as usize].complete(window, Some(target));
            }
            1 => items.push(Item::Flush { window, target, is_local: true }),
            // Flush_all waits for what other threads have called, too: for locks that others hold until they have flushed.
            2 if self.program.threads == 1 || !self.is_locked => {
                items.push(Item::FlushAll { window, is_local: false });
                self.busy[actor as usize].complete(window, None);
            }
            3 if self.program.threads == 1 || !self.is_locked => {
                items.push(Item::FlushAll { window, is_local: true });
            }
            4 => items.push(Item::Sync { window }),
            5 => items.push(Item::Requests { seed: self.random.next() }),
            _ => {}
        }
    }

    fn action(&mut self, actor: u32, window: usize, target: u32) -> Action {
        let data = self.random.next();
        match self.random.below(14) {
            0..=2 if !self.quiet[actor as usize] => {
                let region = Region::Own(actor);
                let basic = self.any_basic();
                let (at, area) = self.area(window, target, region, basic, false);
                let origin = self.beside(area);
                Action::Put { region, at, area, origin, data }
            }
            0..=4 => {
                let region = self.readable(actor);
                let basic = if region == Region::Stores { BasicType::U64 } else { self.any_basic() };
                let (at, area) = self.area(window, target, region, basic, false);
                let result = self.beside(area);
                Action::Get { region, at, area, result }
            }
            5 => Action::Count,
            6 => {
                let cell = self.random.below(CELLS);
                let len = 1 + self.random.below(CELLS - cell);
                Action::Swap { cell, len, is_single: self.random.coin() }
            }
            7 => Action::SwapIf { cell: self.random.below(CELLS) },
            8 => {
                let cell = self.random.below(CELLS);
                Action::Peek { cell, len: 1 + self.random.below(CELLS - cell), is_single: self.random.coin() }
            }
            9 => self.accumulate(actor, window, target, Region::Shared, data),
            _ => self.accumulate(actor, window, target, Region::Ordered(actor), data),
        }
    }

    fn accumulate(&mut self, actor: u32, window: usize, target: u32, region: Region, data: u64) -> Action {
        let plan = &self.program.windows[window];
        let (basic, op) = match region {
            Region::Shared => (plan.shared_basic, plan.shared_op),
            _ => (plan.basic, self.random.pick(&operations_on(plan.basic))),
        };
        let op = if self.random.below(6) == 0 { ReduceOp::NoOp } else { op };
        debug_assert!(is_defined(op, basic));
        let (at, area) = self.area(window, target, region, basic, true);
        let (origin, result) = (self.beside(area), self.beside(area));
        let is_word = basic.is_word();
        match self.random.below(6) {
            0 | 1 => {
                let at = self.single(window, target, region, basic);
                Action::FetchOp { region, op, at, data }
            }
            2 if is_word && can_be_swapped(basic) && region == Region::Ordered(actor) => {
                let at = self.single(window, target, region, basic);
                Action::CompareSwap { at, hits: self.random.coin(), data }
            }
            3 | 4 if op != ReduceOp::NoOp => Action::Accumulate { region, op, at, area, origin, data },
            _ => Action::GetAccumulate { region, op, at, area, origin, result, data },
        }
    }

    /// Where one element may be that a displacement can name.
    fn single(&mut self, window: usize, target: u32, region: Region, basic: BasicType) -> u64 {
        let extent = basic.extent() as u64;
        let (_, len) = self.program.windows[window].place(region, self.program.actors());
        let unit = self.program.windows[window].units[target as usize];
        let places = (0..len / extent).map(|at| at * extent).filter(|at| at.is_multiple_of(unit));
        let places = places.collect::<Vec<_>>();
        self.random.pick(&places)
    }

    /// Elements within a region, whose type begins where a displacement can name it: any of them, or on the grid of the
    /// region's elements.
    fn area(
        &mut self,
        window: usize,
        target: u32,
        region: Region,
        basic: BasicType,
        on_grid: bool,
    ) -> (u64, Shape) {
        let extent = basic.extent() as u64;
        let (_, len) = self.program.windows[window].place(region, self.program.actors());
        let unit = self.program.windows[window].units[target as usize];
        let room = len / extent;
        for _ in 0..4 {
            let longest = if self.random.coin() { room.min(4) } else { room };
            let elements = self.random.below(longest + 1);
            let seed = if self.random.coin() || elements == 0 { 0 } else { 1 + self.random.below(1 << 40) };
            let shape = Shape { basic, elements, seed };
            let (low, high) = shape.bounds();
            let span = (high - low) as u64;
            let places = shape.listed().places;
            let is_apart = on_grid && places.iter().any(|place| (place - low) % extent as i64 != 0);
            if span > len || is_apart {
                continue;
            }
            let step = if on_grid { extent } else { 1 };
            let first = self.random.below((len - span) / step + 1) * step;
            let fits = |at: &u64| {
                let base = base_of(&self.program, window, region, *at, &shape);
                base >= 0 && (base as u64).is_multiple_of(unit)
            };
            let at = (first..=len - span).step_by(step as usize).take(8).find(fits);
            if let Some(at) = at {
                return (at, shape);
            }
        }
        (0, Shape::dense(basic, 1.min(room)))
    }

    /// As many elements elsewhere, laid out in another way.
    fn beside(&mut self, area: Shape) -> Shape {
        let seed = if self.random.coin() || area.elements == 0 { 0 } else { 1 + self.random.below(1 << 40) };
        Shape { seed, ..area }
    }

    /// A region that an actor may get in this round.
    fn readable(&mut self, actor: u32) -> Region {
        let other = self.below(self.program.actors());
        match self.random.below(4) {
            0 => Region::Stores,
            1 | 2 if self.quiet[other as usize] => Region::Own(other),
            _ => Region::Own(actor),
        }
    }

    fn any_basic(&mut self) -> BasicType {
        self.random.pick(&[
            BasicType::Byte,
            BasicType::U16,
            BasicType::F32,
            BasicType::U64,
            BasicType::DoubleInt,
        ])
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
}

const _: () = assert!(STORES * 8 <= 64);
