//! What is left of a program, made plain: fewer locks at a time, operations without requests on few elements
//! side by side, no unused windows and threads, settings as users have them.

use super::Minimiser;
use crate::seeds::program::{Action, Item, Kind, Program, Shape};

/// A way to make an item plainer; answers whether it is one for this item.
type Change = fn(&mut Item) -> bool;

/// In the order in which they are tried.
const CHANGES: [Change; 5] = [one_lock, without_request, with_one_element, side_by_side, counting];

impl Minimiser {
    /// Makes single items plainer.
    pub(super) fn plain(&mut self) {
        for (phase, round, actor) in self.places() {
            let count = super::weight(&self.best.program.phases[phase].rounds[round][actor]);
            for at in 0..count {
                for change in CHANGES {
                    let mut program = self.best.program.clone();
                    let mut at = at;
                    let item = find(&mut program.phases[phase].rounds[round][actor], &mut at);
                    if item.is_some_and(change) {
                        let plan = self.best.with_program(program);
                        self.attempt_plan(plan);
                    }
                }
            }
        }
    }

    /// Takes the last window away as long as it is not needed.
    pub(super) fn windows(&mut self) {
        while self.best.program.windows.len() > 1 {
            let last = self.best.program.windows.len() - 1;
            let is_used = |program: &Program| {
                program.phases.iter().any(|phase| {
                    let of_phase = match &phase.kind {
                        Kind::Fence { window, .. }
                        | Kind::LockAll { window, .. }
                        | Kind::Active { window, .. }
                        | Kind::FenceAhead { window } => *window == last,
                        Kind::Passive => false,
                    };
                    of_phase || phase.rounds.iter().flatten().any(|body| uses(body, last))
                })
            };
            if is_used(&self.best.program) || !self.attempt(|program| _ = program.windows.pop()) {
                return;
            }
        }
    }

    /// Tries settings as users have them, one after the other.
    pub(super) fn settings(&mut self) {
        for at in 0.. {
            let plans = self.best.more_usual();
            let Some(plan) = plans.into_iter().nth(at) else { return };
            self.attempt_plan(plan);
        }
    }
}

fn uses(items: &[Item], window: usize) -> bool {
    items.iter().any(|item| match item {
        Item::Op(op) | Item::Nowhere(op) => op.window == window,
        Item::Locks { window: of, items, .. } | Item::LockAll { window: of, items, .. } => {
            *of == window || uses(items, window)
        }
        Item::Flush { window: of, .. }
        | Item::FlushAll { window: of, .. }
        | Item::Sync { window: of }
        | Item::Increment { window: of, .. }
        | Item::ReadEquals { window: of, .. } => *of == window,
        Item::Requests { .. } => false,
    })
}

/// Item number `at`, counted with what is inside of others.
fn find<'a>(items: &'a mut [Item], at: &mut usize) -> Option<&'a mut Item> {
    for item in items {
        if *at == 0 {
            return Some(item);
        }
        *at -= 1;
        if let Item::Locks { items: inner, .. } | Item::LockAll { items: inner, .. } = item
            && let Some(found) = find(inner, at)
        {
            return Some(found);
        }
    }
    None
}

/// Of several locks, the last that nothing inside needs is not taken.
fn one_lock(item: &mut Item) -> bool {
    let Item::Locks { locks, items, .. } = item else { return false };
    let unused = locks.iter().rposition(|lock| !super::targets(items, lock.target));
    match unused {
        Some(at) if locks.len() > 1 => _ = locks.remove(at),
        _ => return false,
    }
    true
}

fn without_request(item: &mut Item) -> bool {
    let Item::Op(op) = item else { return false };
    std::mem::take(&mut op.has_request)
}

fn with_one_element(item: &mut Item) -> bool {
    change_shapes(item, |shape| {
        let is_new = shape.seed == 0 && shape.elements > 1;
        shape.elements = if is_new { 1 } else { shape.elements };
        is_new
    })
}

fn side_by_side(item: &mut Item) -> bool {
    change_shapes(item, |shape| std::mem::take(&mut shape.seed) != 0)
}

/// Changes all shapes of an operation alike; answers whether any was changed.
fn change_shapes(item: &mut Item, change: impl Fn(&mut Shape) -> bool) -> bool {
    let Item::Op(op) = item else { return false };
    let shapes: [Option<&mut Shape>; 3] = match &mut op.action {
        Action::Put { area, origin, .. } | Action::Accumulate { area, origin, .. } => {
            [Some(area), Some(origin), None]
        }
        Action::Get { area, result, .. } => [Some(area), Some(result), None],
        Action::GetAccumulate { area, origin, result, .. } => [Some(area), Some(origin), Some(result)],
        Action::FetchOp { .. }
        | Action::CompareSwap { .. }
        | Action::Count
        | Action::Swap { .. }
        | Action::SwapIf { .. }
        | Action::Peek { .. } => [None, None, None],
    };
    let elements = shapes.iter().flatten().map(|shape| shape.elements).collect::<Vec<_>>();
    let before = shapes.iter().flatten().map(|shape| **shape).collect::<Vec<_>>();
    let mut shapes = shapes.into_iter().flatten().collect::<Vec<_>>();
    let any = shapes.iter_mut().filter_map(|shape| change(shape).then_some(())).count() > 0;
    // As many elements at the target as in the buffers.
    let is_even = shapes.windows(2).all(|pair| pair[0].elements == pair[1].elements);
    if !is_even || elements.is_empty() {
        shapes.iter_mut().zip(before).for_each(|(shape, before)| **shape = before);
        return false;
    }
    any
}

/// Any other operation becomes an increment of the counter.
fn counting(item: &mut Item) -> bool {
    let Item::Op(op) = item else { return false };
    !op.has_request && std::mem::replace(&mut op.action, Action::Count) != Action::Count
}
