//! A host whose collectives end later for some ranks than for others, in virtual time: a rank that hears
//! first is ahead of those that have not heard.

use crate::random::Random;
use rma_ch_sim::SimHost;
use rma_core::error::Result;
use rma_core::host::{Combine, Group, Host, HostRequest, Locality, Outcome, SegmentRequest};
use rma_core::ids::Peer;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A simulated host, and outcomes that are there but not told.
pub(super) struct LateHost {
    host: Arc<SimHost>,
    most: Duration,
    untold: Mutex<Untold>,
}

struct Untold {
    random: Random,
    outcomes: HashMap<u64, (Duration, Outcome)>,
}

impl LateHost {
    /// Tells of the end of a collective up to `most` late; how late is drawn from the seed.
    pub(super) fn new(host: Arc<SimHost>, most: Duration, seed: u64) -> Self {
        let untold = Untold { random: Random::new(seed), outcomes: HashMap::new() };
        Self { host, most, untold: Mutex::new(untold) }
    }
}

impl Host for LateHost {
    fn begin_barrier(&self, group: &Group) -> Result<HostRequest> {
        self.host.begin_barrier(group)
    }

    fn begin_reduce(&self, group: &Group, combine: Combine, values: &[u64]) -> Result<HostRequest> {
        self.host.begin_reduce(group, combine, values)
    }

    fn poll(&self, request: HostRequest) -> Result<Option<Outcome>> {
        let mut untold = self.untold.lock().expect("no thread panics here");
        let now = self.host.now();
        if !untold.outcomes.contains_key(&request.0) {
            let Some(outcome) = self.host.poll(request)? else { return Ok(None) };
            let late = untold.random.below(1 + self.most.as_nanos() as u64);
            untold.outcomes.insert(request.0, (now + Duration::from_nanos(late), outcome));
        }
        let is_due = untold.outcomes.get(&request.0).is_some_and(|(due, _)| *due <= now);
        Ok(is_due.then(|| untold.outcomes.remove(&request.0)).flatten().map(|(_, outcome)| outcome))
    }

    fn begin_segment(&self, group: &Group, request: SegmentRequest) -> Result<HostRequest> {
        self.host.begin_segment(group, request)
    }

    fn locality(&self, peer: Peer) -> Locality {
        self.host.locality(peer)
    }

    fn now(&self) -> Duration {
        self.host.now()
    }
}
