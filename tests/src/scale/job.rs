//! A job that is measured: ranks as actors, which meet after every phase when nothing is under way any more.

use super::script::{Call, PHASES, Phase};
use super::tagged::{TaggedChannel, TaggedHost};
use super::weigh::{Owner, bytes_of, within};
use crate::world::{from, into};
use rma_ch_sim::{Actor, Context, Latency, SimConfig, SimHost, SimNet, SimWorld, Step};
use rma_core::Engine;
use rma_core::config::EngineConfig;
use rma_core::epoch::Assert;
use rma_core::host::{Group, Host, HostRequest};
use rma_core::ids::{Disp, Peer, Rank};
use rma_core::progress::NoUpper;
use rma_core::window::Sync;
use rma_core::window::{Window, WindowCreation, WindowFree, WindowSpec};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Bytes of window memory of each rank.
const WINDOW: u64 = 64;
/// Polls without news after which a rank waits for some.
const QUIET_POLLS: u32 = 3;
/// After so long, in virtual time, nothing is under way.
const SETTLE: Duration = Duration::from_micros(200);
const STEPS_PER_RANK: u64 = 20_000;
const VALUE: [u64; 1] = [7];

/// What was found when all ranks had done something and were idle.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// What they had done; `None` where it was no phase.
    pub phase: Option<Phase>,
    /// One-sided packets that it took.
    pub packets: u64,
    /// Bytes of the engines of all ranks but the first.
    pub engines: i64,
    /// Bytes of the first rank's engine.
    pub first: i64,
    /// Bytes of the simulated channels of all ranks: what a large job costs to simulate.
    pub channels: i64,
}

/// What the ranks share: one thread runs them all.
struct Common {
    engines: Vec<Engine>,
    arrived: usize,
    packets: u64,
    found: Vec<Measured>,
}

struct Player {
    me: u32,
    ranks: u32,
    engine: Engine,
    host: Arc<TaggedHost<SimHost>>,
    common: Rc<RefCell<Common>>,
    window: Option<Window>,
    stage: Stage,
    /// Which phase comes next; how many have been is the number of measurements.
    phase: usize,
    calls: Vec<Call>,
    at: usize,
    sync: Option<Sync>,
    away_until: Option<Duration>,
    got: Box<[u64; 1]>,
    quiet: u32,
}

enum Stage {
    /// Meets the others, because all have done the same, and then is idle until everything has arrived.
    Meeting(Option<HostRequest>),
    Settling(Duration),
    /// Meets the others again: the last to come has found all idle.
    Measuring(Option<HostRequest>),
    Creating(Option<Box<WindowCreation>>),
    Playing,
    Freeing(Option<WindowFree>),
    Over,
}

/// Runs a job of `ranks` ranks through all phases; gives what was found before there was a window, with the idle window,
/// after each phase, and when the window had been freed.
///
/// # Panics
/// When the job does not end, or a call fails.
pub fn measure(ranks: u32, config: &EngineConfig, seed: u64) -> Vec<Measured> {
    let sim = SimConfig { ranks_per_node: 1, lane_packets: 8, max_packet: 512, ..SimConfig::default() };
    let mut world = SimWorld::new(ranks, sim, Latency::default(), seed);
    let common = Rc::new(RefCell::new(Common {
        engines: Vec::with_capacity(ranks as usize),
        arrived: 0,
        packets: 0,
        found: Vec::new(),
    }));
    for me in 0..ranks {
        let player = Player::new(me, world.net(), config, &common);
        world.spawn(Peer(me), player);
    }
    world.run(STEPS_PER_RANK * u64::from(ranks)).unwrap_or_else(|stuck| panic!("{stuck}"));
    drop(world);
    Rc::into_inner(common).expect("all ranks are gone").into_inner().found
}

fn owner(me: u32) -> Owner {
    if me == 0 { Owner::FirstEngine } else { Owner::Engine }
}

impl Player {
    fn new(me: u32, net: &SimNet, config: &EngineConfig, common: &Rc<RefCell<Common>>) -> Self {
        let host = Arc::new(TaggedHost(net.host(Peer(me))));
        let channel = Box::new(TaggedChannel(Box::new(net.channel(Peer(me)))));
        let for_engine = Arc::clone(&host) as Arc<dyn Host>;
        let engine = within(owner(me), || {
            Engine::new(config.clone(), channel, for_engine, Box::new(NoUpper)).expect("engine")
        });
        common.borrow_mut().engines.push(engine.clone());
        Self {
            me,
            ranks: net.ranks(),
            engine,
            host,
            common: Rc::clone(common),
            window: None,
            stage: Stage::Meeting(None),
            phase: 0,
            calls: Vec::new(),
            at: 0,
            sync: None,
            away_until: None,
            got: Box::default(),
            quiet: 0,
        }
    }

    fn group(&self, context: u64) -> Group {
        Group::strided(context, Rank(self.me), Peer(0), 1, self.ranks)
    }

    /// Meets the others; answers whether all have come.
    fn meet(&self, request: &mut Option<HostRequest>) -> bool {
        let under_way =
            *request.get_or_insert_with(|| self.host.begin_barrier(&self.group(1)).expect("barrier"));
        self.host.poll(under_way).expect("barrier").is_some()
    }

    /// Goes one step further; answers whether anything changed.
    fn advance(&mut self, now: Duration) -> bool {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Meeting(mut request) => {
                let met = self.meet(&mut request);
                self.stage = if met { Stage::Settling(now + SETTLE) } else { Stage::Meeting(request) };
                met
            }
            Stage::Settling(until) => {
                let is_over = now >= until;
                if is_over {
                    self.arrive();
                }
                self.stage = if is_over { Stage::Measuring(None) } else { Stage::Settling(until) };
                is_over
            }
            Stage::Measuring(mut request) => {
                let met = self.meet(&mut request);
                self.stage = if met { self.next_stage() } else { Stage::Measuring(request) };
                met
            }
            Stage::Creating(creation) => self.create(creation),
            Stage::Playing => {
                self.stage = Stage::Playing;
                self.play(now)
            }
            Stage::Freeing(free) => self.free(free),
            Stage::Over => false,
        }
    }

    /// The last to come looks at what each has and did.
    fn arrive(&self) {
        let mut common = self.common.borrow_mut();
        common.arrived += 1;
        if common.arrived < self.ranks as usize {
            return;
        }
        common.arrived = 0;
        let packets = common.engines.iter().map(|engine| engine.counters().packets_sent).sum::<u64>();
        let phase = common.found.len().checked_sub(2).and_then(|at| PHASES.get(at).copied());
        let found = Measured {
            phase,
            packets: packets - common.packets,
            engines: bytes_of(Owner::Engine),
            first: bytes_of(Owner::FirstEngine),
            channels: bytes_of(Owner::Channel),
        };
        common.packets = packets;
        common.found.push(found);
    }

    fn next_stage(&mut self) -> Stage {
        self.phase += 1;
        if self.phase == 1 {
            return Stage::Creating(None);
        }
        if let Some(phase) = PHASES.get(self.phase - 2) {
            (self.calls, self.at) = (phase.calls(self.me, self.ranks), 0);
            return Stage::Playing;
        }
        self.calls = Vec::new();
        if self.window.is_some() { Stage::Freeing(None) } else { Stage::Over }
    }

    fn create(&mut self, creation: Option<Box<WindowCreation>>) -> bool {
        let (owner, spec) = (owner(self.me), WindowSpec::Allocate { len: WINDOW, unit: 8 });
        let is_new = creation.is_none();
        let begin = || Box::new(self.engine.begin_window(self.group(0), spec).expect("creation"));
        let mut creation = within(owner, || creation.unwrap_or_else(begin));
        self.window = within(owner, || creation.poll().expect("creation"));
        let is_made = self.window.is_some();
        self.stage = if is_made { Stage::Meeting(None) } else { Stage::Creating(Some(creation)) };
        is_made || is_new
    }

    fn play(&mut self, now: Duration) -> bool {
        let owner = owner(self.me);
        let window = self.window.as_ref().expect("the window is made");
        if let Some(sync) = &mut self.sync {
            let is_over = within(owner, || window.poll_sync(sync).expect("a call of the script"));
            if is_over {
                self.sync = None;
                self.at += 1;
            }
            return is_over;
        }
        let Some(call) = self.calls.get(self.at).copied() else {
            self.stage = Stage::Meeting(None);
            return true;
        };
        let started = within(owner, || match call {
            Call::Fence(assert) => Some(window.begin_fence(assert)),
            Call::Lock(kind, target) => Some(window.begin_lock(kind, Rank(target), Assert::NONE)),
            Call::Unlock(target) => Some(window.begin_unlock(Rank(target))),
            Call::LockAll => Some(window.begin_lock_all(Assert::NONE)),
            Call::UnlockAll => Some(window.begin_unlock_all()),
            Call::Put(..) | Call::Get(..) | Call::Away(..) => None,
        });
        if let Some(sync) = started {
            self.sync = Some(sync.expect("a call of the script"));
            return true;
        }
        let is_done = within(owner, || match call {
            Call::Put(target) => window.try_put(from(&VALUE), Rank(target), Disp(1)).expect("put"),
            Call::Get(target) => window.try_get(into(&mut self.got[..]), Rank(target), Disp(0)).expect("get"),
            _ => false,
        });
        if let Call::Away(micros) = call {
            let until = *self.away_until.get_or_insert(now + Duration::from_micros(micros));
            if now < until {
                return false;
            }
            self.away_until = None;
            self.at += 1;
            return true;
        }
        self.at += usize::from(is_done);
        is_done
    }

    fn free(&mut self, free: Option<WindowFree>) -> bool {
        let owner = owner(self.me);
        let Some(mut under_way) = free else {
            let window = self.window.take().expect("the window is freed once");
            let started = within(owner, || window.begin_free().map_err(|(_, error)| error).expect("free"));
            self.stage = Stage::Freeing(Some(started));
            return true;
        };
        let is_over = within(owner, || under_way.poll().expect("free"));
        if is_over {
            within(owner, || drop(under_way));
            self.stage = Stage::Meeting(None);
        } else {
            self.stage = Stage::Freeing(Some(under_way));
        }
        is_over
    }
}

impl Actor for Player {
    fn step(&mut self, context: &mut Context<'_>) -> Step {
        if let Some(until) = self.away_until.filter(|until| context.now() < *until) {
            return Step::WaitUntil(until, "the end of being away".into());
        }
        let moved = within(owner(self.me), || self.engine.poll());
        let advanced = self.advance(context.now());
        if matches!(self.stage, Stage::Over) {
            return Step::Done;
        }
        if let Some(until) = self.away_until {
            return Step::WaitUntil(until, "the end of being away".into());
        }
        self.quiet = if moved || advanced { 0 } else { self.quiet + 1 };
        if self.quiet < QUIET_POLLS {
            return Step::Again;
        }
        match self.stage {
            Stage::Settling(until) => Step::WaitUntil(until, "everything to arrive".into()),
            _ => match self.engine.due() {
                Some(due) => Step::WaitUntil(due, "the others, or its patience".into()),
                None => Step::Wait("the others".into()),
            },
        }
    }
}
