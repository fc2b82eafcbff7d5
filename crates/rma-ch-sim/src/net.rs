//! The network of one job, as its makers see it.

use crate::channel::SimChannel;
use crate::config::SimConfig;
use crate::host::SimHost;
use crate::hub::Hub;
use crate::time::{Latency, Schedule, Time};
use rma_core::ids::Peer;
use rma_core::poller::WakeHandle;
use std::sync::Arc;
use std::time::Duration;

/// The network of one job. Clones name the same network.
///
/// ```
/// use rma_ch_sim::{SimConfig, SimNet};
/// use rma_core::channel::{Channel, Lane, Room, Source};
/// use rma_core::ids::Peer;
///
/// let net = SimNet::real_time(2, SimConfig::default());
/// let (mut a, b) = (net.channel(Peer(0)), net.channel(Peer(1)));
/// assert_eq!(a.reserve(Peer(1), Lane::Request, 5), Ok(Room::Granted));
/// a.fill(Source::Bytes(b"hello"));
/// a.commit();
/// assert_eq!((a.usage().peers, b.usage().peers), (1, 0)); // until b polls
/// ```
#[derive(Clone, Debug)]
pub struct SimNet {
    hub: Arc<Hub>,
}

impl SimNet {
    /// A network for ranks on threads, with the real clock.
    pub fn real_time(ranks: u32, config: SimConfig) -> Self {
        Self { hub: Arc::new(Hub::new(ranks, config, Time::real())) }
    }

    /// A network in virtual time. Packets take `latency`, drawn per packet from `seed`, and overtake each other between
    /// pairs and between lanes, never within a lane of a pair. Time stands still until [`SimWorld`](crate::SimWorld) or
    /// [`SimNet::advance`] moves it.
    pub fn virtual_time(ranks: u32, config: SimConfig, latency: Latency, seed: u64) -> Self {
        Self { hub: Arc::new(Hub::new(ranks, config, Time::from_seed(seed, &latency))) }
    }

    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.hub.ranks()
    }

    /// Engines may have more than 2,048 windows: the hosts combine as many values as that takes.
    pub fn allow_windows(&self, most: u64) {
        self.hub.allow_windows(most);
    }

    /// The channel of a rank. Dropped without close, it is that rank's death.
    ///
    /// # Panics
    /// When there is no such rank, or its channel was handed out before.
    pub fn channel(&self, peer: Peer) -> SimChannel {
        assert!(peer.0 < self.ranks(), "rank {peer} is not below {}", self.ranks());
        assert!(self.hub.take_port(peer), "the channel of rank {peer} is in use already");
        SimChannel::new(Arc::clone(&self.hub), peer)
    }

    /// A host for a rank; one per rank, since it counts the rank's collective calls.
    ///
    /// # Panics
    /// When there is no such rank.
    pub fn host(&self, peer: Peer) -> SimHost {
        assert!(peer.0 < self.ranks(), "rank {peer} is not below {}", self.ranks());
        SimHost::new(Arc::clone(&self.hub), peer)
    }

    /// What wakes a rank when a collective is over, for ranks whose engine uses another channel. The rank's own channel
    /// does it when it is registered.
    ///
    /// # Panics
    /// When there is no such rank.
    pub fn wake_with(&self, peer: Peer, handle: WakeHandle) {
        self.hub.bell(peer).connect(handle);
    }

    /// Says that a rank takes part in no collective any more, for ranks whose engine uses another channel. The rank's own
    /// channel does it when it is dropped without close.
    pub fn declare_dead(&self, peer: Peer) {
        self.hub.note_death(peer);
    }

    /// Those that take part in no collective any more, and have not said goodbye.
    pub fn dead(&self) -> Vec<Peer> {
        self.hub.dead()
    }

    /// Breaks the connection of two ranks, for good: each loses the other, what is under way may be lost, and both live.
    pub fn cut(&self, a: Peer, b: Peer) {
        self.hub.cut(a, b);
    }

    /// Time since the network began.
    pub fn now(&self) -> Duration {
        self.hub.time.now()
    }

    /// Moves virtual time to the next packet or notice, or by a microsecond when nothing is under way. Does nothing in
    /// real time.
    pub fn advance(&self) {
        if let Time::Virtual(schedule) = &self.hub.time {
            while schedule.take_due().is_some() {}
            if !schedule.skip_to_next() {
                schedule.pass(1000);
            }
        }
    }

    /// Number of collectives that are remembered: those that some rank has begun and not every rank has ended.
    pub fn open_collectives(&self) -> usize {
        self.hub.collectives.len()
    }

    pub(crate) fn end(&self) {
        self.hub.end();
    }

    pub(crate) fn schedule(&self) -> Option<&Schedule> {
        match &self.hub.time {
            Time::Real(_) => None,
            Time::Virtual(schedule) => Some(schedule),
        }
    }
}
