//! The processes of a window or communicator: a stride where they are one, else a list.
//!
//! A rank is looked up with every packet that arrives, so a list is searched by halving. For that it keeps
//! the order of its processes, four bytes for each, unless the list is in that order already.

use crate::ids::{Peer, Rank};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The processes of a window, and the host's name for their communicator.
#[derive(Clone, Debug)]
pub struct Group {
    context: u64,
    me: Rank,
    map: RankMap,
    part: Option<PartGroup>,
}

/// What the clones of a part's group share.
#[derive(Clone, Debug)]
struct PartGroup {
    name: u32,
    calls: Arc<AtomicU64>,
}

#[derive(Clone, Debug)]
enum RankMap {
    Stride { first: u32, stride: u32, count: u32 },
    PeerList(Arc<PeerList>),
}

/// Processes in any order. Clones of a group share it.
#[derive(Debug)]
struct PeerList {
    /// By rank.
    peers: Box<[Peer]>,
    /// The ranks in the order of their processes; `None` where that is the order of ranks.
    by_peer: Option<Box<[Rank]>>,
}

impl PeerList {
    fn new(peers: &[Peer]) -> Self {
        let by_peer = (!peers.is_sorted()).then(|| {
            let mut ranks = (0..peers.len() as u32).map(Rank).collect::<Box<[_]>>();
            ranks.sort_by_key(|rank| peers[rank.0 as usize]);
            ranks
        });
        Self { peers: peers.into(), by_peer }
    }

    /// The rank of a process, and how many processes it was compared with.
    fn find(&self, peer: Peer) -> (Option<Rank>, u32) {
        let mut looks = 0;
        let mut compare = |at: Peer| {
            looks += 1;
            at.cmp(&peer)
        };
        let found = match &self.by_peer {
            None => self.peers.binary_search_by(|at| compare(*at)).ok().map(|at| Rank(at as u32)),
            Some(ranks) => {
                let found = ranks.binary_search_by(|rank| compare(self.peers[rank.0 as usize]));
                found.ok().map(|at| ranks[at])
            }
        };
        (found, looks)
    }
}

impl Group {
    /// The group of `count` processes `first`, `first + stride`, … in that order; `me` is the caller's rank in it.
    ///
    /// # Panics
    /// When `me` is not in the group, or a peer number overflows.
    pub fn strided(context: u64, me: Rank, first: Peer, stride: u32, count: u32) -> Self {
        assert!(me.0 < count, "rank {me} is not in a group of {count}");
        assert!((count - 1).checked_mul(stride).and_then(|d| d.checked_add(first.0)).is_some());
        Self { context, me, map: RankMap::Stride { first: first.0, stride, count }, part: None }
    }

    /// The group of these processes in this order, kept as a stride where it is one.
    ///
    /// # Panics
    /// When `me` is not in the group.
    pub fn of(context: u64, me: Rank, peers: &[Peer]) -> Self {
        assert!((me.0 as usize) < peers.len(), "rank {me} is not in a group of {}", peers.len());
        let stride = match peers {
            [a, b, ..] => b.0.wrapping_sub(a.0),
            _ => 1,
        };
        let is_strided = (1..1 << 31).contains(&stride)
            && peers.windows(2).all(|w| w[0].0.checked_add(stride) == Some(w[1].0));
        if is_strided {
            return Self::strided(context, me, peers[0], stride, peers.len() as u32);
        }
        Self { context, me, map: RankMap::PeerList(Arc::new(PeerList::new(peers))), part: None }
    }

    /// The host's name for the communicator: it distinguishes its collectives.
    pub fn context(&self) -> u64 {
        self.context
    }

    /// The same processes, for collectives that are in order among themselves only, such as those of a
    /// window; `name` names them. Clones of the answer count their collectives together.
    #[must_use]
    pub fn part(&self, name: u32) -> Self {
        Self { part: Some(PartGroup { name, calls: Arc::default() }), ..self.clone() }
    }

    /// For hosts, which call it once for each collective: the name of this group's part, and the number of
    /// the collective in it, from 0; the same on all ranks. `None` for the group itself, whose collectives a
    /// host counts by context.
    pub fn next_call_of_part(&self) -> Option<(u32, u64)> {
        self.part.as_ref().map(|part| (part.name, part.calls.fetch_add(1, Relaxed)))
    }

    /// The caller's rank.
    pub fn me(&self) -> Rank {
        self.me
    }

    /// Number of ranks.
    pub fn size(&self) -> u32 {
        match &self.map {
            RankMap::Stride { count, .. } => *count,
            RankMap::PeerList(list) => list.peers.len() as u32,
        }
    }

    /// The process of a rank.
    ///
    /// # Panics
    /// When the rank is not in the group; callers have checked ranks that come from users.
    pub fn peer(&self, rank: Rank) -> Peer {
        match &self.map {
            RankMap::Stride { first, stride, count } => {
                assert!(rank.0 < *count, "rank {rank} is not in a group of {count}");
                Peer(first + stride * rank.0)
            }
            RankMap::PeerList(list) => list.peers[rank.0 as usize],
        }
    }

    /// The rank of a process, if it is in the group: asked with every packet that arrives.
    pub fn rank(&self, peer: Peer) -> Option<Rank> {
        match &self.map {
            RankMap::Stride { first, stride, count } => {
                let distance = peer.0.checked_sub(*first)?;
                let rank = match *stride {
                    // A division takes longer than all else of a look.
                    1 => distance,
                    stride if distance.is_multiple_of(stride) => distance / stride,
                    _ => return None,
                };
                (rank < *count).then_some(Rank(rank))
            }
            RankMap::PeerList(list) => list.find(peer).0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_strides_when_they_can_be() {
        let even = Group::of(1, Rank(1), &[Peer(2), Peer(4), Peer(6)]);
        assert!(matches!(even.map, RankMap::Stride { .. }));
        let odd = Group::of(1, Rank(0), &[Peer(5), Peer(1), Peer(2)]);
        assert!(matches!(odd.map, RankMap::PeerList(_)));
        for (group, peers) in [(&even, [2, 4, 6]), (&odd, [5, 1, 2])] {
            assert_eq!(group.size(), 3);
            for (i, peer) in peers.into_iter().enumerate() {
                assert_eq!(group.peer(Rank(i as u32)), Peer(peer));
                assert_eq!(group.rank(Peer(peer)), Some(Rank(i as u32)));
            }
            for outsider in [0, 3, 7, 8] {
                assert_eq!(group.rank(Peer(outsider)), None);
            }
        }
        assert_eq!(Group::of(1, Rank(0), &[Peer(9)]).peer(Rank(0)), Peer(9));
        let dense = Group::strided(1, Rank(0), Peer(3), 1, 2);
        let ranks = [2, 3, 4, 5, u32::MAX].map(|peer| dense.rank(Peer(peer)).map(|rank| rank.0));
        assert_eq!(ranks, [None, Some(0), Some(1), None, None]);
    }

    #[test]
    fn clones_of_a_part_count_together_and_parts_do_not() {
        let group = Group::strided(1, Rank(0), Peer(0), 1, 2);
        let (one, other) = (group.part(7), group.part(8));
        assert_eq!(one.next_call_of_part(), Some((7, 0)));
        assert_eq!(one.clone().next_call_of_part(), Some((7, 1)));
        assert_eq!(other.next_call_of_part(), Some((8, 0)));
        assert_eq!(group.next_call_of_part(), None);
    }

    #[test]
    fn a_list_is_searched_by_halving_whatever_its_order() {
        const COUNT: u32 = 10_000;
        let ascending = (0..COUNT).map(|i| Peer(i * i)).collect::<Vec<_>>();
        // 7919 is prime: every process once, in no order.
        let mixed = (0..COUNT).map(|i| Peer(i * 7919 % COUNT * 2)).collect::<Vec<_>>();
        for peers in [ascending, mixed] {
            let group = Group::of(1, Rank(0), &peers);
            let RankMap::PeerList(list) = &group.map else { panic!("not a stride") };
            for (rank, peer) in peers.iter().enumerate() {
                let (found, looks) = list.find(*peer);
                assert_eq!((found, group.rank(*peer)), (Some(Rank(rank as u32)), found));
                assert!(looks <= COUNT.ilog2() + 2, "{looks} processes looked at for {peer:?}");
            }
            assert_eq!(group.rank(Peer(3)), None);
        }
    }
}
