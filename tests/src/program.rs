//! Random one-sided programs with determined results: what each rank does, and what memory must hold afterwards.
//!
//! A program is generated from a seed for all ranks at once, so that collective calls agree. Its rules make every outcome
//! determined: a rank puts only into areas of its own (one at each target) and reads them only when its puts are complete;
//! sums, counters and claims are changed by accumulates alone; a pair of equal numbers is changed only under an exclusive
//! lock. [`crate::simulated`] runs a program.

use crate::random::Random;
use rma_core::epoch::{Assert, LockKind};
use std::collections::BTreeMap;

/// Elements of each origin's own area.
pub const AREA: u64 = 40;
/// Elements that all ranks add to.
pub const SUMS: u64 = 24;
/// Cells that ranks claim.
pub const CLAIMS: u64 = 4;
/// The counter that ranks fetch and increment.
pub const COUNTER: u64 = SUMS;
/// The pair of equal numbers.
pub const PAIR: u64 = COUNTER + 1;
/// The first claim.
pub const CLAIM: u64 = PAIR + 2;
/// The first own area.
pub const OWN: u64 = CLAIM + CLAIMS;

/// Elements of a window.
pub fn elements(ranks: u32) -> u64 {
    OWN + AREA * u64::from(ranks)
}

/// One step of one rank. Buffers are named by their index among the rank's buffers.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // the calls and arguments of the engine, and checks
pub enum Instruction {
    Fence {
        window: usize,
        assert: Assert,
    },
    Lock {
        window: usize,
        kind: LockKind,
        target: u32,
        assert: Assert,
    },
    Unlock {
        window: usize,
        target: u32,
    },
    Flush {
        window: usize,
        target: u32,
        is_local: bool,
    },
    LockAll {
        window: usize,
        assert: Assert,
    },
    UnlockAll {
        window: usize,
    },
    FlushAll {
        window: usize,
        is_local: bool,
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
    Wait {
        window: usize,
    },
    Put {
        window: usize,
        target: u32,
        at: u64,
        buffer: usize,
    },
    Get {
        window: usize,
        target: u32,
        at: u64,
        buffer: usize,
    },
    Sum {
        window: usize,
        target: u32,
        at: u64,
        buffer: usize,
    },
    FetchAdd {
        window: usize,
        target: u32,
        buffer: usize,
    },
    Claim {
        window: usize,
        target: u32,
        claim: u64,
        buffer: usize,
    },
    /// The pair in `from` is equal; `to` becomes its successor.
    Increment {
        from: usize,
        to: usize,
    },
    Expect {
        buffer: usize,
        values: Vec<u64>,
    },
    Barrier,
}

impl Instruction {
    /// The rank that a call depends on.
    pub fn target(&self) -> Option<u32> {
        match self {
            Self::Lock { target, .. }
            | Self::Unlock { target, .. }
            | Self::Flush { target, .. }
            | Self::Put { target, .. }
            | Self::Get { target, .. }
            | Self::Sum { target, .. }
            | Self::FetchAdd { target, .. }
            | Self::Claim { target, .. } => Some(*target),
            Self::Fence { .. }
            | Self::LockAll { .. }
            | Self::UnlockAll { .. }
            | Self::FlushAll { .. }
            | Self::Post { .. }
            | Self::Start { .. }
            | Self::Complete { .. }
            | Self::Wait { .. }
            | Self::Increment { .. }
            | Self::Expect { .. }
            | Self::Barrier => None,
        }
    }
}

/// What one rank does.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// Its steps.
    pub steps: Vec<Instruction>,
    /// Its buffers, with what they hold at first.
    pub buffers: Vec<Vec<u64>>,
}

/// What memory must hold at the end.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    /// Own areas by window, target and origin; those without an entry are zero.
    pub own: BTreeMap<(usize, u32, u32), Vec<u64>>,
    /// Sums by window and target.
    pub sums: BTreeMap<(usize, u32), Vec<u64>>,
    /// Fetch-and-adds by window and target.
    pub fetches: BTreeMap<(usize, u32), u64>,
    /// Increments of the pair by window and target.
    pub increments: BTreeMap<(usize, u32), u64>,
    /// Claimed cells by window, target and cell.
    pub claims: BTreeMap<(usize, u32, u64), u64>,
}

/// A program of all ranks.
#[derive(Clone, Debug)]
pub struct Program {
    /// By rank.
    pub scripts: Vec<Script>,
    /// Its outcome.
    pub expected: Expected,
}

/// Which phases a program has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phases {
    /// Epochs of every kind in turn.
    All,
    /// Fence epochs and epochs of single locks in turn: those of the others need barriers, which end when a rank dies.
    Fenced,
    /// Passive epochs only, without collective calls.
    Passive,
}

struct Maker<'a> {
    random: &'a mut Random,
    ranks: u32,
    windows: usize,
    program: Program,
}

/// Makes a program.
pub fn generate(random: &mut Random, ranks: u32, windows: usize, phases: Phases) -> Program {
    let program = Program { scripts: vec![Script::default(); ranks as usize], expected: Expected::default() };
    let mut maker = Maker { random, ranks, windows, program };
    for _ in 0..1 + maker.random.below(6) {
        match (phases, maker.random.below(5)) {
            (Phases::All | Phases::Fenced, 0) => maker.fence_phase(),
            (Phases::All, 1) => maker.lock_all_phase(),
            (Phases::All, 2) => maker.active_phase(),
            _ => maker.passive_phase(phases),
        }
    }
    maker.program
}

impl Maker<'_> {
    fn fence_phase(&mut self) {
        let window = self.random.below(self.windows as u64) as usize;
        let open = if self.random.coin() { Assert::NO_PRECEDE } else { Assert::NONE };
        let close = if self.random.coin() { Assert::NO_SUCCEED } else { Assert::NONE };
        self.barrier();
        for me in 0..self.ranks {
            self.step(me, Instruction::Fence { window, assert: open });
            for _ in 0..self.random.below(6) {
                let target = self.random.below(self.ranks.into()) as u32;
                match self.random.below(3) {
                    0 => self.sum(me, window, target),
                    1 => self.fetch_add(me, window, target),
                    _ => {}
                }
            }
            // Each own area is put to, or read, once in the epoch.
            for target in 0..self.ranks {
                match self.random.below(3) {
                    0 => self.put(me, window, target),
                    1 => {
                        let (buffer, values) = self.get(me, window, target);
                        // Checked by the fence that completes it.
                        self.program.scripts[me as usize].steps.push(Instruction::Expect { buffer, values });
                    }
                    _ => {}
                }
            }
            self.step(me, Instruction::Fence { window, assert: close });
        }
        for script in &mut self.program.scripts {
            let last = script.steps.pop().expect("the fence");
            let begin =
                script.steps.iter().rposition(|s| matches!(s, Instruction::Fence { .. })).unwrap_or(0);
            let (checks, rest): (Vec<_>, Vec<_>) =
                script.steps.drain(begin..).partition(|s| matches!(s, Instruction::Expect { .. }));
            script.steps.extend(rest);
            script.steps.push(last);
            script.steps.extend(checks);
        }
    }

    fn passive_phase(&mut self, phases: Phases) {
        let is_unchecked = phases != Phases::Passive && self.random.below(4) == 0;
        if phases != Phases::Passive && (is_unchecked || self.random.coin()) {
            self.barrier();
        }
        for me in 0..self.ranks {
            for _ in 0..1 + self.random.below(8) {
                let window = self.random.below(self.windows as u64) as usize;
                let first = self.random.below(self.ranks.into()) as u32;
                // Several locks are taken in ascending order, so that programs have no deadlock of their own.
                let count = 1 + self.random.below(3) as u32;
                let targets = (first..self.ranks).take(count as usize).collect::<Vec<_>>();
                self.epoch(me, window, &targets, is_unchecked);
            }
        }
        if is_unchecked {
            self.barrier();
        }
    }

    /// Lock_all epochs, and locks of one target at a time: no rank waits for a lock while it holds an
    /// exclusive one.
    fn lock_all_phase(&mut self) {
        self.barrier();
        let is_unchecked = self.random.below(4) == 0;
        for me in 0..self.ranks {
            for _ in 0..1 + self.random.below(4) {
                let window = self.random.below(self.windows as u64) as usize;
                if !is_unchecked && self.random.below(3) == 0 {
                    let target = self.random.below(self.ranks.into()) as u32;
                    self.epoch(me, window, &[target], false);
                    continue;
                }
                let assert = if is_unchecked { Assert::NO_CHECK } else { Assert::NONE };
                self.step(me, Instruction::LockAll { window, assert });
                for _ in 0..self.random.below(10) {
                    let target = self.random.below(self.ranks.into()) as u32;
                    self.operation(me, window, target);
                    if self.random.below(4) == 0 {
                        let is_local = self.random.coin();
                        self.step(me, Instruction::FlushAll { window, is_local });
                    }
                }
                self.step(me, Instruction::UnlockAll { window });
            }
        }
        self.barrier();
    }

    /// Epochs of post and start in one window, several in a row without a barrier between them: the origins
    /// and their targets are drawn anew for each, and every rank exposes before it accesses.
    fn active_phase(&mut self) {
        let window = self.random.below(self.windows as u64) as usize;
        self.barrier();
        for _ in 0..1 + self.random.below(5) {
            let is_edge = (0..self.ranks * self.ranks).map(|_| self.random.coin()).collect::<Vec<_>>();
            let (ranks, edge) =
                (self.ranks, |origin: u32, target: u32| is_edge[(origin * self.ranks + target) as usize]);
            let groups = (0..ranks).map(|me| {
                let origins = (0..ranks).filter(|origin| edge(*origin, me)).collect::<Vec<_>>();
                let targets = (0..ranks).filter(|target| edge(me, *target)).collect::<Vec<_>>();
                (origins, targets)
            });
            let groups = groups.collect::<Vec<_>>();
            let assert = if self.random.below(4) == 0 { Assert::NO_CHECK } else { Assert::NONE };
            for (me, (origins, targets)) in (0..ranks).zip(&groups) {
                // An empty group may as well not be exposed at all.
                let is_exposed = !origins.is_empty() || self.random.coin();
                if is_exposed {
                    self.step(me, Instruction::Post { window, group: origins.clone(), assert });
                }
                if assert == Assert::NO_CHECK {
                    self.step(me, Instruction::Barrier);
                }
                self.access(me, window, targets, assert);
                if is_exposed {
                    self.step(me, Instruction::Wait { window });
                }
            }
        }
        self.barrier();
    }

    fn access(&mut self, me: u32, window: usize, targets: &[u32], assert: Assert) {
        self.step(me, Instruction::Start { window, group: targets.to_vec(), assert });
        let mut checks = Vec::new();
        for target in targets.iter().copied() {
            for _ in 0..self.random.below(4) {
                match self.random.coin() {
                    true => self.sum(me, window, target),
                    false => self.fetch_add(me, window, target),
                }
            }
            // Each own area is put to, or read, once in the epoch.
            match self.random.below(3) {
                0 => self.put(me, window, target),
                1 => {
                    let (buffer, values) = self.get(me, window, target);
                    checks.push(Instruction::Expect { buffer, values });
                }
                _ => {}
            }
        }
        self.step(me, Instruction::Complete { window });
        checks.into_iter().for_each(|check| self.step(me, check));
    }

    fn epoch(&mut self, me: u32, window: usize, targets: &[u32], is_unchecked: bool) {
        let mut open = Vec::new();
        for target in targets.iter().copied() {
            let kind = match self.random.below(5) {
                0 | 1 if !is_unchecked => LockKind::Exclusive,
                _ => LockKind::Shared,
            };
            let assert = if is_unchecked && self.random.coin() { Assert::NO_CHECK } else { Assert::NONE };
            self.step(me, Instruction::Lock { window, kind, target, assert });
            open.push(target);
            for _ in 0..self.random.below(4) {
                self.operation(me, window, target);
            }
            if kind == LockKind::Exclusive && self.random.coin() {
                self.increment(me, window, target);
            }
        }
        while !open.is_empty() {
            let target = open.swap_remove(self.random.below(open.len() as u64) as usize);
            if self.random.below(4) == 0 {
                let is_local = self.random.coin();
                self.step(me, Instruction::Flush { window, target, is_local });
            }
            self.step(me, Instruction::Unlock { window, target });
        }
    }

    fn operation(&mut self, me: u32, window: usize, target: u32) {
        match self.random.below(7) {
            0 | 1 => {
                self.put(me, window, target);
                if self.random.below(3) == 0 {
                    self.step(me, Instruction::Flush { window, target, is_local: true });
                }
                // The next put or get of the area comes after this one is complete.
                self.step(me, Instruction::Flush { window, target, is_local: false });
            }
            2 => {
                let (buffer, values) = self.get(me, window, target);
                let is_local = self.random.coin();
                self.step(me, Instruction::Flush { window, target, is_local });
                self.step(me, Instruction::Expect { buffer, values });
            }
            3 | 4 => self.sum(me, window, target),
            5 => self.fetch_add(me, window, target),
            _ => {
                let claim = self.random.below(CLAIMS);
                let buffer = self.buffer(me, vec![u64::MAX]);
                *self.program.expected.claims.entry((window, target, claim)).or_default() += 1;
                self.step(me, Instruction::Claim { window, target, claim, buffer });
            }
        }
    }

    fn increment(&mut self, me: u32, window: usize, target: u32) {
        let (from, to) = (self.buffer(me, vec![0, 1]), self.buffer(me, vec![0; 2]));
        self.step(me, Instruction::Get { window, target, at: PAIR, buffer: from });
        let is_local = self.random.coin();
        self.step(me, Instruction::Flush { window, target, is_local });
        self.step(me, Instruction::Increment { from, to });
        self.step(me, Instruction::Put { window, target, at: PAIR, buffer: to });
        *self.program.expected.increments.entry((window, target)).or_default() += 1;
    }

    fn put(&mut self, me: u32, window: usize, target: u32) {
        let (at, len) = self.range(AREA);
        let values = (0..len).map(|_| self.random.next()).collect::<Vec<_>>();
        let own = self.own(me, window, target);
        own[at as usize..(at + len) as usize].copy_from_slice(&values);
        let buffer = self.buffer(me, values);
        let at = OWN + AREA * u64::from(me) + at;
        self.step(me, Instruction::Put { window, target, at, buffer });
    }

    fn get(&mut self, me: u32, window: usize, target: u32) -> (usize, Vec<u64>) {
        let (at, len) = self.range(AREA);
        let values = self.own(me, window, target)[at as usize..(at + len) as usize].to_vec();
        let buffer = self.buffer(me, vec![!0; len as usize]);
        let at = OWN + AREA * u64::from(me) + at;
        self.step(me, Instruction::Get { window, target, at, buffer });
        (buffer, values)
    }

    fn sum(&mut self, me: u32, window: usize, target: u32) {
        let (at, len) = self.range(SUMS);
        let values = (0..len).map(|_| self.random.next()).collect::<Vec<_>>();
        let sums =
            self.program.expected.sums.entry((window, target)).or_insert_with(|| vec![0; SUMS as usize]);
        for (sum, value) in sums[at as usize..].iter_mut().zip(&values) {
            *sum = sum.wrapping_add(*value);
        }
        let buffer = self.buffer(me, values);
        self.step(me, Instruction::Sum { window, target, at, buffer });
    }

    fn fetch_add(&mut self, me: u32, window: usize, target: u32) {
        let buffer = self.buffer(me, vec![u64::MAX]);
        *self.program.expected.fetches.entry((window, target)).or_default() += 1;
        self.step(me, Instruction::FetchAdd { window, target, buffer });
    }

    fn own(&mut self, me: u32, window: usize, target: u32) -> &mut Vec<u64> {
        self.program.expected.own.entry((window, target, me)).or_insert_with(|| vec![0; AREA as usize])
    }

    /// Mostly short; sometimes nothing at all.
    fn range(&mut self, most: u64) -> (u64, u64) {
        let at = self.random.below(most);
        let longest = if self.random.coin() { 3.min(most - at) } else { most - at };
        (at, self.random.below(longest + 1))
    }

    fn buffer(&mut self, me: u32, values: Vec<u64>) -> usize {
        let buffers = &mut self.program.scripts[me as usize].buffers;
        buffers.push(values);
        buffers.len() - 1
    }

    fn step(&mut self, me: u32, step: Instruction) {
        self.program.scripts[me as usize].steps.push(step);
    }

    fn barrier(&mut self) {
        (0..self.ranks).for_each(|me| self.step(me, Instruction::Barrier));
    }
}
