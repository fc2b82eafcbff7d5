//! What a seed stands for: the job, the program, and which rank dies where.

use super::cells::Cell;
use super::diary::{Line, step_under_way};
use super::program::{Calls, Program, RANKS_MAX, WINDOWS, generate};
use crate::paths::{PATHS, SMALLEST};
use crate::random::Random;
use std::time::Duration;

/// A way of operations between processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// All ranks map each other's memory.
    Mapped,
    /// Packets through shared memory.
    Shm,
    /// Packets over TCP.
    Tcp,
    /// Nodes of two ranks, or of three.
    Nodes,
}

/// All ways, with their names.
pub const WAYS: [(&str, Way); 4] =
    [("mapped", Way::Mapped), ("shm", Way::Shm), ("tcp", Way::Tcp), ("nodes", Way::Nodes)];

/// How a rank dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum How {
    Kill,
    Exit,
    Abort,
    Segv,
}

/// When a rank dies.
#[derive(Clone, Copy, Debug)]
pub enum When {
    /// So long after its process began, while ranks look for each other.
    AtStart(Duration),
    /// So long after all windows were made.
    After(Duration),
    /// So long after it began this step.
    Step(usize, Duration),
}

/// A death.
#[derive(Clone, Copy, Debug)]
pub struct Death {
    /// Whose.
    pub rank: u32,
    /// When.
    pub when: When,
    /// How.
    pub how: How,
}

/// A rank that is stopped for a while.
#[derive(Clone, Copy, Debug)]
pub struct Stop {
    /// Which.
    pub rank: u32,
    /// As soon as it is seen to have begun this step.
    pub step: usize,
    /// For how long.
    pub time: Duration,
}

/// What happens to ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Faults {
    /// One dies; now and then another is stopped as well.
    Death,
    /// One is stopped for so many milliseconds.
    Stop(u64),
    /// Nothing.
    None,
}

/// A job with a fault.
#[derive(Clone, Debug)]
pub struct Case {
    /// What it follows from.
    pub seed: u64,
    /// The entry of the matrix that it is, if it is one.
    pub cell: Option<Cell>,
    /// What happens.
    pub faults: Faults,
    /// Over which way.
    pub way: Way,
    /// Number of ranks.
    pub ranks: u32,
    /// Variables of the job.
    pub variables: Vec<(&'static str, &'static str)>,
    /// Which windows the library allocates; the others are made of the ranks' own memory.
    pub is_allocated: [bool; WINDOWS],
    /// Whether the other ranks go on.
    pub goes_on: bool,
    /// What the ranks do.
    pub program: Program,
    /// The rank that dies.
    pub death: Option<Death>,
    /// The rank that is stopped.
    pub stop: Option<Stop>,
    /// Which calls the program has.
    pub calls: Calls,
    /// So many ranks, the first ones, take part in collective calls, and have the window of fences.
    pub members: u32,
    /// Steps, by rank and number, that must fail if they are called.
    pub must_fail: Vec<(u32, usize)>,
}

impl Way {
    /// The way of a name.
    pub fn of(name: &str) -> Option<Self> {
        WAYS.iter().find(|(of, _)| *of == name).map(|(_, way)| *way)
    }

    /// The name of a way.
    pub fn name(self) -> &'static str {
        WAYS.iter().find(|(_, way)| *way == self).map_or("", |(name, _)| name)
    }

    /// How to ask for it.
    pub fn variables(self) -> &'static [(&'static str, &'static str)] {
        let at = match self {
            Self::Mapped => 0,
            Self::Shm => 1,
            Self::Tcp => 3,
            Self::Nodes => 4,
        };
        PATHS[at].variables
    }
}

impl How {
    /// The launcher's status.
    pub fn code(self) -> i32 {
        match self {
            Self::Kill => 137,
            Self::Exit => 3,
            Self::Abort => 134,
            Self::Segv => 139,
        }
    }

    /// What the launcher says.
    pub fn text(self) -> &'static str {
        match self {
            Self::Kill => "was killed by signal 9 (SIGKILL",
            Self::Exit => "exited with status 3",
            Self::Abort => "was killed by signal 6 (SIGABRT",
            Self::Segv => "was killed by signal 11 (SIGSEGV",
        }
    }
}

impl Case {
    /// Whether ranks end without a collective call, and without finalizing, when they are through.
    pub fn ends_at_once(&self) -> bool {
        self.calls == Calls::Paired && self.death.is_some()
    }

    /// Where a rank stands, by its diary: a line for reports.
    pub fn place(&self, rank: u32, lines: &[Line], is_gone: bool) -> String {
        let script = &self.program.scripts[rank as usize];
        let last = match step_under_way(lines) {
            Some(step) => format!("in step {step} of {}, {:?}", script.len(), script[step]),
            None => format!("behind {:?}", lines.last()),
        };
        let failed = lines.iter().filter(|line| matches!(line, Line::Failed(..))).count();
        let gone = if is_gone { ", it has ended" } else { "" };
        format!("  rank {rank} {last}, {failed} failed before{gone}\n")
    }

    /// The words that a rank is started with, to draw the same case.
    pub fn words(&self) -> String {
        if let Some(cell) = self.cell {
            return format!("rank --cell {} --path {}", cell.word(), self.way.name());
        }
        let faults = match self.faults {
            Faults::Death => "kills".to_owned(),
            Faults::Stop(time) => format!("stops --time {time}"),
            Faults::None => "none".to_owned(),
        };
        let calls = if self.calls == Calls::Paired { "paired" } else { "all" };
        let (way, seed) = (self.way.name(), self.seed);
        format!("rank --faults {faults} --calls {calls} --path {way} --seed {seed}")
    }

    /// Draws a case.
    pub fn new(seed: u64, way: Way, faults: Faults, calls: Calls) -> Self {
        let mut random = Random::new(seed);
        let ranks = 2 + random.below(u64::from(RANKS_MAX) - 1) as u32;
        let mut variables = way.variables().to_vec();
        if way == Way::Nodes && random.coin() {
            variables = PATHS[5].variables.to_vec();
        }
        if random.below(4) == 0 {
            // A byte at a time over TCP is right as well, and takes seconds for a program.
            variables.extend(SMALLEST.iter().filter(|(name, _)| !name.starts_with("RMA_TCP_")));
        }
        let is_allocated = [true, random.coin(), random.coin(), random.coin()];
        // Most of what there is to see is with ranks that go on.
        let goes_on = random.below(5) > 0 || calls == Calls::Paired;
        let program = generate(&mut random, ranks, calls);
        let (mut death, mut stop) = (None, None);
        match faults {
            Faults::Death => {
                death = Some(draw_death(&mut random, &program, calls));
                if random.below(4) == 0 {
                    let time = 20 + random.below(200);
                    stop = Some(draw_stop(&mut random, &program, time))
                        .filter(|stop| death.is_some_and(|death| death.rank != stop.rank));
                }
            }
            Faults::Stop(time) => stop = Some(draw_stop(&mut random, &program, time)),
            Faults::None => {}
        }
        let (members, cell, must_fail) = (ranks, None, Vec::new());
        Self {
            seed,
            cell,
            faults,
            way,
            ranks,
            variables,
            is_allocated,
            goes_on,
            program,
            death,
            stop,
            calls,
            members,
            must_fail,
        }
    }
}

fn draw_death(random: &mut Random, program: &Program, calls: Calls) -> Death {
    let rank = random.below(program.scripts.len() as u64) as u32;
    let steps = program.scripts[rank as usize].len().max(1) as u64;
    let micros = |random: &mut Random, limit: u64| Duration::from_micros(random.below(limit));
    let when = match random.below(10) {
        // Ranks make their windows then, which is a collective call.
        0 if calls == Calls::All => When::AtStart(micros(random, 120_000)),
        0..=2 => When::After(micros(random, 40_000)),
        // At once, while the call is under way, or while it waits.
        _ => {
            let limit = random.pick(&[1, 30, 300, 3000]);
            When::Step(random.below(steps) as usize, micros(random, limit))
        }
    };
    let how = match when {
        When::Step(..) => random.pick(&[How::Kill, How::Kill, How::Kill, How::Exit, How::Abort, How::Segv]),
        _ => How::Kill,
    };
    Death { rank, when, how }
}

fn draw_stop(random: &mut Random, program: &Program, millis: u64) -> Stop {
    let rank = random.below(program.scripts.len() as u64) as u32;
    // Early, so that there is something left to do when it is seen.
    let steps = (program.scripts[rank as usize].len() / 2).max(1) as u64;
    Stop { rank, step: random.below(steps) as usize, time: Duration::from_millis(millis) }
}
