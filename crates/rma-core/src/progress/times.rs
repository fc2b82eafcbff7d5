//! How long waits take, and for which ranks, where the engine keeps statistics ([`crate::Engine::keep_statistics`]).
//!
//! A wait says what it needs when it has begun in vain, and again from time to time; the time in between is
//! added to every process that it needed. So a process's time is how long it kept this one waiting, and
//! processes that are late together share it. The first microseconds of looking at shared memory are no wait.

use super::step::Core;
use super::wait::Wait;
use crate::error::Result;
use crate::host::{Awaited, Need};
use crate::ids::Peer;
use crate::stats::Waited;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// From one look at what a wait needs to the next: at first, and at most. Each is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_micros(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(10);

/// What all waits of an engine have taken.
#[derive(Debug, Default)]
pub(crate) struct WaitTimes {
    are_kept: AtomicBool,
    sum: Mutex<Waited>,
}

/// A wait under way.
struct Timed {
    /// The processes that it needed at the last look, and when that was.
    needed: Vec<Peer>,
    looked: Duration,
    pause: Duration,
    by_peer: Vec<(Peer, Duration)>,
}

impl WaitTimes {
    /// From now on they are.
    pub(crate) fn keep(&self) {
        self.are_kept.store(true, Relaxed);
    }

    #[inline]
    pub(crate) fn are_kept(&self) -> bool {
        self.are_kept.load(Relaxed)
    }

    pub(crate) fn sum(&self) -> Waited {
        self.sum.lock().clone()
    }
}

impl Wait<'_> {
    /// [`Wait::until`], with its time.
    #[cold]
    pub(super) fn until_with_time<T>(
        &self,
        describe: &dyn Fn(&Core) -> Awaited,
        ready: &mut dyn FnMut(&mut Core) -> Result<Option<T>>,
    ) -> Result<T> {
        let began = self.host.now();
        let mut timed = Timed::new(began);
        let over = self.go_on(describe, &mut |core| {
            let value = ready(core)?;
            if value.is_none() {
                timed.look(self.host.now(), || describe(core));
            }
            Ok(value)
        });
        let now = self.host.now();
        timed.credit(now);
        self.waiting.times.sum.lock().on_waited(self.call, now.saturating_sub(began), &timed.by_peer);
        over
    }
}

impl Timed {
    fn new(now: Duration) -> Self {
        Self { needed: Vec::new(), looked: now, pause: Duration::ZERO, by_peer: Vec::new() }
    }

    /// The wait has looked in vain.
    fn look(&mut self, now: Duration, describe: impl FnOnce() -> Awaited) {
        if now.saturating_sub(self.looked) < self.pause {
            return;
        }
        self.credit(now);
        self.needed = describe().needs.iter().flat_map(peers).collect();
        self.needed.sort_unstable();
        self.needed.dedup();
        self.pause = (2 * self.pause).clamp(FIRST_PAUSE, LONGEST_PAUSE);
    }

    /// The time since the last look belongs to those that were needed then.
    fn credit(&mut self, now: Duration) {
        let time = now.saturating_sub(std::mem::replace(&mut self.looked, now));
        for peer in &self.needed {
            match self.by_peer.iter_mut().find(|(known, _)| known == peer) {
                Some((_, sum)) => *sum += time,
                None => self.by_peer.push((*peer, time)),
            }
        }
    }
}

/// The processes that have to do something.
fn peers(need: &Need) -> Vec<Peer> {
    match need {
        Need::Lock { target, .. } => vec![*target],
        Need::Fence(_, peers)
        | Need::Posts(_, peers)
        | Need::Completes(_, peers)
        | Need::Answers(_, peers)
        | Need::Free(_, peers)
        | Need::Creation(_, peers)
        | Need::Collective(_, peers) => peers.clone(),
        Need::Message(peer) => peer.iter().copied().collect(),
        Need::Receipt(peer) => vec![*peer],
        Need::Requests(peers) => peers.iter().copied().flatten().collect(),
        // The host has named them, where they are known.
        Need::Operation(..) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Place;

    fn needs(peers: &[u32]) -> Awaited {
        let place = Place { context: 0, window: None, name: String::new(), instance: None };
        Awaited::one(String::new(), Need::Collective(place, peers.iter().copied().map(Peer).collect()))
    }

    #[test]
    fn time_belongs_to_all_that_were_needed_at_its_begin() {
        let at = Duration::from_micros;
        let mut timed = Timed::new(at(100));
        timed.look(at(100), || needs(&[1, 2, 1]));
        timed.look(at(110), || unreachable!("the pause is longer"));
        timed.look(at(130), || needs(&[2]));
        timed.look(at(150), || unreachable!("and longer still"));
        timed.credit(at(1130));
        assert_eq!(timed.by_peer, [(Peer(1), at(30)), (Peer(2), at(1030))]);
    }

    #[test]
    fn every_need_names_its_processes() {
        for (need, named) in [
            (Need::Message(Some(Peer(3))), vec![Peer(3)]),
            (Need::Message(None), vec![]),
            (Need::Receipt(Peer(4)), vec![Peer(4)]),
            (Need::Requests(vec![None, Some(Peer(5))]), vec![Peer(5)]),
        ] {
            assert_eq!(peers(&need), named, "{need:?}");
        }
    }
}
