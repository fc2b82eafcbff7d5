//! The common ground of one job: a port per rank, where first contacts meet, and the bells.
//!
//! Invariants: two ranks have one pair, also when both make contact at once; a rank that is gone is marked so under the
//! same lock under which contacts are made, so that no contact is left without an answer.

use crate::bell::Bell;
use crate::collective::Collectives;
use crate::config::SimConfig;
use crate::dice::Moment;
use crate::exposed::Exposed;
use crate::pair::{Pair, SideState, broken};
use crate::time::Time;
use parking_lot::Mutex;
use rma_core::channel::{Failure, FailureKind};
use rma_core::ids::Peer;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize};
use std::sync::mpsc::{self, Receiver, Sender};

/// What all ranks of a job share.
#[derive(Debug)]
pub(crate) struct Hub {
    pub(crate) config: SimConfig,
    pub(crate) time: Time,
    pub(crate) collectives: Collectives,
    pub(crate) exposed: Exposed,
    /// Most values that the hosts combine.
    reduced_max: AtomicUsize,
    ports: Box<[Port]>,
    /// Pairs that one side has made and the other has not taken up.
    half_made: Mutex<HashMap<[Peer; 2], Arc<Pair>>>,
    dead: Mutex<Vec<Peer>>,
    has_dead: AtomicBool,
    /// Pairs whose connection has broken.
    cuts: Mutex<Vec<[Peer; 2]>>,
    has_cuts: AtomicBool,
    /// The world is being dropped: no rank looks any more.
    is_over: AtomicBool,
}

/// The place of one rank.
#[derive(Debug)]
struct Port {
    bell: Bell,
    incoming: Mutex<Vec<Arc<Pair>>>,
    /// Ranks that have rung since the channel looked last: a poll looks at their connections only.
    ringing: Sender<Peer>,
    /// Only the rank itself takes it, so the lock is free.
    news: Mutex<Receiver<Peer>>,
    /// A [`SideState`]: `Here` also for a rank that has not started.
    presence: AtomicU8,
    is_taken: AtomicBool,
}

impl Port {
    fn new() -> Self {
        let (ringing, news) = mpsc::channel();
        Self {
            bell: Bell::default(),
            incoming: Mutex::default(),
            ringing,
            news: Mutex::new(news),
            presence: AtomicU8::default(),
            is_taken: AtomicBool::default(),
        }
    }

    fn ring(&self, from: Peer) {
        self.ringing.send(from).expect("the port has the other end too");
    }
}

impl Hub {
    pub(crate) fn new(ranks: u32, config: SimConfig, time: Time) -> Self {
        Self {
            config,
            time,
            collectives: Collectives::default(),
            exposed: Exposed::default(),
            reduced_max: AtomicUsize::new(33),
            ports: (0..ranks).map(|_| Port::new()).collect(),
            half_made: Mutex::default(),
            dead: Mutex::default(),
            has_dead: AtomicBool::new(false),
            cuts: Mutex::default(),
            has_cuts: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
        }
    }

    /// As many values as windows of a process need, and no less than by default.
    pub(crate) fn allow_windows(&self, most: u64) {
        self.reduced_max.fetch_max(1 + most.div_ceil(64) as usize, Relaxed);
    }

    pub(crate) fn reduced_max(&self) -> usize {
        self.reduced_max.load(Relaxed)
    }

    pub(crate) fn ranks(&self) -> u32 {
        self.ports.len() as u32
    }

    pub(crate) fn bell(&self, peer: Peer) -> &Bell {
        &self.port(peer).bell
    }

    fn port(&self, peer: Peer) -> &Port {
        &self.ports[peer.0 as usize]
    }

    /// Ranks that have rung this one, some perhaps twice, since this was asked last.
    pub(crate) fn take_news(&self, me: Peer, into: &mut Vec<Peer>) {
        into.extend(self.port(me).news.lock().try_iter());
    }

    /// Says that the channel of a rank is handed out; `false` when it was before.
    pub(crate) fn take_port(&self, peer: Peer) -> bool {
        !self.ports[peer.0 as usize].is_taken.swap(true, Relaxed)
    }

    /// Tells a rank that there is something its poll looks for at its connection with `from`.
    pub(crate) fn ring(&self, peer: Peer, from: Peer) {
        self.port(peer).ring(from);
        match &self.time {
            Time::Real(_) => self.bell(peer).ring(),
            Time::Virtual(schedule) => schedule.add_notice(peer),
        }
    }

    /// Tells a rank of a packet of `from` that arrives then.
    pub(crate) fn ring_at(&self, due: Moment, peer: Peer, from: Peer) {
        self.port(peer).ring(from);
        match &self.time {
            Time::Real(_) => self.bell(peer).ring(),
            Time::Virtual(schedule) => schedule.add(due, peer),
        }
    }

    /// Tells a rank of something that its channel does not look for.
    pub(crate) fn wake(&self, peer: Peer) {
        match &self.time {
            Time::Real(_) => self.bell(peer).wake(),
            Time::Virtual(schedule) => schedule.add_notice(peer),
        }
    }

    /// The pair of a first contact.
    pub(crate) fn connect(&self, me: Peer, to: Peer) -> Result<Arc<Pair>, Failure> {
        let unreachable = |detail| Err(Failure { kind: FailureKind::Unreachable, detail });
        let Some(port) = self.ports.get(to.0 as usize).filter(|_| to != me) else {
            return unreachable(format!("rank {to} is not another rank of this job of {}", self.ranks()));
        };
        let ends = [me.min(to), me.max(to)];
        if self.is_cut(ends) {
            return Err(broken(to));
        }
        let mut half_made = self.half_made.lock();
        // Made by the other rank, which may have left its packets in it and gone since: they come first.
        if let Some(pair) = half_made.remove(&ends) {
            return Ok(pair);
        }
        if port.presence.load(Acquire) == SideState::Dead as u8 {
            return Err(Failure { kind: FailureKind::Dead, detail: format!("rank {to} is dead") });
        }
        if port.presence.load(Acquire) != SideState::Here as u8 {
            return unreachable(format!("rank {to} has closed its channel and left"));
        }
        let pair = Arc::new(Pair::new(me, to, &self.config));
        half_made.insert(ends, Arc::clone(&pair));
        port.incoming.lock().push(Arc::clone(&pair));
        drop(half_made);
        self.ring(to, me);
        Ok(pair)
    }

    /// Whether a peer has made contact with a rank since it accepted last.
    pub(crate) fn has_incoming(&self, me: Peer) -> bool {
        !self.ports[me.0 as usize].incoming.lock().is_empty()
    }

    /// The pairs that others have made with a rank. It may have some of them already, by a contact of its own.
    pub(crate) fn accept(&self, me: Peer) -> Vec<Arc<Pair>> {
        if !self.has_incoming(me) {
            return Vec::new();
        }
        let mut half_made = self.half_made.lock();
        let incoming = std::mem::take(&mut *self.ports[me.0 as usize].incoming.lock());
        for pair in &incoming {
            half_made.remove(&pair.ends);
        }
        incoming
    }

    /// A rank is gone. Returns the pairs that it never accepted.
    pub(crate) fn leave(&self, me: Peer, state: SideState) -> Vec<Arc<Pair>> {
        let half_made = self.half_made.lock();
        self.ports[me.0 as usize].presence.store(state as u8, Release);
        drop(half_made);
        if state == SideState::Dead {
            self.note_death(me);
        }
        self.accept(me)
    }

    /// A rank will take part in no collective any more.
    pub(crate) fn note_death(&self, peer: Peer) {
        if self.is_over.load(Relaxed) {
            return;
        }
        let mut dead = self.dead.lock();
        if !dead.contains(&peer) {
            dead.push(peer);
        }
        drop(dead);
        self.has_dead.store(true, Release);
        for other in (0..self.ranks()).map(Peer).filter(|p| *p != peer) {
            self.wake(other);
        }
    }

    /// The connection of two ranks breaks, for good.
    pub(crate) fn cut(&self, a: Peer, b: Peer) {
        self.cuts.lock().push([a.min(b), a.max(b)]);
        self.has_cuts.store(true, Release);
        for (peer, from) in [(a, b), (b, a)] {
            self.ring(peer, from);
        }
    }

    /// The peers that a rank has lost the connection to; costs nothing while none has.
    pub(crate) fn cut_from(&self, me: Peer) -> Vec<Peer> {
        if !self.has_cuts.load(Acquire) {
            return Vec::new();
        }
        let cuts = self.cuts.lock();
        cuts.iter().filter(|ends| ends.contains(&me)).map(|[a, b]| if *a == me { *b } else { *a }).collect()
    }

    fn is_cut(&self, ends: [Peer; 2]) -> bool {
        self.has_cuts.load(Acquire) && self.cuts.lock().contains(&ends)
    }

    /// Says that no rank runs any more, so that the end of each is not announced to all others.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Relaxed);
    }

    /// The dead ranks; costs nothing while there are none.
    pub(crate) fn dead(&self) -> Vec<Peer> {
        if self.has_dead.load(Acquire) { self.dead.lock().clone() } else { Vec::new() }
    }
}
