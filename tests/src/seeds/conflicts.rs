//! Which accesses are still under way, and would conflict with another one: puts and gets of one actor on one
//! location need synchronization between them (MPI 3.1 §11.7). The generator asks before it adds an
//! operation. Code that takes something out of a program, or changes it, asks whether it is legal still.

use super::operations::base_of;
use super::program::{Action, Item, Op, Program, Region};
use std::collections::HashMap;

/// First byte, byte behind the last, and whether it is a put.
type Access = (u64, u64, bool);

/// The accesses of one actor that are not complete.
#[derive(Debug, Default)]
pub(super) struct Busy {
    /// By window and target.
    ranges: HashMap<(usize, u32), Vec<Access>>,
}

impl Busy {
    /// Whether an operation may be called now.
    pub(super) fn allows(&self, op: &Op) -> bool {
        let Some((start, end, is_put)) = range(op) else { return true };
        let under_way = self.ranges.get(&(op.window, op.target)).into_iter().flatten();
        under_way.into_iter().all(|(s, e, was_put)| end <= *s || *e <= start || !(is_put || *was_put))
    }

    /// An operation has been called.
    pub(super) fn add(&mut self, op: &Op) {
        if let Some(range) = range(op) {
            self.ranges.entry((op.window, op.target)).or_default().push(range);
        }
    }

    /// The operations to a target, or to all, are complete there.
    pub(super) fn complete(&mut self, window: usize, target: Option<u32>) {
        self.ranges.retain(|(of, at), _| *of != window || target.is_some_and(|target| target != *at));
    }
}

/// The bytes of an own area that an operation accesses.
fn range(op: &Op) -> Option<Access> {
    let (region, at, area, is_put) = match op.action {
        Action::Put { region, at, area, .. } => (region, at, area, true),
        Action::Get { region, at, area, .. } => (region, at, area, false),
        _ => return None,
    };
    let Region::Own(actor) = region else { return None };
    let (low, high) = area.bounds();
    // Areas of different actors never overlap; a number that keeps them apart is enough.
    let start = (u64::from(actor) << 40) + at;
    Some((start, start + (high - low) as u64, is_put))
}

/// Whether the area of an operation lies in its region, and where a displacement can name it.
fn fits(program: &Program, op: &Op) -> bool {
    let (region, at, area) = match op.action {
        Action::Put { region, at, area, .. }
        | Action::Get { region, at, area, .. }
        | Action::Accumulate { region, at, area, .. }
        | Action::GetAccumulate { region, at, area, .. } => (region, at, area),
        _ => return true,
    };
    let plan = &program.windows[op.window];
    let (low, high) = area.bounds();
    let (_, len) = plan.place(region, program.actors());
    let base = base_of(program, op.window, region, at, &area);
    at + (high - low) as u64 <= len
        && base >= 0
        && (base as u64).is_multiple_of(plan.units[op.target as usize])
}

/// Whether all accesses of a program are legal.
pub fn are_legal(program: &Program) -> bool {
    let mut busy = (0..program.actors()).map(|_| Busy::default()).collect::<Vec<_>>();
    for phase in &program.phases {
        for bodies in &phase.rounds {
            for (busy, body) in busy.iter_mut().zip(bodies) {
                if !walk(program, busy, body) {
                    return false;
                }
            }
            // What a lock_all epoch of all rounds has open is flushed between them.
            busy.iter_mut().for_each(|busy| *busy = Busy::default());
        }
    }
    true
}

fn walk(program: &Program, busy: &mut Busy, items: &[Item]) -> bool {
    items.iter().all(|item| match item {
        Item::Op(op) => {
            let is_legal = busy.allows(op) && fits(program, op);
            busy.add(op);
            is_legal
        }
        Item::Nowhere(op) => fits(program, op),
        Item::Flush { window, target, is_local: false } => {
            busy.complete(*window, Some(*target));
            true
        }
        Item::FlushAll { window, is_local: false } => {
            busy.complete(*window, None);
            true
        }
        Item::Locks { window, locks, items, .. } => {
            let is_legal = walk(program, busy, items);
            locks.iter().for_each(|lock| busy.complete(*window, Some(lock.target)));
            is_legal
        }
        Item::LockAll { window, items, .. } => {
            let is_legal = walk(program, busy, items);
            busy.complete(*window, None);
            is_legal
        }
        Item::Flush { .. }
        | Item::FlushAll { .. }
        | Item::Sync { .. }
        | Item::Requests { .. }
        | Item::Increment { .. }
        | Item::ReadEquals { .. } => true,
    })
}
