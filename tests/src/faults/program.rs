//! Programs of jobs in which ranks die: made for all ranks at once, so that collective calls agree.
//!
//! A cell is changed in one way only. An own area is put to by one origin, with values that name origin and
//! step. A number that many add to has eight bits for each origin. The pair of equal numbers is changed under
//! an exclusive lock. So what a cell may hold follows from what each origin has begun and what has been
//! completed, whichever rank is dead.
//!
//! Passive epochs, fences, and epochs of post and start each have windows of their own: what a fence epoch has lost with a
//! rank says nothing of the others.

use crate::random::Random;

/// Elements of each origin's own area.
pub const AREA: u64 = 1024;
/// Numbers that all ranks add to.
pub const SUMS: u64 = 640;
/// The number that ranks fetch and add to.
pub const COUNTER: u64 = SUMS;
/// The number that ranks add to by compare-and-swap.
pub const SWAPPED: u64 = COUNTER + 1;
/// The pair of equal numbers.
pub const PAIR: u64 = SWAPPED + 1;
/// The first own area.
pub const OWN: u64 = PAIR + 2;
/// Most ranks: each has eight bits of a number.
pub const RANKS_MAX: u32 = 8;
/// Windows of passive epochs.
pub const PASSIVE: usize = 2;
/// The passive window that has lock_all.
const LOCKED_ALL: usize = 0;
/// The window of fences.
pub const FENCED: usize = PASSIVE;
/// The window of post and start.
pub const POSTED: usize = FENCED + 1;
/// All windows.
pub const WINDOWS: usize = POSTED + 1;

/// Elements of a window.
pub fn elements(ranks: u32) -> u64 {
    OWN + AREA * u64::from(ranks)
}

/// What one origin adds to a number.
pub fn digit(origin: u32) -> u64 {
    1 << (8 * origin)
}

/// How often an origin has added to a number.
pub fn digit_of(number: u64, origin: u32) -> u64 {
    number >> (8 * origin) & 0xff
}

/// What a put writes.
pub fn stamp(origin: u32, step: usize) -> u64 {
    u64::from(origin + 1) << 48 | step as u64
}

/// Elements of an area, or numbers, that a call concerns.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The first.
    pub at: u64,
    /// How many.
    pub len: u64,
}

/// One step of one rank.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // the calls and their arguments
pub enum Step {
    Lock {
        window: usize,
        target: u32,
        is_exclusive: bool,
    },
    Unlock {
        window: usize,
        target: u32,
    },
    Flush {
        window: usize,
        target: u32,
    },
    LockAll {
        window: usize,
    },
    UnlockAll {
        window: usize,
    },
    FlushAll {
        window: usize,
    },
    Fence,
    Post {
        group: Vec<u32>,
    },
    Start {
        group: Vec<u32>,
    },
    Complete {
        group: Vec<u32>,
    },
    Wait {
        group: Vec<u32>,
    },
    Put {
        window: usize,
        target: u32,
        part: Part,
    },
    Get {
        window: usize,
        target: u32,
        part: Part,
    },
    Add {
        window: usize,
        target: u32,
        part: Part,
    },
    Fetch {
        window: usize,
        target: u32,
    },
    Swap {
        window: usize,
        target: u32,
    },
    Increment {
        window: usize,
        target: u32,
    },
    CreateAndFree {
        is_allocated: bool,
        elements: u64,
    },
    /// A window that is kept until it is freed.
    Create {
        is_allocated: bool,
        elements: u64,
    },
    Free,
    Collective {
        kind: Collective,
        elements: u64,
    },
    Exchange {
        to: u32,
        from: u32,
        elements: u64,
        tag: u32,
    },
    /// Goes on when that rank has begun this step of its own, or is dead.
    Await {
        rank: u32,
        step: usize,
    },
    /// Goes on when that rank is known to be dead.
    AwaitDeath {
        rank: u32,
    },
    /// Locks and unlocks a rank that is dead, until that fails.
    LockInVain {
        window: usize,
        target: u32,
    },
}

/// Collective calls on all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Collective {
    Barrier,
    AllReduce,
    Broadcast { root: u32 },
    Gather { root: u32 },
    AllGather,
    AllToAll,
    Duplicate,
}

/// Whose death a step may fail with.
#[derive(Debug, PartialEq, Eq)]
pub enum Concerns<'a> {
    /// That of these.
    Ranks(&'a [u32]),
    /// That of this one.
    Rank(u32),
    /// That of either.
    Either(u32, u32),
    /// That of any.
    All,
    /// That of any rank that takes part in collective calls.
    Members,
}

impl Step {
    /// Whose death this step may fail with.
    pub fn concerns(&self) -> Concerns<'_> {
        match self {
            Self::Put { window: FENCED, .. } | Self::Add { window: FENCED, .. } => Concerns::Members,
            Self::Lock { target, .. }
            | Self::Unlock { target, .. }
            | Self::Flush { target, .. }
            | Self::Put { target, .. }
            | Self::Get { target, .. }
            | Self::Add { target, .. }
            | Self::Fetch { target, .. }
            | Self::Swap { target, .. }
            | Self::Increment { target, .. }
            | Self::LockInVain { target, .. } => Concerns::Rank(*target),
            Self::Post { group }
            | Self::Start { group }
            | Self::Complete { group }
            | Self::Wait { group } => Concerns::Ranks(group),
            Self::Exchange { to, from, .. } => Concerns::Either(*to, *from),
            Self::LockAll { .. } | Self::UnlockAll { .. } | Self::FlushAll { .. } => Concerns::All,
            Self::Fence
            | Self::CreateAndFree { .. }
            | Self::Create { .. }
            | Self::Free
            | Self::Collective { .. } => Concerns::Members,
            Self::Await { .. } | Self::AwaitDeath { .. } => Concerns::Ranks(&[]),
        }
    }

    /// Whether this step may fail because a rank is lost, where so many ranks take part in collective calls.
    pub fn may_fail_with(&self, dead: u32, members: u32) -> bool {
        match self.concerns() {
            Concerns::All => true,
            Concerns::Members => dead < members,
            Concerns::Rank(rank) => rank == dead,
            Concerns::Either(a, b) => a == dead || b == dead,
            Concerns::Ranks(ranks) => ranks.contains(&dead),
        }
    }

    /// Window and target of a communication call.
    pub fn place(&self) -> Option<(usize, u32)> {
        match self {
            Self::Put { window, target, .. }
            | Self::Get { window, target, .. }
            | Self::Add { window, target, .. }
            | Self::Fetch { window, target }
            | Self::Swap { window, target }
            | Self::Increment { window, target } => Some((*window, *target)),
            _ => None,
        }
    }

    /// Whether this step completes what its rank began in that window to that target.
    pub fn completes(&self, window: usize, target: u32) -> bool {
        match self {
            Self::Unlock { window: of, target: to } | Self::Flush { window: of, target: to } => {
                (*of, *to) == (window, target)
            }
            Self::UnlockAll { window: of } | Self::FlushAll { window: of } => *of == window,
            Self::Fence => window == FENCED,
            Self::Complete { group } => window == POSTED && group.contains(&target),
            _ => false,
        }
    }
}

/// Which calls a program has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calls {
    /// All.
    All,
    /// Those that concern two ranks, or a group that is named: passive epochs, post and start, messages. Where a
    /// rank dies, the others end without a collective call.
    Paired,
    /// Those of windows, and barriers: what there is without messages.
    Windows,
    /// The same without those that make and free windows.
    KeptWindows,
    /// Those of windows that concern two ranks, or a group that is named.
    PairedWindows,
}

/// A program: the steps of each rank.
#[derive(Clone, Debug)]
pub struct Program {
    /// By rank.
    pub scripts: Vec<Vec<Step>>,
    /// By phase and rank: how many steps there are up to its end.
    pub ends: Vec<Vec<usize>>,
}

impl Program {
    /// The steps of a rank that are of a phase.
    pub fn phase(&self, phase: usize, rank: u32) -> std::ops::Range<usize> {
        let end = |phase: usize| self.ends[phase][rank as usize];
        phase.checked_sub(1).map_or(0, end)..end(phase)
    }

    /// The same without a phase.
    #[must_use]
    pub fn without(&self, phase: usize) -> Self {
        let mut small = self.clone();
        for (rank, script) in (0..).zip(&mut small.scripts) {
            let gone = self.phase(phase, rank);
            small.ends[phase..].iter_mut().for_each(|ends| ends[rank as usize] -= gone.len());
            script.drain(gone);
        }
        small.ends.remove(phase);
        small
    }
}

struct Maker<'a> {
    random: &'a mut Random,
    ranks: u32,
    phase: u32,
    scripts: Vec<Vec<Step>>,
    ends: Vec<Vec<usize>>,
}

/// Makes a program.
pub fn generate(random: &mut Random, ranks: u32, calls: Calls) -> Program {
    let scripts = vec![Vec::new(); ranks as usize];
    let mut maker = Maker { random, ranks, phase: 0, scripts, ends: Vec::new() };
    for _ in 0..3 + maker.random.below(8) {
        maker.phase += 1;
        match (maker.random.below(9), calls) {
            (0..=2, _) => maker.passive_phase(),
            (3, _) => maker.lock_all_phase(),
            (4, _) => maker.posted_phase(),
            (5, Calls::All | Calls::Paired) => maker.exchange(),
            (6, Calls::All | Calls::Windows | Calls::KeptWindows) => maker.fence_phase(),
            (7, Calls::All | Calls::Windows) => maker.creation(),
            (8, Calls::All) => maker.collective(),
            (8, Calls::Windows | Calls::KeptWindows) => maker.barrier(),
            _ => maker.passive_phase(),
        }
        maker.ends.push(maker.scripts.iter().map(Vec::len).collect());
    }
    Program { scripts: maker.scripts, ends: maker.ends }
}

impl Maker<'_> {
    fn passive_phase(&mut self) {
        for me in 0..self.ranks {
            for _ in 0..1 + self.random.below(6) {
                let window = self.random.below(PASSIVE as u64) as usize;
                let first = self.random.below(self.ranks.into()) as u32;
                // Ascending, and one at a time beside lock_all, so that programs have no deadlock of their own.
                let count = if window == LOCKED_ALL { 1 } else { 1 + self.random.below(3) as usize };
                let targets = (first..self.ranks).take(count).collect::<Vec<_>>();
                for target in targets.iter().copied() {
                    let is_exclusive = self.random.below(5) < 2;
                    self.step(me, Step::Lock { window, target, is_exclusive });
                    self.operations(me, window, target);
                    if is_exclusive && self.random.coin() {
                        self.step(me, Step::Increment { window, target });
                    }
                }
                for target in targets {
                    self.step(me, Step::Unlock { window, target });
                }
            }
        }
    }

    fn lock_all_phase(&mut self) {
        let window = LOCKED_ALL;
        for me in 0..self.ranks {
            self.step(me, Step::LockAll { window });
            for _ in 0..1 + self.random.below(4) {
                let target = self.random.below(self.ranks.into()) as u32;
                self.operations(me, window, target);
                let flush = match self.random.coin() {
                    true => Step::Flush { window, target },
                    false => Step::FlushAll { window },
                };
                self.step(me, flush);
            }
            self.step(me, Step::UnlockAll { window });
        }
    }

    /// Calls of a passive epoch that is open to the target. Each area is put to or read once before the next flush.
    fn operations(&mut self, me: u32, window: usize, target: u32) {
        for at in 0..self.random.below(5) {
            if at > 0 && self.random.coin() {
                self.step(me, Step::Flush { window, target });
            }
            let part = self.part(AREA);
            let step = match self.random.below(7) {
                0 | 1 => Step::Put { window, target, part },
                2 => Step::Get { window, target, part },
                3 | 4 => Step::Add { window, target, part: self.part(SUMS) },
                5 => Step::Fetch { window, target },
                _ => Step::Swap { window, target },
            };
            let is_area = matches!(step, Step::Put { .. } | Step::Get { .. });
            if is_area {
                self.step(me, Step::Flush { window, target });
            }
            self.step(me, step);
            if is_area {
                self.step(me, Step::Flush { window, target });
            }
        }
    }

    fn fence_phase(&mut self) {
        for _ in 0..1 + self.random.below(2) {
            for me in 0..self.ranks {
                self.step(me, Step::Fence);
                self.epoch(me, FENCED, &(0..self.ranks).collect::<Vec<_>>());
                self.step(me, Step::Fence);
            }
        }
    }

    /// Ranks in pairs, or all with all, each a target before it is an origin.
    fn posted_phase(&mut self) {
        let is_pairs = self.random.coin();
        for me in 0..self.ranks {
            let others = (0..self.ranks).filter(|rank| *rank != me);
            let group = match is_pairs {
                true => others.filter(|rank| *rank == me ^ 1).collect::<Vec<_>>(),
                false => others.collect(),
            };
            if group.is_empty() {
                continue;
            }
            self.step(me, Step::Post { group: group.clone() });
            self.step(me, Step::Start { group: group.clone() });
            self.epoch(me, POSTED, &group);
            self.step(me, Step::Complete { group: group.clone() });
            self.step(me, Step::Wait { group });
        }
    }

    fn epoch(&mut self, me: u32, window: usize, targets: &[u32]) {
        for target in targets.iter().copied() {
            if self.random.coin() {
                let part = self.part(AREA);
                self.step(me, Step::Put { window, target, part });
            }
            if self.random.coin() {
                let part = self.part(SUMS);
                self.step(me, Step::Add { window, target, part });
            }
        }
    }

    fn creation(&mut self) {
        let is_allocated = self.random.coin();
        let elements = self.random.pick(&[1, 100, 5000]);
        self.on_all(&Step::CreateAndFree { is_allocated, elements });
    }

    fn collective(&mut self) {
        let root = self.random.below(self.ranks.into()) as u32;
        let kind = self.random.pick(&[
            Collective::Barrier,
            Collective::AllReduce,
            Collective::Broadcast { root },
            Collective::Gather { root },
            Collective::AllGather,
            Collective::AllToAll,
            Collective::Duplicate,
        ]);
        let elements = self.random.pick(&[1, 16, 3000, 40_000]);
        for _ in 0..1 + self.random.below(3) {
            self.on_all(&Step::Collective { kind, elements });
        }
    }

    fn barrier(&mut self) {
        self.on_all(&Step::Collective { kind: Collective::Barrier, elements: 0 });
    }

    fn exchange(&mut self) {
        let (shift, elements) = (1 + self.random.below(7) as u32, self.random.pick(&[0, 1, 500, 20_000]));
        let ranks = self.ranks;
        for me in 0..ranks {
            let (to, from) = ((me + shift) % ranks, (me + ranks - shift % ranks) % ranks);
            self.step(me, Step::Exchange { to, from, elements, tag: self.phase });
        }
    }

    /// A part of so many; long ones now and then.
    fn part(&mut self, of: u64) -> Part {
        let limit = self.random.pick(&[1, 4, 40, of]);
        let len = 1 + self.random.below(limit);
        Part { at: self.random.below(of - len + 1), len }
    }

    fn on_all(&mut self, step: &Step) {
        (0..self.ranks).for_each(|me| self.step(me, step.clone()));
    }

    fn step(&mut self, me: u32, step: Step) {
        self.scripts[me as usize].push(step);
    }
}
