//! The host of one rank: what the engine asks of the library it is embedded in, answered from shared memory.

use crate::collective::{Call, Key, node};
use crate::hub::Hub;
use parking_lot::Mutex;
use rma_core::host::{Combine, Group, Host, HostRequest, Locality, Outcome, SegmentRequest};
use rma_core::ids::{Peer, Rank};
use rma_core::{Error, ErrorClass, Result};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// The host of one rank of a [`SimNet`](crate::SimNet).
///
/// Collectives are matched by the group's context, its part, and the order of calls on it. When one is over, the members' pollers are
/// woken: through the channel's registration, or the handle given to [`SimNet::wake_with`](crate::SimNet::wake_with).
#[derive(Debug)]
pub struct SimHost {
    hub: Arc<Hub>,
    me: Peer,
    calls: Mutex<Calls>,
}

#[derive(Debug, Default)]
struct Calls {
    /// Number of the next call per context.
    next: HashMap<u64, u64>,
    open: HashMap<u64, (Key, Rank)>,
    next_request: u64,
}

impl SimHost {
    pub(crate) fn new(hub: Arc<Hub>, me: Peer) -> Self {
        Self { hub, me, calls: Mutex::default() }
    }

    /// The process that this host serves.
    pub fn me(&self) -> Peer {
        self.me
    }

    fn ranks_per_node(&self) -> u32 {
        u32::try_from(self.hub.config.ranks_per_node).unwrap_or(u32::MAX)
    }

    fn begin(&self, group: &Group, call: Call) -> HostRequest {
        let mut calls = self.calls.lock();
        let key = match group.next_call_of_part() {
            Some((part, number)) => (group.context(), Some(part), number),
            None => {
                let number = calls.next.entry(group.context()).or_default();
                *number += 1;
                (group.context(), None, *number)
            }
        };
        let request = calls.next_request;
        calls.next_request += 1;
        calls.open.insert(request, (key, group.me()));
        drop(calls);
        if let Some(members) = self.hub.collectives.arrive(key, group, call, self.ranks_per_node()) {
            for rank in (0..members.size()).map(Rank) {
                self.hub.wake(members.peer(rank));
            }
        }
        HostRequest(request)
    }
}

impl Host for SimHost {
    fn begin_barrier(&self, group: &Group) -> Result<HostRequest> {
        Ok(self.begin(group, Call::Barrier))
    }

    fn begin_reduce(&self, group: &Group, combine: Combine, values: &[u64]) -> Result<HostRequest> {
        let most = self.hub.reduced_max();
        assert!(values.len() <= most, "{} values: a host need not combine more than {most}", values.len());
        Ok(self.begin(group, Call::Reduce(combine, values.into())))
    }

    fn poll(&self, request: HostRequest) -> Result<Option<Outcome>> {
        let Some((key, rank)) = self.calls.lock().open.get(&request.0).copied() else {
            let what = format!("{request:?} of rank {} is not under way", self.me);
            return Err(Error::new(ErrorClass::Request, "host", what));
        };
        let dead = self.hub.dead();
        let outcome = self.hub.collectives.take(key, rank, self.ranks_per_node(), &dead);
        if !matches!(outcome, Ok(None)) {
            self.calls.lock().open.remove(&request.0);
        }
        outcome
    }

    fn begin_segment(&self, group: &Group, request: SegmentRequest) -> Result<HostRequest> {
        Ok(self.begin(group, Call::Segment(request)))
    }

    fn locality(&self, peer: Peer) -> Locality {
        let ranks_per_node = self.ranks_per_node();
        if peer == self.me {
            Locality::Own
        } else if node(peer, ranks_per_node) == node(self.me, ranks_per_node) {
            Locality::Node
        } else {
            Locality::Remote
        }
    }

    fn now(&self) -> Duration {
        self.hub.time.now()
    }
}
