//! Random programs with faults in virtual time: ranks die, are stopped, start late and lose connections, with one rank per node,
//! several, or all on one, which then map each other's memory. Everything follows from the seed.
//!
//! The programs, and what survivors must have seen, are those of jobs of processes ([`super::program`],
//! [`super::judge`]). A rank dies between two polls of its engine, wherever its call is then. A connection
//! breaks between ranks of two nodes only. Some rank must make progress within each [`BOUND`] of virtual
//! time.

use super::case::{Case, Death, Faults, How, Way, When};
use super::cells::Cell;
use super::diary::Line;
use super::judge::{End, Fault, Kind, judge};
use super::program::{Calls, WINDOWS, generate};
use crate::draws::{engine, latency, simulation};
use crate::random::Random;
use crate::seeds::Pools;
use ledger::Ledger;
use player::Player;
use reported::Reported;
use rma_ch_sim::{Actor, Context, Fault as Planned, Latency, SimConfig, SimWorld, Step};
use rma_core::Engine;
use rma_core::config::EngineConfig;
use rma_core::host::Host;
use rma_core::ids::Peer;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context as TaskContext, Waker};
use std::time::Duration;

mod ledger;
pub mod many;
mod minimise;
mod player;
mod reported;

pub use minimise::minimise;

/// Longest time without progress of any rank: above the longest pause, and far above what any call takes.
pub const BOUND: Duration = Duration::from_millis(30);
/// Turns of a whole run.
const MOST_TURNS: u64 = 20_000_000;
/// Turns without news after which a rank waits to be woken.
const QUIET_TURNS: u32 = 3;
/// How often a rank that waits looks again.
const LOOK: Duration = Duration::from_micros(5);

/// A simulated job with faults.
#[derive(Clone, Debug)]
pub struct SimCase {
    /// What the job does.
    pub case: Case,
    /// The ranks that die.
    pub deaths: Vec<Death>,
    /// Two ranks that lose each other, and when.
    pub cut: Option<([u32; 2], Duration)>,
    /// The ranks that are stopped for a while, or start late.
    pub pauses: Vec<Planned>,
    /// By rank: how late it learns of a death.
    pub lateness: Vec<Duration>,
    pub(super) sim: SimConfig,
    pub(super) engine: EngineConfig,
    pub(super) latency: Latency,
}

/// Which cases are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kinds {
    /// All.
    All,
    /// Those in which each rank is a node of its own, and whose programs keep their windows.
    Apart,
    /// As `All`, but without deaths where ranks share a node; programs keep their windows.
    Alive,
}

/// What came of a run.
#[derive(Debug, Default)]
pub struct Outcome {
    /// What is wrong.
    pub faults: Vec<Fault>,
    /// Ranks that have died.
    pub deaths: usize,
    /// Whether a connection was lost while the job ran.
    pub is_cut: bool,
    /// Steps that have begun.
    pub steps: u64,
}

impl Kinds {
    /// Those of a word.
    pub fn of(word: &str) -> Option<Self> {
        match word {
            "all" => Some(Self::All),
            "apart" => Some(Self::Apart),
            "alive" => Some(Self::Alive),
            _ => None,
        }
    }
}

impl SimCase {
    /// The case of a seed.
    pub fn new(seed: u64, kinds: Kinds) -> Self {
        let mut random = Random::new(seed);
        let ranks = 2 + random.below(5) as u32;
        let nodes = random.pick(if kinds == Kinds::Apart { &[1] } else { &[1, 2, 2, 0] });
        let drawn = random.pick(&[Calls::Windows, Calls::PairedWindows]);
        let calls = if kinds != Kinds::All && drawn == Calls::Windows { Calls::KeptWindows } else { drawn };
        let program = generate(&mut random, ranks, calls);
        let is_cut =
            calls == Calls::PairedWindows && random.coin() && (nodes == 1 || (nodes == 2 && ranks > 2));
        let cut = is_cut.then(|| draw_cut(&mut random, ranks, nodes as u32));
        let most = if is_cut { random.below(2) } else { 1 + random.below(4) / 3 };
        let mut deaths = Vec::<Death>::new();
        let most = if kinds == Kinds::Alive && nodes != 1 { 0 } else { most.min(u64::from(ranks) - 1) };
        for _ in 0..most {
            let rank = random.below(ranks.into()) as u32;
            if deaths.iter().all(|death| death.rank != rank) {
                let steps = program.scripts[rank as usize].len() as u64;
                deaths.push(Death { rank, when: draw_moment(&mut random, steps), how: How::Kill });
            }
        }
        let micros = Duration::from_micros;
        let mut pauses = Vec::new();
        for _ in 0..random.below(4) {
            let rank = Peer(random.below(ranks.into()) as u32);
            let length = micros(random.pick(&[50, 500, 3000]) + random.below(1000));
            let at = if random.below(3) == 0 { Duration::ZERO } else { micros(random.below(2000)) };
            pauses.push(Planned::Pause { rank, at, length });
        }
        let lateness = (0..ranks).map(|_| micros(random.pick(&[0, 20, 300]))).collect();
        let way = match nodes {
            0 => Way::Mapped,
            1 => Way::Shm,
            _ => Way::Nodes,
        };
        let is_allocated = std::array::from_fn::<bool, WINDOWS, _>(|at| at == 0 || random.below(3) > 0);
        let case = Case {
            seed,
            cell: None,
            faults: Faults::Death,
            way,
            ranks,
            variables: Vec::new(),
            is_allocated,
            goes_on: true,
            program,
            death: None,
            stop: None,
            calls,
            members: ranks,
            must_fail: Vec::new(),
        };
        let mut sim = simulation(&mut random, nodes);
        // Elements of a put that is cut off by a death are old or new, never half of each.
        sim.body_step_bytes = sim.body_step_bytes.next_multiple_of(8);
        sim.transfer_bytes = sim.transfer_bytes.next_multiple_of(8);
        let engine = engine(&mut random, Pools::Drawn);
        let latency = latency(&mut random);
        Self { case, deaths, cut, pauses, lateness, sim, engine, latency }
    }

    /// An entry of the matrix, with so many ranks on a node; sizes, delays and the moment of death follow from the seed.
    pub fn of_cell(cell: Cell, way: Way, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let limit = random.pick(&[1, 20_000, 200_000]);
        let delay = Duration::from_nanos(random.below(limit));
        let case = Case { seed, ..cell.case(way, delay) };
        let nodes = match way {
            Way::Mapped => 0,
            Way::Shm | Way::Tcp => 1,
            Way::Nodes => 2,
        };
        let lateness = Duration::from_micros(random.pick(&[0, 20, 300]));
        let mut sim = simulation(&mut random, nodes);
        sim.body_step_bytes = sim.body_step_bytes.next_multiple_of(8);
        sim.transfer_bytes = sim.transfer_bytes.next_multiple_of(8);
        let engine = engine(&mut random, Pools::Drawn);
        let latency = latency(&mut random);
        let (deaths, lateness) = (case.death.into_iter().collect(), vec![lateness; case.ranks as usize]);
        Self { case, deaths, cut: None, pauses: Vec::new(), lateness, sim, engine, latency }
    }

    /// Runs the case and judges it.
    pub fn run(&self) -> Outcome {
        std::panic::catch_unwind(AssertUnwindSafe(|| self.simulate())).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            let text = format!("a panic: {}", text.unwrap_or_default());
            Outcome { faults: vec![Fault { kind: Kind::Error, text }], ..Outcome::default() }
        })
    }

    fn simulate(&self) -> Outcome {
        let ranks = self.case.ranks;
        let mut world = SimWorld::new(ranks, self.sim.clone(), self.latency.clone(), self.case.seed);
        let ledger = Rc::new(Ledger::new(ranks));
        let case = Rc::new(self.case.clone());
        for me in 0..ranks {
            let net = world.net().clone();
            let host = Arc::new(net.host(Peer(me)));
            let channel = Box::new(net.channel(Peer(me)));
            let reported = Box::new(Reported::new(net, self.lateness[me as usize]));
            let engine =
                Engine::new(self.engine.clone(), channel, Arc::clone(&host) as Arc<dyn Host>, reported);
            let engine = engine.expect("an engine of a simulated rank");
            let player = Player::new(me, Rc::clone(&case), engine.clone(), host, Rc::clone(&ledger));
            let death = self.deaths.iter().find(|death| death.rank == me).map(|death| death.when);
            let part: Part = Box::pin(player.play());
            let (case, ledger) = (Rc::clone(&case), Rc::clone(&ledger));
            let alive = Some((part, engine));
            world.spawn(Peer(me), Simulated { me, alive, case, ledger, death, started_at: None, quiet: 0 });
        }
        self.pauses.iter().for_each(|pause| world.plan(*pause));
        if let Some(([a, b], at)) = self.cut {
            world.plan(Planned::Cut { ranks: [Peer(a), Peer(b)], at });
        }
        let run = world.run(MOST_TURNS);
        let now = world.net().now();
        drop(world);
        let ledger = Rc::into_inner(ledger).expect("the ranks are gone");
        let is_cut = self.cut.is_some_and(|(_, at)| at <= now);
        let cut = self.cut.filter(|_| is_cut).map(|(pair, _)| pair);
        let (dead, diaries) = (ledger.dead.into_inner(), ledger.diaries.into_inner());
        let started = diaries.iter().flatten().filter(|line| matches!(line, Line::Begins(_)));
        let (deaths, steps) = (dead.len(), started.count() as u64);
        let hang = ledger.hang.into_inner().or_else(|| run.err().map(|stuck| stuck.to_string()));
        let faults = match hang {
            Some(text) => vec![Fault { kind: Kind::Hang, text }],
            None => {
                judge(&self.case, &End { dead, cut, diaries, memory: ledger.memory.into_inner(), said: None })
            }
        };
        Outcome { faults, deaths, is_cut, steps }
    }
}

/// What a rank does.
type Part = Pin<Box<dyn Future<Output = ()>>>;

/// A rank in the scheduler of virtual time.
struct Simulated {
    me: u32,
    /// In this order: the engine goes last, and its channel with it.
    alive: Option<(Part, Engine)>,
    case: Rc<Case>,
    ledger: Rc<Ledger>,
    death: Option<When>,
    /// When what the death comes behind was seen to have begun.
    started_at: Option<Duration>,
    quiet: u32,
}

impl Actor for Simulated {
    fn step(&mut self, context: &mut Context<'_>) -> Step {
        let now = context.now();
        self.ledger.now.set(now);
        if self.ledger.hang.borrow().is_some() {
            return Step::Done;
        }
        if self.is_to_die(now) {
            self.alive = None;
            self.ledger.bury(self.me);
            return Step::Done;
        }
        let Some((part, engine)) = &mut self.alive else { return Step::Done };
        let polled = engine.poll();
        let moved = self.ledger.moved_at.get();
        let is_over = part.as_mut().poll(&mut TaskContext::from_waker(Waker::noop())).is_ready();
        if let Err(broken) = engine.check_invariants() {
            panic!("invariant: {broken}\n{}", describe(&self.case, &self.ledger));
        }
        if is_over {
            self.ledger.leave(self.me);
            return Step::Done;
        }
        if now.saturating_sub(self.ledger.moved_at.get()) > BOUND {
            *self.ledger.hang.borrow_mut() = Some(describe(&self.case, &self.ledger));
        }
        self.quiet = if polled || moved != self.ledger.moved_at.get() { 0 } else { self.quiet + 1 };
        if self.quiet < QUIET_TURNS {
            return Step::Again;
        }
        // Diaries of others ring no bell.
        Step::WaitUntil(now + LOOK, "others".into())
    }
}

impl Simulated {
    fn is_to_die(&mut self, now: Duration) -> bool {
        let (has_started, delay) = match self.death {
            None => return false,
            Some(When::AtStart(delay)) => (true, delay),
            Some(When::After(delay)) => (self.ledger.has(self.me, &Line::Ready), delay),
            Some(When::Step(at, delay)) => (self.ledger.has(self.me, &Line::Begins(at)), delay),
        };
        if self.started_at.is_none() && has_started {
            self.started_at = Some(now);
        }
        self.started_at.is_some_and(|started| started + delay <= now)
    }
}

/// Where each rank stands, when none makes progress.
fn describe(case: &Case, ledger: &Ledger) -> String {
    let (diaries, dead) = (ledger.diaries.borrow(), ledger.dead.borrow());
    let places = (0..).zip(&*diaries).map(|(rank, lines)| case.place(rank, lines, ledger.is_gone(rank)));
    let places = places.collect::<String>();
    format!(
        "no rank has come further for {BOUND:?} of virtual time, at {:?}; dead: {dead:?}\n{places}",
        ledger.now.get()
    )
}

fn draw_cut(random: &mut Random, ranks: u32, nodes: u32) -> ([u32; 2], Duration) {
    let at = Duration::from_micros(random.below(2500));
    loop {
        let (a, b) = (random.below(ranks.into()) as u32, random.below(ranks.into()) as u32);
        if a / nodes != b / nodes {
            return ([a, b], at);
        }
    }
}

fn draw_moment(random: &mut Random, steps: u64) -> When {
    let micros = |random: &mut Random, limit: u64| Duration::from_nanos(random.below(limit * 1000));
    match random.below(12) {
        // While windows are made.
        0 => When::AtStart(micros(random, 150)),
        1 => When::After(micros(random, 1000)),
        _ if steps == 0 => When::After(Duration::ZERO),
        _ => {
            let limit = random.pick(&[1, 5, 50, 400]);
            When::Step(random.below(steps) as usize, micros(random, limit))
        }
    }
}

impl fmt::Display for SimCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { case, deaths, cut, pauses, lateness, sim, engine, latency } = self;
        let Case { ranks, members, is_allocated, .. } = case;
        writeln!(f, "{ranks} ranks, {members} in collective calls, allocated {is_allocated:?}")?;
        writeln!(
            f,
            "{deaths:?}\ncut {cut:?}\n{pauses:?}\ntold after {lateness:?}\n{sim:?}\n{engine:?}\n{latency:?}"
        )?;
        for (rank, script) in case.program.scripts.iter().enumerate() {
            writeln!(f, "rank {rank}")?;
            for (at, step) in script.iter().enumerate() {
                writeln!(f, "  {at} {step:?}")?;
            }
        }
        Ok(())
    }
}
