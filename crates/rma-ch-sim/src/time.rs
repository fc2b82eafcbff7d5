//! Time of a network: the real clock, or a virtual one with a queue of events and the dice of the seed.
//!
//! Invariants: virtual time never goes back; equal seeds and equal calls give equal draws and equal orders of events.

use crate::adversary::{Link, Mood};
use crate::dice::{Dice, Moment};
use parking_lot::Mutex;
use rma_core::ids::Peer;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// How long packets and notices are under way in virtual time: drawn evenly from a range, unless an [`Adversary`](crate::Adversary) has its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Latency(pub RangeInclusive<Duration>);

impl Default for Latency {
    /// 1 to 20 µs: packets of different pairs and lanes overtake each other by several packets.
    fn default() -> Self {
        Self(Duration::from_micros(1)..=Duration::from_micros(20))
    }
}

/// The clock of a network.
#[derive(Debug)]
pub(crate) enum Time {
    Real(Instant),
    Virtual(Box<Schedule>),
}

/// Virtual time: what happens when.
#[derive(Debug)]
pub(crate) struct Schedule {
    now: AtomicU64,
    latency: RangeInclusive<u64>,
    state: Mutex<TimeState>,
}

#[derive(Debug)]
struct TimeState {
    dice: Dice,
    mood: Mood,
    /// Moments at which a rank has something to look at. The number keeps equal moments in order of their making.
    events: BinaryHeap<Reverse<(Moment, u64, Peer)>>,
    next_event: u64,
}

impl Time {
    pub(crate) fn real() -> Self {
        Self::Real(Instant::now())
    }

    pub(crate) fn from_seed(seed: u64, latency: &Latency) -> Self {
        let nanos = |d: &Duration| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX / 4).min(u64::MAX / 4);
        let latency = nanos(latency.0.start())..=nanos(latency.0.end());
        let (dice, mood) = (Dice::new(seed), Mood::even());
        let state = TimeState { dice, mood, events: BinaryHeap::new(), next_event: 0 };
        Self::Virtual(Box::new(Schedule { now: AtomicU64::new(0), latency, state: Mutex::new(state) }))
    }

    pub(crate) fn now(&self) -> Duration {
        match self {
            Self::Real(begin) => begin.elapsed(),
            Self::Virtual(schedule) => Duration::from_nanos(schedule.now().0),
        }
    }

    /// Whether a parcel that is due then has arrived.
    pub(crate) fn has_come(&self, due: Moment) -> bool {
        match self {
            Self::Real(_) => true,
            Self::Virtual(schedule) => due <= schedule.now(),
        }
    }

    /// When something sent now arrives, not before `earliest`.
    pub(crate) fn arrival(&self, link: Link, earliest: Moment) -> Moment {
        match self {
            Self::Real(_) => Moment(0),
            Self::Virtual(schedule) => schedule.arrival(link).max(earliest),
        }
    }
}

impl Schedule {
    pub(crate) fn now(&self) -> Moment {
        Moment(self.now.load(Relaxed))
    }

    fn arrival(&self, link: Link) -> Moment {
        let TimeState { dice, mood, .. } = &mut *self.state.lock();
        mood.arrival(dice, &self.latency, self.now(), link)
    }

    /// Says how delays are decided from now on.
    pub(crate) fn decide_by(&self, mood: Mood) {
        self.state.lock().mood = mood;
    }

    /// Notes that a rank has something to look at.
    pub(crate) fn add(&self, at: Moment, peer: Peer) {
        let mut state = self.state.lock();
        let number = state.next_event;
        state.next_event += 1;
        state.events.push(Reverse((at, number, peer)));
    }

    /// Notes a notice that is under way to a rank.
    pub(crate) fn add_notice(&self, peer: Peer) {
        let at = self.arrival(Link { from: None, to: peer });
        self.add(at, peer);
    }

    /// Lets time pass.
    pub(crate) fn pass(&self, nanos: u64) {
        self.now.store(self.now().0.saturating_add(nanos), Relaxed);
    }

    /// The next event that has come, if any.
    pub(crate) fn take_due(&self) -> Option<Peer> {
        let mut state = self.state.lock();
        let Reverse((at, _, peer)) = *state.events.peek()?;
        if at > self.now() {
            return None;
        }
        state.events.pop();
        Some(peer)
    }

    /// Moves time to the next event; `false` when there is none.
    pub(crate) fn skip_to_next(&self) -> bool {
        let state = self.state.lock();
        let Some(Reverse((at, ..))) = state.events.peek() else { return false };
        let now = self.now().max(*at);
        self.now.store(now.0, Relaxed);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: Link = Link { from: None, to: Peer(0) };

    #[test]
    fn events_come_in_time_order_and_equal_ones_in_order_of_making() {
        let Time::Virtual(schedule) = Time::from_seed(1, &Latency::default()) else { unreachable!() };
        for (at, peer) in [(30, 0), (10, 1), (10, 2), (20, 3)] {
            schedule.add(Moment(at), Peer(peer));
        }
        assert_eq!(schedule.take_due(), None);
        let mut order = Vec::new();
        while schedule.skip_to_next() {
            while let Some(peer) = schedule.take_due() {
                order.push((schedule.now().0, peer.0));
            }
        }
        assert_eq!(order, [(10, 1), (10, 2), (20, 3), (30, 0)]);
    }

    #[test]
    fn equal_seeds_draw_equal_latencies_within_the_range() {
        let latency = Latency(Duration::from_nanos(5)..=Duration::from_nanos(9));
        let draw = |seed| {
            let time = Time::from_seed(seed, &latency);
            (0..100).map(|_| time.arrival(LINK, Moment(0)).0).collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
        assert!((5..=9).all(|ns| draw(7).contains(&ns)) && draw(7).iter().all(|ns| (5..=9).contains(ns)));
        assert_eq!(Time::from_seed(0, &latency).arrival(LINK, Moment(1000)), Moment(1000));
    }
}
