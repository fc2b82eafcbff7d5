//! A rank that plays its part of a program: makes the calls of its actors in turn, none of which waits, and judges what they
//! bring.
//!
//! Buffers are kept to the end. As soon as an operation is complete its origin buffer is overwritten, so that a byte that
//! leaves late is wrong at the target; its result buffer is overwritten when it has been judged, and looked at once more at
//! the end, so that a byte that comes late is found.

use super::calls::Buffers;
use super::chains::Log;
use super::compile::{Compiled, Step};
use super::makings::Workshop;
use super::memory::Buffer;
use super::operations::Prepared;
use super::program::{Flavor, Program, Region};
use rma_core::Engine;
use rma_core::error::Result;
use rma_core::host::Group;
use rma_core::notify::{CounterSetting, Notifications};
use rma_core::window::Sync;
use rma_core::window::{Detaching, OperationRequest, Window, WindowCreation, WindowFree, WindowSpec};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

mod judge;
mod steps;

/// What a player needs of the job besides the engine.
pub(super) trait Environment {
    /// An actor of this rank has come to a meeting of the whole job; called once for each.
    fn arrive(&mut self, meeting: usize);
    /// Whether all actors of the job have come.
    fn have_met(&mut self, meeting: usize) -> Result<bool>;
    /// An actor has come to the end of its epochs in a round.
    fn tell(&mut self, round: u32, actor: u32);
    /// Whether an actor has told so; `None` where that cannot be known at once.
    fn has_notified(&self, round: u32, actor: u32) -> Option<bool>;
    /// The host's barrier: begins it when none is under way, and says whether it is over.
    fn barrier(&mut self) -> Result<bool>;
    /// Tells where a rank's memory of a dynamic window is.
    fn publish(&mut self, window: usize, address: u64);
    /// The communicator that a thread has made last, or was given.
    fn group(&self, thread: u32) -> Group;
    /// Duplicates it; whether that is over.
    fn duplicate(&mut self, thread: u32) -> Result<bool>;
    /// Frees it, if the thread has made it; whether it has.
    fn release(&mut self, thread: u32) -> bool;
    /// Where it is; all ranks have met since they told.
    fn address(&self, window: usize, rank: u32) -> u64;
}

/// What a turn came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Some actor has come further.
    Moved,
    /// All wait.
    Waits,
    /// The script has ended and the windows are freed.
    Over,
}

pub(super) struct Player<G> {
    pub(super) me: u32,
    pub(super) engine: Engine,
    pub(super) environment: G,
    pub(super) log: Log,
    pub(super) program: Arc<Program>,
    pub(super) compiled: Arc<Compiled>,
    group: Group,
    windows: Vec<Window>,
    memory: Vec<Buffer>,
    attached: Vec<Attached>,
    actors: Vec<Actor>,
    teams: Vec<u32>,
    live: Vec<Live>,
    /// Ranks that a thread of this rank locks, or will, by window.
    held: HashSet<(usize, u32)>,
    done: Vec<Buffers>,
    /// Operations that are no part of the tree.
    extra: u32,
    stage: Stage,
    /// Cells at the end, by window.
    pub(super) cells: Vec<Vec<u64>>,
}

enum Stage {
    Creating(Option<Box<WindowCreation>>),
    /// The counter of the newest window.
    Counting(CounterSetting),
    Playing,
    Freeing(Option<WindowFree>),
}

#[derive(Default)]
struct Attached {
    bases: Vec<usize>,
    detaching: Option<Detaching>,
}

/// A thread of the rank.
#[derive(Default)]
struct Actor {
    number: u32,
    at: usize,
    sync: Option<Sync>,
    /// Operations that the call under way completes.
    covers: Vec<u32>,
    /// It has been counted at the meeting it waits for.
    has_arrived: bool,
    teams: usize,
    meetings: usize,
    requests: Vec<(u32, OperationRequest)>,
    /// The operation that could not be called yet.
    buffers: Option<Buffers>,
    seen: HashMap<(usize, u32, u64), u64>,
    /// What the equal numbers were when they were got last.
    equal: u64,
    workshop: Workshop,
}

/// An operation that is not complete.
struct Live {
    actor: usize,
    prepared: Arc<Prepared>,
    buffers: Buffers,
    /// What it compared with, if that was what had been seen.
    compared: u64,
}

/// What completed result buffers hold.
const JUDGED: u8 = 0xdd;
/// What completed origin buffers hold.
const SPENT: u8 = 0xaa;

impl<G: Environment> Player<G> {
    pub(super) fn new(
        me: u32,
        group: Group,
        engine: Engine,
        environment: G,
        program: Arc<Program>,
        compiled: Arc<Compiled>,
    ) -> Self {
        let threads = program.threads;
        let observer = program.actors() + me;
        let numbers = (0..threads).map(|thread| me * threads + thread).chain([observer]);
        let actors = numbers.map(|number| Actor { number, ..Actor::default() });
        let lens = program.windows.iter().map(|plan| plan.len(me, program.actors()) as usize);
        Self {
            me,
            group,
            windows: Vec::new(),
            memory: lens.map(|len| Buffer::new(&vec![0; len])).collect(),
            attached: program.windows.iter().map(|_| Attached::default()).collect(),
            actors: actors.collect(),
            teams: Vec::new(),
            live: Vec::new(),
            held: HashSet::new(),
            done: Vec::new(),
            extra: 0,
            stage: Stage::Creating(None),
            cells: Vec::new(),
            log: Log::new(),
            engine,
            environment,
            program,
            compiled,
        }
    }

    /// What the rank is at, for reports.
    pub(super) fn describe(&self) -> String {
        let steps = &self.compiled.steps;
        let at = |actor: &Actor| match steps[actor.number as usize].get(actor.at) {
            None => "end".to_owned(),
            Some(Step::Operate(prepared)) => {
                format!("operation {} on window {} to {}", prepared.number, prepared.window, prepared.target)
            }
            Some(Step::Look { window, .. }) => format!("look at window {window}"),
            Some(Step::Hear { actor, .. }) => format!("hear of actor {actor}"),
            Some(step) => format!("{step:?}{}", actor.workshop.describe()),
        };
        format!("rank {}: {}", self.me, self.actors.iter().map(at).collect::<Vec<_>>().join("; "))
    }

    /// Lets every actor try its next step. Which one comes first is drawn.
    pub(super) fn turn(&mut self, random: u64) -> Turn {
        match &mut self.stage {
            Stage::Creating(_) => self.create(),
            Stage::Counting(setting) => {
                if !setting.poll().expect("a counter") {
                    return Turn::Waits;
                }
                self.stage = Stage::Creating(None);
                Turn::Moved
            }
            Stage::Freeing(None) if self.windows.is_empty() => Turn::Over,
            Stage::Freeing(_) => self.free(),
            Stage::Playing => {
                let count = self.actors.len();
                let moved = (0..count).filter(|at| self.play((at + random as usize) % count)).count() > 0;
                if moved {
                    return Turn::Moved;
                }
                let steps = &self.compiled.steps;
                let is_over = |actor: &Actor| actor.at == steps[actor.number as usize].len();
                if !self.actors.iter().all(is_over) {
                    return Turn::Waits;
                }
                self.end();
                Turn::Moved
            }
        }
    }

    fn create(&mut self) -> Turn {
        let Stage::Creating(creation) = &mut self.stage else { return Turn::Waits };
        let at = self.windows.len();
        let Some(under_way) = creation else {
            let Some(plan) = self.program.windows.get(at) else {
                self.stage = Stage::Playing;
                return Turn::Moved;
            };
            let unit = plan.units[self.me as usize];
            let len = plan.len(self.me, self.program.actors());
            let spec = match plan.flavor {
                Flavor::Allocate => WindowSpec::Allocate { len, unit },
                Flavor::Create => WindowSpec::Create { memory: self.memory[at].span(), unit },
                Flavor::Shared { is_contiguous } => WindowSpec::AllocateShared { len, unit, is_contiguous },
                Flavor::Dynamic => {
                    self.environment.publish(at, self.memory[at].base() as u64);
                    WindowSpec::Dynamic
                }
            };
            let started = self.engine.begin_window(self.group.clone(), spec).expect("creation begins");
            *creation = Some(Box::new(started));
            return Turn::Moved;
        };
        match under_way.poll().expect("creation") {
            None => Turn::Waits,
            Some(window) => {
                self.stage = Stage::Counting(CounterSetting::begin(&window, Ok(1)).expect("a counter"));
                self.windows.push(window);
                Turn::Moved
            }
        }
    }

    fn free(&mut self) -> Turn {
        let Stage::Freeing(free) = &mut self.stage else { return Turn::Waits };
        let Some(under_way) = free else {
            // In the same order on all ranks.
            let started = self.windows.remove(0).begin_free();
            *free = Some(started.unwrap_or_else(|(_, error)| panic!("rank {}: {error}", self.me)));
            return Turn::Moved;
        };
        if !under_way.poll().expect("free") {
            return Turn::Waits;
        }
        *free = None;
        Turn::Moved
    }

    /// Tries an actor's next step; answers whether it came further.
    fn play(&mut self, index: usize) -> bool {
        let actor = &self.actors[index];
        let compiled = Arc::clone(&self.compiled);
        let Some(step) = compiled.steps[actor.number as usize].get(actor.at) else { return false };
        let is_over = self
            .attempt(index, step)
            .unwrap_or_else(|error| panic!("rank {}, actor {index}: {step:?}: {error}", self.me));
        if is_over {
            let actor = &mut self.actors[index];
            (actor.at, actor.has_arrived) = (actor.at + 1, false);
        }
        is_over
    }

    /// Operations on this rank's part of a window that raise its counter.
    fn notices(&self, window: usize) -> u64 {
        let is_one = |step: &&Step| {
            matches!(step, Step::Operate(operation)
                if operation.is_notified() && (operation.window, operation.target) == (window, self.me))
        };
        self.compiled.steps.iter().flatten().filter(is_one).count() as u64
    }

    /// The script is over.
    fn end(&mut self) {
        assert!(self.live.is_empty(), "rank {}: operations are left", self.me);
        for buffers in &mut self.done {
            let is_untouched = buffers.result.bytes().iter().all(|byte| *byte == JUDGED);
            assert!(is_untouched, "rank {}: a result has come twice", self.me);
        }
        let actors = self.program.actors();
        for window in 0..self.windows.len() {
            let (start, len) = self.program.windows[window].place(Region::Cells, actors);
            let mut bytes = vec![0; len as usize];
            self.own(window).part(start as usize, len as usize).as_read().read(&mut bytes);
            let words =
                bytes.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().expect("eight bytes")));
            self.cells.push(words.collect());
            let notices = Notifications::of(&self.windows[window]).value(0).expect("the counter");
            assert_eq!(notices, self.notices(window), "rank {}, window {window}: notices", self.me);
        }
        self.stage = Stage::Freeing(None);
    }
}
