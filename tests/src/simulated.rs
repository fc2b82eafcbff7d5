//! Runs a random program in virtual time and compares what memory holds with what it must hold.

use crate::draws::{Pools, engine, latency, simulation};
use crate::findings::{Findings, check_memory};
use crate::program::{CLAIM, COUNTER, Expected, Instruction, Phases, Program, Script, elements, generate};
use crate::random::Random;
use crate::world::{from, into, kernel};
use rma_ch_sim::{Actor, Context, Fault, Latency, SimConfig, SimHost, SimWorld, Step};
use rma_core::config::EngineConfig;
use rma_core::datatype::BasicType;
use rma_core::error::Result;
use rma_core::host::{Group, Host, HostRequest};
use rma_core::ids::{Disp, Peer, Rank};
use rma_core::kernel::{CompareAndSwap, ReduceOp};
use rma_core::progress::NoUpper;
use rma_core::window::Sync;
use rma_core::window::{Window, WindowCreation, WindowFree, WindowSpec};
use rma_core::{Engine, ErrorClass};
use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

mod calls;
use calls::{begin, ranks_of};

/// Steps after which a program hangs.
const MOST_STEPS: u64 = 3_000_000;
/// Polls without news after which a rank waits to be woken.
const QUIET_POLLS: u32 = 3;

/// Everything about a run that its seed decides.
#[derive(Clone, Debug)]
pub struct Plan {
    seed: u64,
    ranks: u32,
    sim: SimConfig,
    engine: EngineConfig,
    latency: Latency,
    /// By window: the user's memory or the library's.
    is_created: Vec<bool>,
    pauses: Vec<Fault>,
    death: Option<(u32, Duration)>,
    program: Program,
}

struct Player {
    me: u32,
    ranks: u32,
    engine: Engine,
    host: Arc<SimHost>,
    expected: Rc<Expected>,
    findings: Rc<RefCell<Findings>>,
    /// The rank that dies, if one does.
    doomed: Option<u32>,
    script: Script,
    memory: Vec<Vec<u64>>,
    is_created: Vec<bool>,
    windows: Vec<Window>,
    stage: Stage,
    at: usize,
    sync: Option<Sync>,
    barrier: Option<HostRequest>,
    pending: Vec<(usize, Instruction)>,
    quiet: u32,
}

enum Stage {
    Creating(Option<Box<WindowCreation>>),
    Playing,
    Checking,
    Serving,
    Freeing(Option<WindowFree>),
}

impl Plan {
    /// The plan of a seed: all kinds of calls, no rank dies.
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let ranks = 2 + random.below(4) as u32;
        let windows = 1 + random.below(2) as usize;
        let nodes = random.pick(&[1, 1, 2, 0]);
        let program = generate(&mut random, ranks, windows, Phases::All);
        Self::with(seed, random, ranks, windows, nodes, program)
    }

    /// The plan of a seed in which a rank dies while others hold locks, wait for them, and communicate.
    pub fn with_death(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let ranks = 3 + random.below(3) as u32;
        let windows = 1 + random.below(2) as usize;
        let phases = random.pick(&[Phases::Passive, Phases::Passive, Phases::Fenced]);
        let program = generate(&mut random, ranks, windows, phases);
        let death = (random.below(ranks.into()) as u32, Duration::from_nanos(random.below(600_000)));
        // Locks of ranks that share memory are words there, which are not repaired yet.
        let plan = Self::with(seed, random, ranks, windows, 1, program);
        Self { death: Some(death), ..plan }
    }

    fn with(seed: u64, mut random: Random, ranks: u32, windows: usize, nodes: u64, program: Program) -> Self {
        let sim = simulation(&mut random, nodes);
        let engine = engine(&mut random, Pools::Drawn);
        let latency = latency(&mut random);
        let micros = |n| Duration::from_micros(n);
        let pauses = (0..random.below(3)).map(|_| Fault::Pause {
            rank: Peer(random.below(ranks.into()) as u32),
            at: micros(random.below(500)),
            length: micros(random.below(2000)),
        });
        let pauses = pauses.collect();
        let is_created = (0..windows).map(|_| random.coin()).collect();
        Self { seed, ranks, sim, engine, latency, is_created, pauses, death: None, program }
    }

    /// Runs the program and checks its outcome.
    ///
    /// # Panics
    /// When anything is wrong; the caller says which seed it was.
    pub fn run(&self) {
        let mut world = SimWorld::new(self.ranks, self.sim.clone(), self.latency.clone(), self.seed);
        let expected = Rc::new(self.program.expected.clone());
        let findings = Rc::new(RefCell::new(Findings::default()));
        for me in 0..self.ranks {
            let net = world.net().clone();
            let host = Arc::new(net.host(Peer(me)));
            let channel = Box::new(net.channel(Peer(me)));
            let shared_host = Arc::clone(&host) as Arc<dyn Host>;
            let engine = Engine::new(self.engine.clone(), channel, shared_host, Box::new(NoUpper));
            world.spawn(
                Peer(me),
                Player {
                    me,
                    ranks: self.ranks,
                    engine: engine.expect("engine"),
                    host,
                    expected: Rc::clone(&expected),
                    findings: Rc::clone(&findings),
                    doomed: self.death.map(|(rank, _)| rank),
                    script: self.program.scripts[me as usize].clone(),
                    memory: vec![vec![0; elements(self.ranks) as usize]; self.is_created.len()],
                    is_created: self.is_created.clone(),
                    windows: Vec::new(),
                    stage: Stage::Creating(None),
                    at: 0,
                    sync: None,
                    barrier: None,
                    pending: Vec::new(),
                    quiet: 0,
                },
            );
        }
        self.pauses.iter().for_each(|pause| world.plan(*pause));
        if let Some((rank, at)) = self.death {
            world.plan(Fault::Death { rank: Peer(rank), at });
        }
        world.run(MOST_STEPS).unwrap_or_else(|stuck| panic!("{stuck}"));
        if self.death.is_none() {
            findings.borrow().check(&expected);
        }
    }
}

impl Actor for Player {
    fn step(&mut self, context: &mut Context<'_>) -> Step {
        let moved = self.engine.poll();
        let advanced = match &mut self.stage {
            Stage::Creating(_) => self.create(),
            Stage::Playing => self.play(),
            Stage::Checking => {
                check_memory(&self.windows, &self.expected, self.me, self.ranks);
                self.stage = Stage::Freeing(None);
                true
            }
            Stage::Serving => {
                if self.findings.borrow().ended + 1 < self.ranks {
                    return Step::WaitUntil(
                        context.now() + Duration::from_micros(20),
                        "others to end".into(),
                    );
                }
                self.stage = Stage::Freeing(None);
                true
            }
            Stage::Freeing(None) if self.windows.is_empty() => return Step::Done,
            Stage::Freeing(_) => self.free(),
        };
        if let Err(broken) = self.engine.check_invariants() {
            panic!("rank {} after {:?}: {broken}", self.me, self.script.steps.get(self.at));
        }
        self.quiet = if moved || advanced { 0 } else { self.quiet + 1 };
        if self.quiet < QUIET_POLLS {
            return Step::Again;
        }
        let step = Cow::<str>::from(format!("{:?}", self.script.steps.get(self.at)));
        self.engine.due().map_or(Step::Wait(Cow::clone(&step)), |due| Step::WaitUntil(due, step))
    }
}

impl Player {
    fn group(&self) -> Group {
        Group::strided(0, Rank(self.me), Peer(0), 1, self.ranks)
    }

    fn create(&mut self) -> bool {
        let Stage::Creating(creation) = &mut self.stage else { return false };
        let Some(under_way) = creation else {
            let at = self.windows.len();
            if at == self.is_created.len() {
                self.stage = Stage::Playing;
                return true;
            }
            let spec = if self.is_created[at] {
                WindowSpec::Create { memory: into(&mut self.memory[at]), unit: 8 }
            } else {
                WindowSpec::Allocate { len: elements(self.ranks) * 8, unit: 8 }
            };
            let group = Group::strided(0, Rank(self.me), Peer(0), 1, self.ranks);
            *creation = Some(Box::new(self.engine.begin_window(group, spec).expect("creation begins")));
            return true;
        };
        match under_way.poll() {
            Ok(None) => false,
            Ok(Some(window)) => {
                *creation = None;
                self.windows.push(window);
                true
            }
            Err(error) => {
                assert!(self.doomed.is_some() && error.class() == ErrorClass::ProcFailed, "{error}");
                self.end_early();
                true
            }
        }
    }

    fn end_early(&mut self) {
        self.findings.borrow_mut().ended += u32::from(self.doomed != Some(self.me));
        self.stage = Stage::Serving;
    }

    /// Does a step of the script, or waits for the last one; answers whether it came further.
    fn play(&mut self) -> bool {
        let Some(step) = self.script.steps.get(self.at).cloned() else {
            return self.finish();
        };
        match self.attempt(&step) {
            Ok(true) => {
                self.on_done(&step);
                self.at += 1;
                true
            }
            Ok(false) => false,
            Err(error) => {
                let doomed = self.doomed.unwrap_or_else(|| panic!("rank {}: {step:?}: {error}", self.me));
                // A fence epoch concerns all ranks, and has ended with the dead; the rank goes on with its
                // collective calls, or others would wait for it.
                let is_ended = self.is_in_fence(&step) && error.class() == ErrorClass::RmaSync;
                let is_lost = error.class() == ErrorClass::ProcFailed;
                assert!(is_lost || is_ended, "rank {}: {step:?}: {error}", self.me);
                // What a fence epoch has lost, the next lock call may be the first to say.
                let is_late = matches!(step, Instruction::Lock { .. }) && self.has_fenced();
                if let Some(target) = step.target().filter(|_| !self.is_in_fence(&step) && !is_late) {
                    assert_eq!(target, doomed, "rank {}: {step:?} does not depend on the dead", self.me);
                }
                // A lock call that has said so is made again.
                (self.sync, self.at) = (None, self.at + usize::from(!is_late));
                true
            }
        }
    }

    /// Whether a step is a communication call of a fence epoch.
    fn is_in_fence(&self, step: &Instruction) -> bool {
        let is_synchronization =
            |step: &&Instruction| matches!(step, Instruction::Fence { .. } | Instruction::Lock { .. });
        let last = self.script.steps[..self.at].iter().rfind(is_synchronization);
        let is_call = !matches!(step, Instruction::Unlock { .. } | Instruction::Flush { .. });
        is_call && matches!(last, Some(Instruction::Fence { .. }))
    }

    fn has_fenced(&self) -> bool {
        self.script.steps[..self.at].iter().any(|step| matches!(step, Instruction::Fence { .. }))
    }

    /// Makes the call of a step, or asks how far it is.
    fn attempt(&mut self, step: &Instruction) -> Result<bool> {
        let windows = &self.windows;
        if self.sync.is_none() {
            self.sync = begin(windows, step)?;
        }
        match step {
            Instruction::Fence { window, .. }
            | Instruction::Lock { window, .. }
            | Instruction::Unlock { window, .. }
            | Instruction::LockAll { window, .. }
            | Instruction::UnlockAll { window }
            | Instruction::FlushAll { window, .. }
            | Instruction::Start { window, .. }
            | Instruction::Complete { window }
            | Instruction::Wait { window }
            | Instruction::Flush { window, .. } => {
                let Some(sync) = &mut self.sync else { return Ok(true) };
                let is_over = windows[*window].poll_sync(sync)?;
                if is_over {
                    self.sync = None;
                }
                Ok(is_over)
            }
            Instruction::Post { window, group, assert } => {
                windows[*window].try_post_to(&ranks_of(group), *assert).map(|()| true)
            }
            Instruction::Barrier => self.barrier(),
            Instruction::Increment { .. } | Instruction::Expect { .. } => Ok(true),
            operation => self.communicate(operation),
        }
    }

    fn barrier(&mut self) -> Result<bool> {
        let request = match self.barrier {
            Some(request) => request,
            None => self.host.begin_barrier(&self.group())?,
        };
        self.barrier = Some(request);
        let is_over = self.host.poll(request).inspect_err(|_| self.barrier = None)?.is_some();
        if is_over {
            self.barrier = None;
        }
        Ok(is_over)
    }

    fn communicate(&mut self, operation: &Instruction) -> Result<bool> {
        let buffers = &mut self.script.buffers;
        let queued = match operation {
            Instruction::Put { window, target, at, buffer } => {
                self.windows[*window].try_put(from(&buffers[*buffer]), Rank(*target), Disp(*at))?
            }
            Instruction::Get { window, target, at, buffer } => {
                self.windows[*window].try_get(into(&mut buffers[*buffer]), Rank(*target), Disp(*at))?
            }
            Instruction::Sum { window, target, at, buffer } => {
                let values = from(&buffers[*buffer]);
                self.windows[*window].try_accumulate(
                    values,
                    kernel(ReduceOp::Sum),
                    Rank(*target),
                    Disp(*at),
                )?
            }
            Instruction::FetchAdd { window, target, buffer } => {
                let (one, old) = (1u64.to_ne_bytes(), into(&mut buffers[*buffer]));
                let add = kernel(ReduceOp::Sum);
                self.windows[*window].try_fetch_and_op(&one, old, add, Rank(*target), Disp(COUNTER))?
            }
            Instruction::Claim { window, target, claim, buffer } => {
                let (mine, free) = (u64::from(self.me + 1).to_ne_bytes(), 0u64.to_ne_bytes());
                let old = into(&mut buffers[*buffer]);
                let swap = CompareAndSwap::new(BasicType::U64).expect("defined on integers");
                let at = Disp(CLAIM + claim);
                self.windows[*window].try_compare_and_swap(&mine, &free, old, swap, Rank(*target), at)?
            }
            other => unreachable!("{other:?} is no operation"),
        };
        Ok(queued)
    }

    /// Checks what a completed step says.
    fn on_done(&mut self, step: &Instruction) {
        match step {
            Instruction::FetchAdd { window, .. } | Instruction::Claim { window, .. } => {
                self.pending.push((*window, step.clone()));
            }
            Instruction::Fence { window, .. }
            | Instruction::UnlockAll { window }
            | Instruction::FlushAll { window, .. }
            | Instruction::Complete { window } => self.settle(*window, None),
            Instruction::Unlock { window, target } | Instruction::Flush { window, target, .. } => {
                self.settle(*window, Some(*target));
            }
            Instruction::Increment { from, to } => {
                let pair = &self.script.buffers[*from];
                assert!(
                    self.doomed.is_some() || pair[0] == pair[1],
                    "an exclusive lock was not alone: {pair:?}"
                );
                let next = pair[0].wrapping_add(1);
                self.script.buffers[*to].fill(next);
            }
            Instruction::Expect { buffer, values } if self.doomed.is_none() => {
                assert_eq!(&self.script.buffers[*buffer], values, "rank {}, step {}", self.me, self.at);
            }
            _ => {}
        }
    }

    /// Results that a synchronization call has completed.
    fn settle(&mut self, window: usize, target: Option<u32>) {
        let mut findings = self.findings.borrow_mut();
        self.pending.retain(|(of, step)| {
            let (to, buffer, claim) = match step {
                Instruction::FetchAdd { target, buffer, .. } => (*target, *buffer, None),
                Instruction::Claim { target, buffer, claim, .. } => (*target, *buffer, Some(*claim)),
                _ => return false,
            };
            if *of != window || target.is_some_and(|target| target != to) {
                return true;
            }
            let value = self.script.buffers[buffer][0];
            match claim {
                None => findings.fetched.entry((window, to)).or_default().push(value),
                Some(claim) if value == 0 => {
                    findings.winners.entry((window, to, claim)).or_default().push(self.me);
                }
                Some(_) => {}
            }
            false
        });
    }

    /// The script is over: meets the others, and looks at memory.
    fn finish(&mut self) -> bool {
        if self.doomed.is_some() {
            self.end_early();
            return true;
        }
        let met = self.barrier().expect("no rank dies");
        if met {
            self.stage = Stage::Checking;
        }
        met
    }

    fn free(&mut self) -> bool {
        let Stage::Freeing(free) = &mut self.stage else { return false };
        let Some(under_way) = free else {
            // In the same order on all ranks.
            match self.windows.remove(0).begin_free() {
                Ok(started) => *free = Some(started),
                Err((_, error)) => assert!(self.doomed.is_some(), "rank {}: {error}", self.me),
            }
            return true;
        };
        let is_over = under_way.poll().unwrap_or_else(|error| {
            assert!(self.doomed.is_some() && error.class() == ErrorClass::ProcFailed, "{error}");
            true
        });
        if is_over {
            *free = None;
        }
        is_over
    }
}
