//! A run in virtual time, which follows from the seed alone, and what it came to.

use super::chains::{self, Log};
use super::compile::compile;
use super::late::LateHost;
use super::plan::Plan;
use super::player::{Environment, Player, Turn};
use rma_ch_sim::{Actor, Context, SimWorld, Step};
use rma_core::Engine;
use rma_core::error::Result;
use rma_core::host::{Combine, Group, Host, HostRequest, Outcome};
use rma_core::ids::{Peer, Rank};
use rma_core::progress::NoUpper;
use std::any::Any;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::panic::AssertUnwindSafe;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Turns without progress of any rank, after which a program hangs.
const MOST_IDLE: u64 = 60_000;
/// Turns of a whole run.
const MOST_TURNS: u64 = 20_000_000;
/// Turns without news after which a rank waits to be woken.
const QUIET_TURNS: u32 = 3;

/// What a good run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Steps of actors; those of observers are not counted.
    pub steps: u64,
    /// Turns of ranks.
    pub turns: u64,
}

/// What the ranks of a run share besides the network.
#[derive(Default)]
struct Ledger {
    /// Actors that have come, by meeting.
    arrived: Vec<u32>,
    /// Actors that have told, by round.
    notified: HashSet<(u32, u32)>,
    addresses: HashMap<(usize, u32), u64>,
    /// Turns since any rank came further.
    idle: u64,
    log: Log,
    /// What ranks wait for, when none comes further.
    stuck: BTreeMap<u32, String>,
    /// Cells at the end, by rank.
    cells: HashMap<u32, Vec<Vec<u64>>>,
}

impl Ledger {
    /// What all ranks wait for.
    fn words(&self) -> String {
        self.stuck.values().cloned().collect::<Vec<_>>().join(" | ")
    }
}

struct Field {
    me: u32,
    /// The number that meets.
    actors: u32,
    group: Group,
    host: Arc<LateHost>,
    request: Option<HostRequest>,
    /// By thread: the communicators that it has, and the duplication under way.
    comms: Vec<(Vec<Group>, Option<HostRequest>)>,
    /// Contexts that this rank has named.
    contexts: u64,
    ledger: Rc<RefCell<Ledger>>,
}

impl Environment for Field {
    fn arrive(&mut self, meeting: usize) {
        let arrived = &mut self.ledger.borrow_mut().arrived;
        if arrived.len() <= meeting {
            arrived.push(0);
        }
        arrived[meeting] += 1;
    }

    fn have_met(&mut self, meeting: usize) -> Result<bool> {
        Ok(self.ledger.borrow().arrived[meeting] == self.actors)
    }

    fn tell(&mut self, round: u32, actor: u32) {
        self.ledger.borrow_mut().notified.insert((round, actor));
    }

    fn has_notified(&self, round: u32, actor: u32) -> Option<bool> {
        Some(self.ledger.borrow().notified.contains(&(round, actor)))
    }

    fn barrier(&mut self) -> Result<bool> {
        let request = match self.request {
            Some(request) => request,
            None => self.host.begin_barrier(&self.group)?,
        };
        self.request = Some(request);
        let is_over = self.host.poll(request)?.is_some();
        if is_over {
            self.request = None;
        }
        Ok(is_over)
    }

    fn publish(&mut self, window: usize, address: u64) {
        self.ledger.borrow_mut().addresses.insert((window, self.me), address);
    }

    fn group(&self, thread: u32) -> Group {
        self.comms[thread as usize].0.last().expect("the given one stays").clone()
    }

    fn duplicate(&mut self, thread: u32) -> Result<bool> {
        let whole = self.group(thread);
        let (comms, under_way) = &mut self.comms[thread as usize];
        let request = match *under_way {
            Some(request) => request,
            None => {
                // The highest that is named is that of one rank only.
                self.contexts += 1;
                let named = u64::from(self.me + 1) << 32 | self.contexts;
                self.host.begin_reduce(&whole, Combine::Max, &[named])?
            }
        };
        *under_way = Some(request);
        let Some(outcome) = self.host.poll(request)? else { return Ok(false) };
        let Outcome::Values(context) = outcome else { panic!("a reduction gave {outcome:?}") };
        *under_way = None;
        comms.push(Group::strided(context[0], whole.me(), Peer(0), 1, whole.size()));
        Ok(true)
    }

    fn release(&mut self, thread: u32) -> bool {
        let (comms, _) = &mut self.comms[thread as usize];
        let has_made = comms.len() > 1;
        if let Some(gone) = comms.pop_if(|_| has_made) {
            self.host.forget(gone.context());
        }
        has_made
    }

    fn address(&self, window: usize, rank: u32) -> u64 {
        self.ledger.borrow().addresses[&(window, rank)]
    }
}

/// A rank in the scheduler of virtual time.
struct Simulated {
    player: Player<Field>,
    ledger: Rc<RefCell<Ledger>>,
    quiet: u32,
    /// Bytes of transfers, when it was looked last.
    transferred: u64,
}

impl Actor for Simulated {
    fn step(&mut self, context: &mut Context<'_>) -> Step {
        let polled = self.player.engine.poll();
        let turn = self.player.turn(context.random());
        if let Err(broken) = self.player.engine.check_invariants() {
            panic!("{}: invariant: {broken}", self.player.describe());
        }
        let mut ledger = self.ledger.borrow_mut();
        ledger.idle = if turn == Turn::Waits { ledger.idle + 1 } else { 0 };
        if ledger.idle > MOST_IDLE {
            // A long operation may be one transfer after the other, of a byte each.
            let transferred = self.player.engine.counters().transferred_bytes;
            if std::mem::replace(&mut self.transferred, transferred) != transferred {
                ledger.idle = 0;
                ledger.stuck.clear();
            }
        }
        if ledger.idle > MOST_IDLE {
            ledger.stuck.insert(self.player.me, self.player.describe());
            let is_described = ledger.stuck.len() + ledger.cells.len() == self.player.program.ranks as usize;
            assert!(!is_described, "no rank comes further: {}", ledger.words());
        }
        if turn == Turn::Over {
            ledger.cells.insert(self.player.me, std::mem::take(&mut self.player.cells));
            for (place, seen) in std::mem::take(&mut self.player.log) {
                ledger.log.entry(place).or_default().extend(seen);
            }
            return Step::Done;
        }
        self.quiet = if polled || turn == Turn::Moved { 0 } else { self.quiet + 1 };
        if self.quiet < QUIET_TURNS {
            return Step::Again;
        }
        // Meetings of the whole job ring no bell.
        Step::WaitUntil(context.now() + Duration::from_micros(5), self.player.describe().into())
    }
}

impl Plan {
    /// Runs the program in virtual time and judges it.
    ///
    /// # Errors
    /// What is wrong.
    pub fn simulate(&self) -> Result<Report, String> {
        std::panic::catch_unwind(AssertUnwindSafe(|| self.run())).unwrap_or_else(|panic| Err(text(&*panic)))
    }

    fn run(&self) -> Result<Report, String> {
        let program = Arc::new(self.program.clone());
        let compiled = Arc::new(compile(&program));
        let ranks = program.ranks;
        let mut world =
            SimWorld::new(ranks, self.sim.clone(), self.latency.clone(), self.seed).against(self.adversary);
        let ledger = Rc::new(RefCell::new(Ledger::default()));
        for me in 0..ranks {
            let net = world.net().clone();
            let host = Arc::new(net.host(Peer(me)));
            let channel = Box::new(net.channel(Peer(me)));
            let group = Group::strided(0, Rank(me), Peer(0), 1, ranks);
            let late = self.seed ^ u64::from(me + 1) << 32;
            let host = Arc::new(LateHost::new(host, self.lateness, late));
            let shared_host = Arc::clone(&host) as Arc<dyn Host>;
            let engine = Engine::new(self.engine.clone(), channel, shared_host, Box::new(NoUpper));
            let engine = engine.map_err(|error| error.to_string())?;
            let field = Field {
                me,
                actors: program.actors() + ranks,
                group: group.clone(),
                host,
                request: None,
                comms: (0..program.threads).map(|thread| (vec![own_comm(thread, &group)], None)).collect(),
                contexts: 0,
                ledger: Rc::clone(&ledger),
            };
            let player = Player::new(me, group, engine, field, Arc::clone(&program), Arc::clone(&compiled));
            world.spawn(Peer(me), Simulated { player, ledger: Rc::clone(&ledger), quiet: 0, transferred: 0 });
        }
        self.pauses.iter().for_each(|pause| world.plan(*pause));
        let report = world.run(MOST_TURNS).map_err(|stuck| stuck.to_string())?;
        let ledger = ledger.borrow();
        chains::check(
            &ledger.log,
            |(window, rank, cell)| ledger.cells[&rank][window][cell as usize],
            &compiled.counts,
        )?;
        let steps = compiled.steps[..program.actors() as usize].iter().map(|steps| steps.len() as u64).sum();
        Ok(Report { steps, turns: report.steps })
    }
}

/// The communicator that a thread is given.
fn own_comm(thread: u32, whole: &Group) -> Group {
    Group::strided(1 + u64::from(thread), whole.me(), Peer(0), 1, whole.size())
}

/// What a panic says.
pub(super) fn text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_else(|| "a panic without words".to_owned())
}
