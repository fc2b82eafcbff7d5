//! Random programs of typed scopes against a model of all ranks' memory and counters.
//!
//! A seed makes the rounds, and every rank computes all of them: what kind of epoch, and which operations each rank begins in it. A rank
//! has a block of its own in the memory of every rank, and an operation a cell of that block, so the model knows each value. Sums and
//! counters, which all ranks change, are known behind the round.

use super::on_both_paths;
use rma::window::{Epoch, Layout, LockAll, Locked, Request};
use rma::{LockKind, ReduceOp, Result, Window, World};

/// Elements of a cell, cells of a block: one for each operation of a round.
const CELL: usize = 2;
const CELLS: usize = 4;
const BLOCK: usize = CELL * CELLS;
const COUNTERS: usize = 2;
const ROUNDS: u64 = 24;

/// What one rank does to a cell of another one's memory.
#[derive(Clone, Copy, Debug)]
struct Operation {
    kind: u64,
    target: usize,
    value: u64,
    counter: Option<u32>,
    fate: u64,
}

/// What is to be at every rank.
struct Model {
    cells: Vec<Vec<[u64; CELL]>>,
    sums: Vec<u64>,
    counters: Vec<[u64; COUNTERS]>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Scope {
    Fence,
    Fences,
    Groups,
    Locks,
    Set,
    All,
    Batch,
}

const SCOPES: [Scope; 7] =
    [Scope::Fence, Scope::Fences, Scope::Groups, Scope::Locks, Scope::Set, Scope::All, Scope::Batch];

/// A random number of a place in a program (splitmix64).
fn random(seed: u64, place: &[u64]) -> u64 {
    place.iter().fold(seed, |state, at| {
        let state = (state ^ at).wrapping_add(0x9e37_79b9_7f4a_7c15);
        let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        state ^ (state >> 31)
    })
}

fn operations(seed: u64, round: u64, origin: usize, ranks: usize, scope: Scope) -> Vec<Operation> {
    let is_passive = matches!(scope, Scope::Locks | Scope::Set | Scope::All);
    let make = |at: u64| {
        let draw = |what| random(seed, &[round, origin as u64, at, what]);
        let counter = (is_passive && draw(3) % 2 == 0).then(|| (draw(4) % COUNTERS as u64) as u32);
        let target = (draw(1) % ranks as u64) as usize;
        Operation { kind: draw(0) % 10, target, value: draw(2), counter, fate: draw(5) % 4 }
    };
    (0..CELLS as u64).map(make).collect()
}

impl Model {
    fn new(ranks: usize) -> Self {
        let cells = vec![vec![[0; CELL]; ranks * CELLS]; ranks];
        Self { cells, sums: vec![0; ranks], counters: vec![[0; COUNTERS]; ranks] }
    }

    /// Carries an operation out, and says what is in its results then.
    fn carry_out(&mut self, origin: usize, at: usize, op: &Operation) -> [u64; CELL] {
        let cell = &mut self.cells[op.target][origin * CELLS + at];
        let before = *cell;
        match op.kind {
            0 => *cell = [op.value, op.value + 1],
            1 => cell[1] = op.value,
            2 => *cell = [op.value + 1, op.value],
            3 | 4 => return before,
            5 => cell.iter_mut().for_each(|value| *value = value.wrapping_add(op.value)),
            6 => {
                self.sums[op.target] = self.sums[op.target].wrapping_add(op.value);
                return [0; CELL];
            }
            7 => {
                cell.iter_mut().for_each(|value| *value ^= op.value);
                return before;
            }
            8 => {
                cell[0] = op.value;
                return [before[0], 0];
            }
            _ => {
                // It is equal to what is there, or not.
                if op.value.is_multiple_of(2) {
                    cell[0] = op.value;
                }
                return [before[0], 0];
            }
        }
        [0; CELL]
    }
}

/// What an operation compares with: what its cell has, or another value.
fn compared(op: &Operation, before: u64) -> u64 {
    if op.value.is_multiple_of(2) { before } else { before.wrapping_add(1) }
}

/// Begins an operation without a notice, in an epoch of any kind.
fn begin<'s, K>(
    epoch: &Epoch<'s, u64, K>,
    op: &Operation,
    disp: usize,
    (origin, result, before): (&'s [u64; CELL], &'s mut [u64; CELL], u64),
    sum: usize,
) -> Result<()> {
    let (to, pair) = (op.target, Layout::contiguous(CELL)?);
    match op.kind {
        0 => epoch.put(origin, to, disp),
        1 => epoch.put_value(op.value, to, disp + 1),
        2 => epoch.put_layout(origin, &pair, to, disp, &pair),
        3 => epoch.get(result, to, disp),
        4 => epoch.get_layout(result, &pair, to, disp, &pair),
        5 => epoch.accumulate(origin, ReduceOp::Sum, to, disp),
        6 => epoch.accumulate_value(op.value, ReduceOp::Sum, to, sum),
        7 => epoch.get_accumulate(origin, result, ReduceOp::BitXor, to, disp),
        8 => epoch.fetch_op(op.value, &mut result[0], ReduceOp::Replace, to, disp),
        _ => epoch.compare_and_swap(compared(op, before), op.value, &mut result[0], to, disp),
    }
}

/// What becomes of a request.
fn settle<B: rma::window::Buffer<u64>>(request: Request<'_, u64, B>, fate: u64) -> Result<()> {
    match fate {
        0 => drop(request),
        1 => std::mem::forget(request),
        2 => while !request.test()? {},
        _ => return request.wait().map(drop),
    }
    Ok(())
}

/// The same on a locked rank: with requests, notices, and calls that wait.
fn begin_locked<'s>(
    locked: &Locked<'s, u64>,
    op: &Operation,
    disp: usize,
    (origin, result, before): (&'s [u64; CELL], &'s mut [u64; CELL], u64),
    sum: usize,
) -> Result<()> {
    let pair = Layout::contiguous(CELL)?;
    let owned = || origin.to_vec();
    match (op.kind, op.counter) {
        (0, None) => settle(locked.rput(owned(), disp)?, op.fate),
        (0, Some(counter)) => settle(locked.rput_notify(owned(), disp, counter)?, op.fate),
        (1, None) => locked.store(disp + 1, op.value),
        (1, Some(counter)) => locked.put_value_notify(op.value, disp + 1, counter),
        (2, None) => settle(locked.rput_layout(&origin[..], &pair, disp, &pair)?, op.fate),
        (2, Some(counter)) => locked.put_notify(origin, disp, counter),
        (3, None) => settle(locked.rget(&mut result[..], disp)?, op.fate),
        (3, Some(counter)) => settle(locked.rget_notify(&mut result[..], disp, counter)?, op.fate),
        (4, None) => settle(locked.rget_layout(&mut result[..], &pair, disp, &pair)?, op.fate),
        (4, Some(counter)) => locked.get_notify(result, disp, counter),
        (5, None) => settle(locked.raccumulate(owned(), ReduceOp::Sum, disp)?, op.fate),
        (5, Some(counter)) => {
            settle(locked.raccumulate_notify(owned(), ReduceOp::Sum, disp, counter)?, op.fate)
        }
        (6, None) => locked.fetch_add(sum, op.value).map(drop),
        (6, Some(counter)) => locked.accumulate_notify(&origin[..1], ReduceOp::Sum, sum, counter),
        (7, None) => {
            settle(locked.rget_accumulate(origin, &mut result[..], ReduceOp::BitXor, disp)?, op.fate)
        }
        (7, Some(counter)) => locked.get_accumulate_notify(origin, result, ReduceOp::BitXor, disp, counter),
        (8, _) => locked.fetch_op(disp, op.value, ReduceOp::Replace).map(|old| result[0] = old),
        (_, _) => locked.compare_and_swap(disp, compared(op, before), op.value).map(|old| result[0] = old),
    }
}

/// One operation in an epoch of its own, which finds what the model has.
fn alone(
    window: &mut Window<'_, u64>,
    op: &Operation,
    disp: usize,
    buffers: (&[u64; CELL], &mut [u64; CELL], u64),
    sum: usize,
) -> Result<()> {
    fn locked_alone<'s>(
        locked: &Locked<'s, u64>,
        op: &Operation,
        disp: usize,
        (origin, result, before): (&'s [u64; CELL], &'s mut [u64; CELL], u64),
        sum: usize,
    ) -> Result<()> {
        let mut found = [0; CELL];
        locked.batch(|batch| batch.get(&mut found, disp))?;
        assert_eq!(found[0], before);
        begin_locked(locked, op, disp, (origin, result, before), sum)
    }
    if op.fate.is_multiple_of(2) {
        window.exclusive(op.target, |locked| locked_alone(locked, op, disp, buffers, sum))
    } else {
        window.shared(op.target, |locked| locked_alone(locked, op, disp, buffers, sum))
    }
}

/// One round of this rank: its operations, in an epoch of this kind.
fn play(
    window: &mut Window<'_, u64>,
    scope: Scope,
    ops: &[Operation],
    model: &Model,
) -> Result<Vec<[u64; CELL]>> {
    let (me, ranks) = (window.rank() as usize, window.size() as usize);
    let (first, sum) = (me * BLOCK, ranks * BLOCK);
    let origins: Vec<[u64; CELL]> = ops.iter().map(origin_of).collect();
    let mut results = vec![[0; CELL]; ops.len()];
    let before = |at: usize| model.cells[ops[at].target][me * CELLS + at][0];
    let each = || ops.iter().zip(&origins).enumerate();
    let mut parts: Vec<_> = results.iter_mut().map(Some).collect();
    macro_rules! begin_all {
        ($epoch:expr, $half:expr) => {
            for (at, (op, origin)) in each().filter(|(at, _)| $half(*at)) {
                let result = parts[at].take().expect("each operation has results of its own");
                begin($epoch, op, first + at * CELL, (origin, result, before(at)), sum)?;
            }
        };
    }
    macro_rules! begin_all_locked {
        ($locked:expr) => {
            for (at, (op, origin)) in each() {
                let result = parts[at].take().expect("each operation has results of its own");
                begin_locked($locked(op.target)?, op, first + at * CELL, (origin, result, before(at)), sum)?;
            }
        };
    }
    let everyone: Vec<usize> = (0..ranks).collect();
    match scope {
        Scope::Fence => window.fence_epoch(|epoch| {
            begin_all!(epoch, |_| true);
            Ok(())
        })?,
        Scope::Fences => window.fence_epochs(|fences| {
            for half in 0..2 {
                fences.epoch(|epoch| {
                    begin_all!(epoch, |at: usize| at % 2 == half);
                    Ok(())
                })?;
            }
            Ok(())
        })?,
        Scope::Groups => window.expose(&everyone, |exposure| {
            exposure.access(&everyone, |epoch| {
                begin_all!(epoch, |_| true);
                Ok(())
            })
        })?,
        Scope::Locks => {
            for (at, (op, origin)) in each() {
                let result = parts[at].take().expect("each operation has results of its own");
                alone(window, op, first + at * CELL, (origin, result, before(at)), sum)?;
            }
        }
        Scope::Set => {
            let locks: Vec<_> = (0..ranks).map(|rank| (rank, LockKind::Shared)).collect();
            window.lock_set(&locks, |set| {
                begin_all_locked!(|target: usize| Ok::<_, rma::Error>(&set.ranks()[target]));
                Ok(())
            })?;
        }
        Scope::All => window.lock_all(|all: &LockAll<'_, u64>| {
            let handles = (0..ranks).map(|rank| all.rank(rank)).collect::<Result<Vec<_>>>()?;
            begin_all_locked!(|target: usize| Ok::<_, rma::Error>(&*handles[target]));
            all.flush_all()
        })?,
        Scope::Batch => window.lock_all(|all| {
            all.batch(|batch| {
                begin_all!(batch, |_| true);
                Ok(())
            })
        })?,
    }
    drop(parts);
    Ok(results)
}

/// What an operation reads.
fn origin_of(op: &Operation) -> [u64; CELL] {
    match op.kind {
        0 => [op.value, op.value + 1],
        2 => [op.value + 1, op.value],
        _ => [op.value; CELL],
    }
}

fn program(world: &World, seed: u64) -> Result<()> {
    let (me, ranks) = (world.rank() as usize, world.size() as usize);
    let mut window = world.window::<u64>().len(ranks * BLOCK + 1).allocate()?;
    window.set_notifications(COUNTERS as u32)?;
    let mut model = Model::new(ranks);
    for round in 0..ROUNDS {
        let scope = SCOPES[(random(seed, &[round]) % SCOPES.len() as u64) as usize];
        let all: Vec<_> = (0..ranks).map(|origin| operations(seed, round, origin, ranks, scope)).collect();
        let results = play(&mut window, scope, &all[me], &model)?;
        for (origin, ops) in all.iter().enumerate() {
            for (at, op) in ops.iter().enumerate() {
                let expected = model.carry_out(origin, at, op);
                assert!(
                    origin != me || results[at] == expected,
                    "seed {seed}, round {round}, {scope:?}, {op:?}: {:?} and not {expected:?}",
                    results[at]
                );
                if let Some(counter) = op.counter.filter(|_| op.kind < 8) {
                    model.counters[op.target][counter as usize] += 1;
                }
            }
        }
        let own = window.notifications();
        for (counter, expected) in (0..).zip(model.counters[me]) {
            own.wait(counter, expected)?;
        }
        world.barrier()?;
        let counted = (0..COUNTERS as u32).map(|counter| own.value(counter)).collect::<Result<Vec<_>>>()?;
        assert_eq!(counted, model.counters[me], "seed {seed}, round {round}, {scope:?}");
        let mut expected: Vec<u64> = model.cells[me].concat();
        expected.push(model.sums[me]);
        assert_eq!(window.local().to_vec(), expected, "seed {seed}, round {round}, {scope:?}: {all:?}");
        world.barrier()?;
    }
    window.free()
}

#[test]
fn random_programs_of_scopes_do_what_the_model_does() {
    for seed in 0..16 {
        let ranks = 1 + (seed % 4) as u32;
        on_both_paths(ranks, |world| program(world, seed));
    }
}
