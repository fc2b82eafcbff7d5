//! Draws operations: what, where, and what may come between two of them.

use super::super::calls::{can_be_swapped, is_defined};
use super::super::operations::base_of;
use super::super::program::{Action, CELLS, Item, Op, Region, STORES, Shape};
use super::super::values::operations_on;
use super::Maker;
use rma_core::datatype::BasicType;
use rma_core::kernel::ReduceOp;

impl Maker<'_> {
    pub(super) fn operations(
        &mut self,
        actor: u32,
        window: usize,
        targets: &[u32],
        most: u64,
        items: &mut Vec<Item>,
    ) {
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
            5 => items.push(self.requests()),
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
    pub(super) fn area(
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

const _: () = assert!(STORES * 8 <= 64);
