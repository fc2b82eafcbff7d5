//! What the next poll has to look at: lists of peers and unauthenticated connections with something to do, and what is to be reported.
//!
//! Work is found by these lists and never by a walk over all peers. Invariant: a number is in a list at most once; being
//! in a list means "look", never "it is so".

use rma_core::channel::{BulkToken, Failure, Sink};
use rma_core::ids::Peer;
use smallvec::SmallVec;
use std::collections::VecDeque;

/// Polls in a row that may find nothing on a connection that is read directly.
const MISSES: u32 = 4096;

/// The lists.
#[derive(Debug)]
pub(crate) struct WorkLists {
    /// Peers with something to write and, as far as known, room for it.
    pub(crate) write: WorkList,
    /// Peers whose connection may have something to read.
    pub(crate) read: WorkList,
    /// Peers whose dial may go on.
    pub(crate) dial: WorkList,
    /// Unauthenticated connections that may have said something.
    pub(crate) unauthenticated: WorkList,
    /// Peers with a lane that was full when it was asked last.
    pub(crate) full: WorkList,
    /// Connections that are read without being in a list.
    pub(crate) direct: Direct,
    sent: Vec<BulkToken>,
    failed: Vec<(Peer, Failure)>,
}

/// A list without doubles, first in, first out.
#[derive(Debug, Default)]
pub(crate) struct WorkList {
    queue: VecDeque<usize>,
    member: Vec<bool>,
}

/// The connections used last, up to a number.
#[derive(Debug)]
pub(crate) struct Direct {
    /// Peer, and how often in a row nothing was found; the one used last is first.
    entries: SmallVec<[(usize, u32); 4]>,
    limit: usize,
}

impl WorkLists {
    pub(crate) fn new(direct_reads: usize) -> Self {
        Self {
            write: WorkList::default(),
            read: WorkList::default(),
            dial: WorkList::default(),
            unauthenticated: WorkList::default(),
            full: WorkList::default(),
            direct: Direct { entries: SmallVec::new(), limit: direct_reads },
            sent: Vec::new(),
            failed: Vec::new(),
        }
    }

    /// Notes that a body's memory is no longer used.
    pub(crate) fn note_sent(&mut self, token: BulkToken) {
        self.sent.push(token);
    }

    /// Notes that a peer is lost. Its bodies have been noted before.
    pub(crate) fn note_failed(&mut self, peer: Peer, failure: Failure) {
        self.failed.push((peer, failure));
    }

    /// Reports what was noted; says whether there was anything. Bodies go first, so that clause C4 holds for all.
    pub(crate) fn report(&mut self, sink: &mut dyn Sink) -> bool {
        let any = self.has_notes();
        self.sent.drain(..).for_each(|token| sink.bulk_sent(token));
        self.failed.drain(..).for_each(|(peer, failure)| sink.failed(peer, failure));
        any
    }

    pub(crate) fn has_notes(&self) -> bool {
        !self.sent.is_empty() || !self.failed.is_empty()
    }

    /// Whether a poll would do something at once; full lanes apart.
    pub(crate) fn is_busy(&self) -> bool {
        let Self { write, read, dial, unauthenticated, full: _, direct: _, sent: _, failed: _ } = self;
        [write, read, dial, unauthenticated].into_iter().any(|list| !list.is_empty()) || self.has_notes()
    }
}

impl WorkList {
    /// Puts a number at the end, unless it is in the list.
    pub(crate) fn push(&mut self, index: usize) {
        if index >= self.member.len() {
            self.member.resize(index + 1, false);
        }
        if !std::mem::replace(&mut self.member[index], true) {
            self.queue.push_back(index);
        }
    }

    pub(crate) fn pop(&mut self) -> Option<usize> {
        let index = self.queue.pop_front()?;
        self.member[index] = false;
        Some(index)
    }

    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(crate) fn contains(&self, index: usize) -> bool {
        self.member.get(index).is_some_and(|member| *member)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> {
        self.queue.iter().copied()
    }
}

impl Direct {
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entries, the one used last first.
    pub(crate) fn list(&self) -> SmallVec<[usize; 4]> {
        self.entries.iter().map(|entry| entry.0).collect()
    }

    /// Whether the connection is one of them.
    pub(crate) fn contains(&self, index: usize) -> bool {
        self.entries.iter().any(|entry| entry.0 == index)
    }

    /// The connection was used: it comes first, and the last one may fall out, which is said.
    pub(crate) fn used(&mut self, index: usize) -> Option<usize> {
        if let Some((first, misses)) = self.entries.first_mut()
            && *first == index
        {
            *misses = 0;
            return None;
        }
        self.entries.retain(|entry| entry.0 != index);
        self.entries.insert(0, (index, 0));
        let is_too_many = self.entries.len() > self.limit;
        if is_too_many { self.entries.pop().map(|last| last.0) } else { None }
    }

    /// Nothing was found on it; after many times it falls out, and that is said.
    pub(crate) fn missed(&mut self, index: usize) -> bool {
        let Some(at) = self.entries.iter().position(|entry| entry.0 == index) else { return false };
        self.entries[at].1 += 1;
        let falls_out = self.entries[at].1 >= MISSES;
        if falls_out {
            self.entries.remove(at);
        }
        falls_out
    }

    /// The connection is no more.
    pub(crate) fn remove(&mut self, index: usize) {
        self.entries.retain(|entry| entry.0 != index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_no_doubles_and_keeps_its_order() {
        let mut list = WorkList::default();
        for index in [3, 1, 3, 0, 1] {
            list.push(index);
        }
        assert_eq!(list.len(), 3);
        assert!(list.contains(0) && !list.contains(2) && !list.contains(99));
        assert_eq!(list.pop(), Some(3));
        list.push(3);
        assert_eq!(list.iter().collect::<Vec<_>>(), [1, 0, 3]);
        assert_eq!([list.pop(), list.pop(), list.pop(), list.pop()], [Some(1), Some(0), Some(3), None]);
    }

    #[test]
    fn the_connections_used_last_are_read_directly() {
        let mut direct = WorkLists::new(2).direct;
        assert_eq!([4, 5, 4, 6].map(|index| direct.used(index)), [None, None, None, Some(5)]);
        assert_eq!(direct.list()[..], [6, 4]);
        assert!((1..MISSES).all(|_| !direct.missed(4)));
        assert_eq!(direct.list()[..], [6, 4]);
        assert!(direct.missed(4) && !direct.missed(4));
        assert_eq!(direct.list()[..], [6]);
        direct.remove(6);
        assert!(direct.is_empty());
        let mut none = WorkLists::new(0).direct;
        assert_eq!(none.used(1), Some(1));
        assert!(none.is_empty());
    }
}
