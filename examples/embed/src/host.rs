//! Mini's collectives, and with them the host: every member sends what it brings to every other one, and adds up.

use crate::boxes::{Boxes, Key};
use rma_core::host::*;
use rma_core::ids::{Peer, Rank};
use rma_core::{Error, ErrorClass, Result};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// One rank's collectives, and the engine's host.
#[derive(Debug)]
pub struct MiniHost {
    me: Peer,
    boxes: Arc<Mutex<Boxes>>,
    calls: Mutex<Calls>,
    start: Instant,
}

#[derive(Debug, Default)]
struct Calls {
    /// Number of the next collective by context.
    next: HashMap<u64, u64>,
    arrived: HashMap<Key, BTreeMap<Peer, Vec<u64>>>,
    open: HashMap<HostRequest, Call>,
    started: u64,
}

#[derive(Debug)]
enum Call {
    Reduce(Key, Group, Combine),
    /// Ranks of Mini share no memory, so all that they do to each other's windows goes through the channel.
    Segment(SegmentSet),
}

impl MiniHost {
    /// The host of rank `me`.
    pub fn new(me: Peer, boxes: Arc<Mutex<Boxes>>) -> Self {
        Self { me, boxes, calls: Mutex::default(), start: Instant::now() }
    }

    fn begin(&self, call: impl FnOnce(&mut Calls) -> Call) -> HostRequest {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let call = call(&mut calls);
        calls.started += 1;
        let request = HostRequest(calls.started);
        calls.open.insert(request, call);
        request
    }
}

impl Host for MiniHost {
    fn begin_barrier(&self, group: &Group) -> Result<HostRequest> {
        self.begin_reduce(group, Combine::Sum, &[])
    }

    fn begin_reduce(&self, group: &Group, combine: Combine, values: &[u64]) -> Result<HostRequest> {
        Ok(self.begin(|calls| {
            let count = calls.next.entry(group.context()).or_default();
            let key = match group.next_call_of_part() {
                Some((part, number)) => (group.context(), Some(part), number),
                None => (group.context(), None, std::mem::replace(count, *count + 1)),
            };
            let mut boxes = self.boxes.lock().unwrap_or_else(PoisonError::into_inner);
            for peer in (0..group.size()).map(|rank| group.peer(Rank(rank))) {
                boxes.rank(peer).mail.push((key, self.me, values.to_vec()));
                boxes.wake(peer);
            }
            Call::Reduce(key, group.clone(), combine)
        }))
    }

    fn poll(&self, request: HostRequest) -> Result<Option<Outcome>> {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let Calls { arrived, open, .. } = &mut *calls;
        let mut boxes = self.boxes.lock().unwrap_or_else(PoisonError::into_inner);
        for (key, from, values) in std::mem::take(&mut boxes.rank(self.me).mail) {
            arrived.entry(key).or_default().insert(from, values);
        }
        let unknown = || Error::new(ErrorClass::Request, "host", "no such collective is under way");
        let Call::Reduce(key, group, combine) = open.get(&request).ok_or_else(unknown)? else {
            let Some(Call::Segment(segment)) = open.remove(&request) else { return Err(unknown()) };
            return Ok(Some(Outcome::Segment(segment)));
        };
        let values = arrived.entry(*key).or_default();
        let mut missing = (0..group.size()).map(|rank| group.peer(Rank(rank)));
        if missing.any(|peer| !values.contains_key(&peer) && boxes.rank(peer).is_dead) {
            return Err(Error::new(ErrorClass::ProcFailed, "host", "a rank of the collective has died"));
        }
        if values.len() < group.size() as usize {
            return Ok(None);
        }
        let values = arrived.remove(key).into_iter().flat_map(BTreeMap::into_values);
        let combine =
            |a: Vec<u64>, b: Vec<u64>| a.into_iter().zip(b).map(|(a, b)| combine.apply(a, b)).collect();
        let result = values.reduce(combine).unwrap_or_default();
        open.remove(&request);
        Ok(Some(if result.is_empty() { Outcome::Met } else { Outcome::Values(result.into()) }))
    }

    fn begin_segment(&self, group: &Group, asked: SegmentRequest) -> Result<HostRequest> {
        if asked.kind.must_be_shared() && group.size() > 1 {
            return Err(Error::new(ErrorClass::RmaShared, "host", "ranks of Mini share no memory"));
        }
        let refused = || Error::new(ErrorClass::NoMem, "host", "no memory for a segment");
        let segment = SegmentSet::private(group.me(), &asked).ok_or_else(refused)?;
        Ok(self.begin(|_| Call::Segment(segment)))
    }

    fn locality(&self, peer: Peer) -> Locality {
        if peer == self.me { Locality::Own } else { Locality::Remote }
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }
}
