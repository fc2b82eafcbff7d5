//! The scheduler of virtual time: runs all ranks of a job as step scripts on one thread.
//!
//! Which runnable rank steps next, how long a step takes and how long packets are under way follow from the seed and the
//! [`Adversary`], so a run is replayed by both. A rank that waits is not stepped until a packet, a notice or its time has come. Cost: two words
//! per idle rank.

use crate::adversary::{Adversary, Picker};
use crate::config::SimConfig;
use crate::dice::{Dice, Moment};
use crate::net::SimNet;
use crate::time::{Latency, Schedule};
use rma_core::ids::Peer;
use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

/// What a rank does, step by step. Closures are actors.
pub trait Actor {
    /// Does something that does not wait, and says how to go on.
    fn step(&mut self, context: &mut Context<'_>) -> Step;
}

impl<F: FnMut(&mut Context<'_>) -> Step> Actor for F {
    fn step(&mut self, context: &mut Context<'_>) -> Step {
        self(context)
    }
}

/// How an actor goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// It has more to do.
    Again,
    /// It waits for a packet or a collective; the words say for what, for reports of deadlocks.
    Wait(Cow<'static, str>),
    /// As [`Step::Wait`], but until that time at most.
    WaitUntil(Duration, Cow<'static, str>),
    /// It has ended. Its actor, and so its channel, lives until the world ends.
    Done,
}

/// What an actor knows of its world.
#[derive(Debug)]
pub struct Context<'a> {
    me: Peer,
    net: &'a SimNet,
    dice: &'a mut Dice,
}

impl Context<'_> {
    /// The rank that steps.
    pub fn me(&self) -> Peer {
        self.me
    }

    /// Its network.
    pub fn net(&self) -> &SimNet {
        self.net
    }

    /// Virtual time.
    pub fn now(&self) -> Duration {
        self.net.now()
    }

    /// A number that looks random and follows from the seed.
    pub fn random(&mut self) -> u64 {
        self.dice.roll()
    }
}

/// Something that goes wrong at a moment of virtual time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A rank is stopped for a while; it is alive, but takes no step.
    Pause {
        /// The rank.
        rank: Peer,
        /// From when.
        at: Duration,
        /// For how long.
        length: Duration,
    },
    /// The connection of two ranks breaks, for good, although both live; what is under way may be lost.
    Cut {
        /// Whose.
        ranks: [Peer; 2],
        /// When.
        at: Duration,
    },
    /// A rank dies: its actor is dropped, and with it its channel.
    Death {
        /// The rank.
        rank: Peer,
        /// When.
        at: Duration,
    },
}

/// What a run did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorldReport {
    /// Steps of all ranks.
    pub steps: u64,
    /// Virtual time at the end.
    pub now: Duration,
}

/// Why a run did not end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// The seed that replays it.
    pub seed: u64,
    /// Where it stopped.
    pub report: WorldReport,
    /// `true`: no rank can move any more. `false`: the bound of steps was reached.
    pub is_deadlock: bool,
    /// What each rank that has not ended waits for.
    pub waiting: Vec<(Peer, Cow<'static, str>)>,
}

/// A job in virtual time.
pub struct SimWorld<'a> {
    net: SimNet,
    seed: u64,
    dice: Dice,
    picker: Picker,
    ranks: Vec<Slot<'a>>,
    runnable: Vec<Peer>,
    faults: Vec<Fault>,
    /// Ranks whose script has not ended.
    unfinished: usize,
    steps: u64,
}

struct Slot<'a> {
    actor: Option<Box<dyn Actor + 'a>>,
    state: RankState,
    paused_until: Moment,
}

enum RankState {
    Runnable,
    Waiting(Cow<'static, str>),
    Ended,
}

/// Longest step in virtual time.
const STEP_NANOS: u64 = 1000;
/// Ranks named in the text of a report.
const NAMED_RANKS: usize = 16;

impl<'a> SimWorld<'a> {
    /// A job of `ranks` ranks without actors; a rank without one has ended.
    pub fn new(ranks: u32, config: SimConfig, latency: Latency, seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let net = SimNet::virtual_time(ranks, config, latency, dice.roll());
        let slot = || Slot { actor: None, state: RankState::Ended, paused_until: Moment(0) };
        Self {
            net,
            seed,
            dice,
            picker: Picker::new(Adversary::Even, ranks, seed),
            ranks: (0..ranks).map(|_| slot()).collect(),
            runnable: Vec::new(),
            faults: Vec::new(),
            unfinished: 0,
            steps: 0,
        }
    }

    /// The same job, with an adversary that decides.
    #[must_use]
    pub fn against(mut self, adversary: Adversary) -> Self {
        self.picker = Picker::new(adversary, self.net.ranks(), self.seed);
        self.schedule().decide_by(self.picker.mood());
        self
    }

    /// The network, for the channels and hosts that actors own.
    pub fn net(&self) -> &SimNet {
        &self.net
    }

    /// Gives a rank its script.
    ///
    /// # Panics
    /// When there is no such rank, or it has one.
    pub fn spawn(&mut self, rank: Peer, actor: impl Actor + 'a) {
        let slot = &mut self.ranks[rank.0 as usize];
        assert!(slot.actor.is_none(), "rank {rank} has a script already");
        slot.actor = Some(Box::new(actor));
        slot.state = RankState::Runnable;
        self.runnable.push(rank);
        self.unfinished += 1;
    }

    /// Plans a fault.
    pub fn plan(&mut self, fault: Fault) {
        let (rank, at) = match fault {
            Fault::Pause { rank, at, .. } | Fault::Death { rank, at } => (rank, at),
            Fault::Cut { ranks, at } => (ranks[0], at),
        };
        self.schedule().add(moment(at), rank);
        self.faults.push(fault);
    }

    /// Runs until every rank has ended, in at most `most_steps` steps.
    ///
    /// # Errors
    /// When no rank can move any more, or the steps were not enough.
    pub fn run(&mut self, most_steps: u64) -> Result<WorldReport, Stuck> {
        let end = self.steps.saturating_add(most_steps);
        loop {
            self.apply_faults();
            while let Some(rank) = self.schedule().take_due() {
                self.make_runnable(rank);
            }
            if self.unfinished == 0 {
                return Ok(self.report());
            }
            if self.runnable.is_empty() {
                if !self.schedule().skip_to_next() {
                    return Err(self.stuck(true));
                }
                continue;
            }
            if self.steps == end {
                return Err(self.stuck(false));
            }
            self.step();
        }
    }

    /// Steps one of the runnable ranks.
    fn step(&mut self) {
        let index = self.pick();
        let rank = self.runnable[index];
        let slot = &mut self.ranks[rank.0 as usize];
        if slot.paused_until > self.net.schedule().map_or(Moment(0), Schedule::now) {
            // The end of the pause is an event.
            slot.state = RankState::Waiting("the end of a pause".into());
            self.runnable.swap_remove(index);
            return;
        }
        let Some(actor) = slot.actor.as_mut() else {
            self.runnable.swap_remove(index);
            return;
        };
        self.steps += 1;
        let mut context = Context { me: rank, net: &self.net, dice: &mut self.dice };
        let next = actor.step(&mut context);
        slot.state = match next {
            Step::Again => RankState::Runnable,
            Step::Wait(what) => RankState::Waiting(what),
            Step::WaitUntil(at, what) => {
                self.net.schedule().expect("a world has virtual time").add(moment(at), rank);
                RankState::Waiting(what)
            }
            Step::Done => {
                self.unfinished -= 1;
                RankState::Ended
            }
        };
        if !matches!(slot.state, RankState::Runnable) {
            self.runnable.swap_remove(index);
        }
        let nanos = self.dice.within(&(1..=STEP_NANOS));
        self.schedule().pass(nanos);
    }

    fn pick(&mut self) -> usize {
        if self.picker.advance(&mut self.dice) {
            self.schedule().decide_by(self.picker.mood());
        }
        self.picker.pick(&mut self.dice, &self.runnable)
    }

    fn make_runnable(&mut self, rank: Peer) {
        let slot = &mut self.ranks[rank.0 as usize];
        if matches!(slot.state, RankState::Waiting(_)) {
            slot.state = RankState::Runnable;
            self.runnable.push(rank);
        }
    }

    fn apply_faults(&mut self) {
        let now = self.schedule().now();
        let mut i = 0;
        while i < self.faults.len() {
            match self.faults[i] {
                Fault::Pause { rank, at, length } if moment(at) <= now => {
                    let until = moment(at.saturating_add(length));
                    let slot = &mut self.ranks[rank.0 as usize];
                    slot.paused_until = slot.paused_until.max(until);
                    self.schedule().add(until, rank);
                    self.faults.swap_remove(i);
                }
                Fault::Cut { ranks: [a, b], at } if moment(at) <= now => {
                    self.net.cut(a, b);
                    self.faults.swap_remove(i);
                }
                Fault::Death { rank, at } if moment(at) <= now => {
                    self.faults.swap_remove(i);
                    self.kill(rank);
                }
                _ => i += 1,
            }
        }
    }

    fn kill(&mut self, rank: Peer) {
        let slot = &mut self.ranks[rank.0 as usize];
        if !matches!(slot.state, RankState::Ended) {
            self.unfinished -= 1;
        }
        slot.state = RankState::Ended;
        let actor = slot.actor.take();
        self.runnable.retain(|r| *r != rank);
        drop(actor);
        self.net.declare_dead(rank);
    }

    fn schedule(&self) -> &Schedule {
        self.net.schedule().expect("a world has virtual time")
    }

    fn report(&self) -> WorldReport {
        WorldReport { steps: self.steps, now: self.net.now() }
    }

    fn stuck(&self, is_deadlock: bool) -> Stuck {
        let waiting = (0..).map(Peer).zip(&self.ranks).filter_map(|(rank, slot)| match &slot.state {
            RankState::Ended => None,
            RankState::Runnable => Some((rank, Cow::Borrowed("nothing: it is runnable"))),
            RankState::Waiting(what) => Some((rank, what.clone())),
        });
        Stuck { seed: self.seed, report: self.report(), is_deadlock, waiting: waiting.collect() }
    }
}

impl Drop for SimWorld<'_> {
    fn drop(&mut self) {
        self.net.end();
    }
}

fn moment(at: Duration) -> Moment {
    Moment(u64::try_from(at.as_nanos()).unwrap_or(u64::MAX))
}

impl fmt::Debug for SimWorld<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimWorld")
            .field("seed", &self.seed)
            .field("ranks", &self.ranks.len())
            .field("steps", &self.steps)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.is_deadlock { "deadlock" } else { "too many steps" };
        let WorldReport { steps, now } = self.report;
        write!(f, "{what} after {steps} steps at {now:?}, seed {}", self.seed)?;
        for (rank, wait) in self.waiting.iter().take(NAMED_RANKS) {
            write!(f, "\n  rank {rank} waits for {wait}")?;
        }
        match self.waiting.len().saturating_sub(NAMED_RANKS) {
            0 => Ok(()),
            more => write!(f, "\n  and {more} more ranks"),
        }
    }
}

impl std::error::Error for Stuck {}
