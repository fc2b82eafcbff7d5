//! Groups: ordered sets of processes, as data. Nothing here communicates.
//!
//! Invariants: no process is in a group twice; a group whose processes lie at equal distances is kept as such a stride, so
//! that the groups of large regular jobs take no memory per process. Work with a list costs time in its length, never in its
//! square.

use rma_core::ids::Peer;
use rma_core::{Error, ErrorClass, Result, host};
use smallvec::SmallVec;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

/// An ordered set of processes of the job (MPI 4.1 §7.3).
///
/// A member's position is its rank in the group. Groups are made from other groups, at first from that of a communicator
/// ([`crate::Communicator::members`]), and become communicators again by [`crate::Communicator::create`].
///
/// ```
/// rma::World::run_threads(6, |world| {
///     let all = world.members();
///     let even = all.range_incl(&[[0, 5, 2]])?;
///     let odd = all.difference(&even);
///     assert_eq!((even.size(), odd.size()), (3, 3));
///     assert_eq!(all.translate(&[0, 1, 2], &odd)?, [None, Some(0), None]);
///
///     let mine = if world.rank() % 2 == 0 { &even } else { &odd };
///     let half = world.create(mine)?.expect("every rank is in the group it names");
///     assert_eq!((half.rank(), half.size()), (world.rank() / 2, 3));
///     Ok(())
/// })
/// .unwrap();
/// ```
#[derive(Clone)]
pub struct Group(GroupMembers);

#[derive(Clone)]
enum GroupMembers {
    /// `first`, `first + stride`, …; all of them are process numbers. The stride of fewer than two members is 1.
    Stride { first: u32, stride: i64, count: u32 },
    /// Three members at least, at different distances.
    List(Arc<[Peer]>),
}

/// Up to so many are gone through one by one: to make an index of them takes longer.
const FEW: usize = 16;

/// The first byte of a written group.
const STRIDE: u8 = 0;
const LIST: u8 = 1;

/// How two groups, or two communicators, relate (MPI 4.1 §7.3.1 and §7.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// The same communicator; of groups, the same members in the same order.
    Identical,
    /// Different communicators with the same members in the same order.
    Congruent,
    /// The same members in another order.
    Similar,
    /// Other members.
    Unequal,
}

impl Group {
    /// The group without members.
    pub fn empty() -> Self {
        Self(GroupMembers::Stride { first: 0, stride: 1, count: 0 })
    }

    /// The group of these processes, which are distinct, in this order.
    pub(crate) fn of(peers: impl IntoIterator<Item = Peer>) -> Self {
        let mut stride = Stride::default();
        let mut peers = peers.into_iter();
        for peer in peers.by_ref() {
            if !stride.extend(peer) {
                let list = stride.members().chain([peer]).chain(peers);
                return Self(GroupMembers::List(list.collect()));
            }
        }
        let Stride { first, stride, count } = stride;
        Self(GroupMembers::Stride { first, stride: if count < 2 { 1 } else { stride }, count })
    }

    /// Number of members.
    pub fn size(&self) -> u32 {
        match &self.0 {
            GroupMembers::Stride { count, .. } => *count,
            GroupMembers::List(list) => list.len() as u32,
        }
    }

    /// The process of a rank, if there is that rank.
    pub fn peer(&self, rank: u32) -> Option<Peer> {
        match &self.0 {
            GroupMembers::Stride { first, stride, count } => {
                (rank < *count).then(|| Stride { first: *first, stride: *stride, count: *count }.at(rank))
            }
            GroupMembers::List(list) => list.get(rank as usize).copied(),
        }
    }

    /// The rank of a process, if it is a member.
    pub fn rank(&self, peer: Peer) -> Option<u32> {
        match &self.0 {
            GroupMembers::Stride { first, stride, count } => {
                let distance = i64::from(peer.0) - i64::from(*first);
                let rank = u32::try_from(distance / stride).ok()?;
                (distance % stride == 0 && rank < *count).then_some(rank)
            }
            GroupMembers::List(list) => {
                list.iter().position(|member| *member == peer).map(|rank| rank as u32)
            }
        }
    }

    /// The members in order.
    pub fn peers(&self) -> impl Iterator<Item = Peer> + '_ {
        let (stride, list) = match &self.0 {
            GroupMembers::Stride { first, stride, count } => {
                (Stride { first: *first, stride: *stride, count: *count }, &[][..])
            }
            GroupMembers::List(list) => (Stride::default(), &list[..]),
        };
        stride.members().chain(list.iter().copied())
    }

    /// How this group and another relate: [`Comparison::Identical`], [`Comparison::Similar`] or [`Comparison::Unequal`].
    pub fn compare(&self, other: &Self) -> Comparison {
        if self == other {
            return Comparison::Identical;
        }
        let is_member = other.finder(self.size() as usize);
        match self.size() == other.size() && self.peers().all(|peer| is_member(peer).is_some()) {
            true => Comparison::Similar,
            false => Comparison::Unequal,
        }
    }

    /// The ranks in `other` of the members with these ranks; `None` for those that are not in it.
    ///
    /// # Errors
    /// `MPI_ERR_RANK` when there is no such rank in this group.
    pub fn translate(&self, ranks: &[u32], other: &Self) -> Result<Vec<Option<u32>>> {
        ranks.iter().copied().map(self.translator(other, ranks.len())).collect()
    }

    /// What [`Group::translate`] answers for each of some ranks, of which there are `count`.
    pub fn translator(&self, other: &Self, count: usize) -> impl Fn(u32) -> Result<Option<u32>> {
        let find = other.finder(count);
        move |rank| Ok(find(self.member("group_translate_ranks", rank)?))
    }

    /// The members of this group, then those of the other one that are not among them.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let find = self.finder(other.size() as usize);
        Self::of(self.peers().chain(other.peers().filter(|peer| find(*peer).is_none())))
    }

    /// The members of this group that are in the other one, in this group's order.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let find = other.finder(self.size() as usize);
        Self::of(self.peers().filter(|peer| find(*peer).is_some()))
    }

    /// The members of this group that are not in the other one, in this group's order.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        let find = other.finder(self.size() as usize);
        Self::of(self.peers().filter(|peer| find(*peer).is_none()))
    }

    /// The members with these ranks, in the order of the ranks.
    ///
    /// # Errors
    /// `MPI_ERR_RANK` when there is no such rank, or one is named twice.
    pub fn incl(&self, ranks: &[u32]) -> Result<Self> {
        let peers = self.chosen("group_incl", ranks.iter().map(|rank| i64::from(*rank)))?;
        Ok(Self::of(peers))
    }

    /// The members without those of these ranks.
    ///
    /// # Errors
    /// `MPI_ERR_RANK` when there is no such rank, or one is named twice.
    pub fn excl(&self, ranks: &[u32]) -> Result<Self> {
        self.without("group_excl", ranks.iter().map(|rank| i64::from(*rank)))
    }

    /// The members with the ranks of these ranges. A range `[first, last, stride]` is `first`, `first + stride`, … up to
    /// `last`; strides may be negative.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` when a stride is 0 or leads away from `last`; `MPI_ERR_RANK` as [`Group::incl`].
    pub fn range_incl(&self, ranges: &[[i32; 3]]) -> Result<Self> {
        let ranks = ranks_of("group_range_incl", ranges)?;
        Ok(Self::of(self.chosen("group_range_incl", ranks)?))
    }

    /// The members without those with the ranks of these ranges; see [`Group::range_incl`].
    ///
    /// # Errors
    /// As [`Group::range_incl`].
    pub fn range_excl(&self, ranges: &[[i32; 3]]) -> Result<Self> {
        self.without("group_range_excl", ranks_of("group_range_excl", ranges)?)
    }

    /// The group as the engine knows it, for the member `me`.
    pub(crate) fn with_context(&self, context: u64, me: u32) -> host::Group {
        let me = rma_core::ids::Rank(me);
        match self.0 {
            GroupMembers::Stride { first, stride, count } if stride > 0 && stride < 1 << 31 => {
                host::Group::strided(context, me, Peer(first), stride as u32, count)
            }
            _ => host::Group::of(context, me, &self.peers().collect::<Vec<_>>()),
        }
    }

    /// Appends the members as bytes.
    pub(crate) fn write(&self, bytes: &mut Vec<u8>) {
        match &self.0 {
            GroupMembers::Stride { first, stride, count } => {
                bytes.push(STRIDE);
                bytes.extend_from_slice(&first.to_le_bytes());
                bytes.extend_from_slice(&count.to_le_bytes());
                bytes.extend_from_slice(&stride.to_le_bytes());
            }
            GroupMembers::List(list) => {
                bytes.push(LIST);
                list.iter().for_each(|peer| bytes.extend_from_slice(&peer.0.to_le_bytes()));
            }
        }
    }

    /// The inverse of [`Group::write`]; `None` for bytes that it does not write.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let (kind, rest) = bytes.split_first()?;
        match *kind {
            STRIDE => {
                let (first, rest) = rest.split_first_chunk::<4>()?;
                let (count, rest) = rest.split_first_chunk::<4>()?;
                let (first, count) = (u32::from_le_bytes(*first), u32::from_le_bytes(*count));
                let stride = i64::from_le_bytes(rest.try_into().ok()?);
                let reach = stride.checked_mul(i64::from(count.saturating_sub(1)))?;
                let last = u32::try_from(i64::from(first).checked_add(reach)?);
                let is_group = stride != 0 && last.is_ok() && (count > 1 || stride == 1);
                is_group.then_some(Self(GroupMembers::Stride { first, stride, count }))
            }
            LIST => {
                let (peers, []) = rest.as_chunks::<4>() else { return None };
                let peers: Vec<Peer> = peers.iter().map(|peer| Peer(u32::from_le_bytes(*peer))).collect();
                let are_distinct = peers.iter().collect::<HashSet<_>>().len() == peers.len();
                are_distinct.then(|| Self::of(peers))
            }
            _ => None,
        }
    }

    fn member(&self, call: &'static str, rank: u32) -> Result<Peer> {
        self.peer(rank).ok_or_else(|| Error::rank_outside(call, "rank", rank.into(), self.size()))
    }

    /// The members with these ranks, which must be distinct.
    fn chosen(&self, call: &'static str, ranks: impl Iterator<Item = i64>) -> Result<SmallVec<[Peer; FEW]>> {
        let mut chosen = SmallVec::<[Peer; FEW]>::new();
        let mut seen = HashSet::new();
        for rank in ranks {
            let peer = u32::try_from(rank).ok().and_then(|rank| self.peer(rank));
            let peer = peer.ok_or_else(|| Error::rank_outside(call, "rank", rank, self.size()))?;
            if chosen.len() == FEW {
                seen.extend(chosen.iter().copied());
            }
            let is_new = if chosen.len() < FEW { !chosen.contains(&peer) } else { seen.insert(peer) };
            if !is_new {
                return Err(Error::new(ErrorClass::Rank, call, format!("rank {rank} is named twice")));
            }
            chosen.push(peer);
        }
        Ok(chosen)
    }

    fn without(&self, call: &'static str, ranks: impl Iterator<Item = i64>) -> Result<Self> {
        let left_out = self.chosen(call, ranks)?;
        if left_out.len() <= FEW {
            return Ok(Self::of(self.peers().filter(|peer| !left_out.contains(peer))));
        }
        let left_out: HashSet<Peer> = left_out.into_iter().collect();
        Ok(Self::of(self.peers().filter(|peer| !left_out.contains(peer))))
    }

    /// A look-up of ranks for `count` processes, whose costs together grow with their number and that of the members, not with
    /// the product.
    fn finder(&self, count: usize) -> impl Fn(Peer) -> Option<u32> + '_ {
        let ranks = if count.min(self.size() as usize) > FEW { self.index() } else { None };
        move |peer| match &ranks {
            None => self.rank(peer),
            Some(ranks) => ranks.get(&peer).copied(),
        }
    }

    /// Ranks by process, unless they can be computed.
    pub(crate) fn index(&self) -> Option<HashMap<Peer, u32>> {
        match &self.0 {
            GroupMembers::Stride { .. } => None,
            GroupMembers::List(list) => Some(list.iter().copied().zip(0..).collect()),
        }
    }
}

impl From<&host::Group> for Group {
    fn from(group: &host::Group) -> Self {
        Self::of((0..group.size()).map(|rank| group.peer(rma_core::ids::Rank(rank))))
    }
}

impl PartialEq for Group {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (
                GroupMembers::Stride { first, stride, count },
                GroupMembers::Stride { first: other_first, stride: other_stride, count: other_count },
            ) => count == other_count && (*count == 0 || (first, stride) == (other_first, other_stride)),
            (GroupMembers::List(list), GroupMembers::List(other)) => list == other,
            _ => false,
        }
    }
}

impl Eq for Group {}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            GroupMembers::Stride { first, stride, count } => {
                write!(f, "Group of {count} processes from {first} by {stride}")
            }
            GroupMembers::List(list) => write!(f, "Group of processes {list:?}"),
        }
    }
}

/// A stride that grows, as long as what comes fits.
#[derive(Clone, Copy, Default)]
struct Stride {
    first: u32,
    stride: i64,
    count: u32,
}

impl Stride {
    /// Adds a process behind the others; says whether it lies there.
    fn extend(&mut self, peer: Peer) -> bool {
        match self.count {
            0 => self.first = peer.0,
            1 => self.stride = i64::from(peer.0) - i64::from(self.first),
            _ if i64::from(self.at(self.count - 1).0) + self.stride != i64::from(peer.0) => return false,
            _ => {}
        }
        self.count += 1;
        true
    }

    fn at(self, rank: u32) -> Peer {
        Peer((i64::from(self.first) + self.stride * i64::from(rank)) as u32)
    }

    fn members(self) -> impl Iterator<Item = Peer> {
        (0..self.count).map(move |rank| self.at(rank))
    }
}

/// The ranks that ranges name (MPI 4.1 §7.3.2), one range after the other.
fn ranks_of<'a>(call: &'static str, ranges: &'a [[i32; 3]]) -> Result<impl Iterator<Item = i64> + use<'a>> {
    for [first, last, stride] in ranges {
        let leads_away = (last > first && *stride < 0) || (last < first && *stride > 0);
        if *stride == 0 || leads_away {
            let cause = format!("a stride of {stride} does not lead from {first} to {last}");
            return Err(Error::new(ErrorClass::Arg, call, cause));
        }
    }
    Ok(ranges.iter().flat_map(|[first, last, stride]| {
        let [first, last, stride] = [*first, *last, *stride].map(i64::from);
        (0..=(last - first) / stride).map(move |step| first + step * stride)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Dice;

    fn list(group: &Group) -> Vec<u32> {
        group.peers().map(|peer| peer.0).collect()
    }

    fn group(peers: &[u32]) -> Group {
        Group::of(peers.iter().map(|peer| Peer(*peer)))
    }

    /// Distinct numbers, often at equal distances.
    fn draw(dice: &mut Dice) -> Vec<u32> {
        let count = dice.below(8);
        if dice.below(2) == 0 {
            let (first, stride) = (dice.below(20) as u32, 1 + dice.below(3) as u32);
            let mut peers: Vec<u32> = (0..count as u32).map(|i| first + i * stride).collect();
            if dice.below(2) == 0 {
                peers.reverse();
            }
            return peers;
        }
        let mut peers = Vec::new();
        while peers.len() < count {
            let peer = dice.below(20) as u32;
            if !peers.contains(&peer) {
                peers.push(peer);
            }
        }
        peers
    }

    #[test]
    fn set_operations_agree_with_naive_lists() {
        let mut dice = Dice::new(1);
        for _ in 0..3000 {
            let (a, b) = (draw(&mut dice), draw(&mut dice));
            let (left, right) = (group(&a), group(&b));
            assert_eq!(list(&left), a);
            assert_eq!(left.size() as usize, a.len());
            for peer in 0..25 {
                let expected = a.iter().position(|member| *member == peer).map(|rank| rank as u32);
                assert_eq!(left.rank(Peer(peer)), expected, "{a:?}");
                assert_eq!(left.peer(peer).map(|peer| peer.0), a.get(peer as usize).copied());
            }
            let only_b = b.iter().filter(|peer| !a.contains(peer));
            assert_eq!(list(&left.union(&right)), a.iter().chain(only_b).copied().collect::<Vec<_>>());
            let common: Vec<u32> = a.iter().filter(|peer| b.contains(peer)).copied().collect();
            assert_eq!(list(&left.intersection(&right)), common);
            let rest: Vec<u32> = a.iter().filter(|peer| !b.contains(peer)).copied().collect();
            assert_eq!(list(&left.difference(&right)), rest);
            let (mut sorted_a, mut sorted_b) = (a.clone(), b.clone());
            sorted_a.sort_unstable();
            sorted_b.sort_unstable();
            let expected = match (a == b, sorted_a == sorted_b) {
                (true, _) => Comparison::Identical,
                (false, true) => Comparison::Similar,
                (false, false) => Comparison::Unequal,
            };
            assert_eq!(left.compare(&right), expected, "{a:?} {b:?}");
            let ranks: Vec<u32> = (0..a.len() as u32).collect();
            let expected: Vec<_> =
                a.iter().map(|peer| b.iter().position(|other| other == peer).map(|r| r as u32)).collect();
            assert_eq!(left.translate(&ranks, &right).unwrap(), expected);
        }
    }

    #[test]
    fn members_are_chosen_by_rank_and_by_range() {
        let ten = group(&[10, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
        let odd = group(&[5, 1, 9, 2]);
        assert_eq!(list(&ten.incl(&[3, 0, 9]).unwrap()), [13, 10, 19]);
        assert_eq!(list(&odd.excl(&[1, 3]).unwrap()), [5, 9]);
        // The example of MPI 4.1 §7.3.2, on its group.
        let letters = group(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        let chosen = letters.range_incl(&[[6, 7, 1], [1, 6, 2], [0, 9, 4]]).unwrap();
        assert_eq!(list(&chosen), [6, 7, 1, 3, 5, 0, 4, 8]);
        assert_eq!(list(&ten.range_incl(&[[9, 0, -4]]).unwrap()), [19, 15, 11]);
        assert_eq!(list(&ten.range_incl(&[[2, 2, 5]]).unwrap()), [12]);
        assert_eq!(list(&ten.range_incl(&[]).unwrap()), [0u32; 0]);
        assert_eq!(list(&ten.range_excl(&[[8, 0, -2]]).unwrap()), [11, 13, 15, 17, 19]);
        assert_eq!(ten.excl(&[]).unwrap(), ten);
        assert_eq!(ten.range_excl(&[[0, 9, 1]]).unwrap(), Group::empty());
    }

    #[test]
    fn wrong_ranks_and_ranges_are_named() {
        let three = group(&[4, 2, 9]);
        for (end, class, text) in [
            (three.incl(&[0, 3]), ErrorClass::Rank, "rank 3 is not in 0 to 2"),
            (three.incl(&[1, 1]), ErrorClass::Rank, "rank 1 is named twice"),
            (three.excl(&[7]), ErrorClass::Rank, "rank 7 is not in 0 to 2"),
            (three.range_incl(&[[0, 2, 0]]), ErrorClass::Arg, "a stride of 0 does not lead from 0 to 2"),
            (three.range_incl(&[[2, 0, 1]]), ErrorClass::Arg, "a stride of 1 does not lead from 2 to 0"),
            (three.range_incl(&[[0, 4, 2]]), ErrorClass::Rank, "rank 4 is not in 0 to 2"),
            (three.range_incl(&[[-1, 1, 1]]), ErrorClass::Rank, "rank -1 is not in 0 to 2"),
            (three.range_excl(&[[0, 2, 1], [1, 1, 1]]), ErrorClass::Rank, "rank 1 is named twice"),
            (three.range_incl(&[[0, i32::MAX, 1]]), ErrorClass::Rank, "rank 3 is not in 0 to 2"),
        ] {
            let error = end.unwrap_err();
            assert_eq!((error.class(), error.cause()), (class, text));
        }
        let error = three.translate(&[5], &Group::empty()).unwrap_err();
        assert_eq!(error.to_string(), "group_translate_ranks: rank 5 is not in 0 to 2 (MPI_ERR_RANK)");
    }

    #[test]
    fn regular_groups_take_no_memory_per_process() {
        let million = Group::of((0..1_000_000).map(Peer));
        let even = million.range_incl(&[[0, 999_999, 2]]).unwrap();
        let odd = million.difference(&even);
        for group in [&million, &even, &odd, &million.range_incl(&[[999_998, 1, -3]]).unwrap()] {
            assert!(matches!(group.0, GroupMembers::Stride { .. }), "{group:?}");
        }
        assert_eq!((even.size(), odd.rank(Peer(999_999))), (500_000, Some(499_999)));
        assert!(matches!(group(&[0, 1, 3]).0, GroupMembers::List(_)));
    }

    #[test]
    fn the_engine_knows_the_same_members() {
        let mut dice = Dice::new(2);
        for _ in 0..300 {
            let peers = draw(&mut dice);
            if peers.is_empty() {
                continue;
            }
            let me = dice.below(peers.len()) as u32;
            let known = group(&peers).with_context(7, me);
            assert_eq!((known.context(), known.me().0, known.size() as usize), (7, me, peers.len()));
            assert_eq!(list(&Group::from(&known)), peers);
        }
    }

    #[test]
    fn groups_survive_their_bytes_and_anything_else_is_none() {
        let mut dice = Dice::new(3);
        for _ in 0..300 {
            let drawn = group(&draw(&mut dice));
            let mut bytes = Vec::new();
            drawn.write(&mut bytes);
            assert_eq!(Group::read(&bytes), Some(drawn));
            for len in 0..bytes.len() {
                if let Some(other) = Group::read(&bytes[..len]) {
                    assert!(bytes[0] == LIST && other.size() as usize == (len - 1) / 4);
                }
            }
            let at = dice.below(bytes.len());
            bytes[at] = dice.below(256) as u8;
            if let Some(other) = Group::read(&bytes) {
                let last = other.size().saturating_sub(1);
                assert_eq!(
                    other.peer(last).and_then(|peer| other.rank(peer)),
                    (other.size() > 0).then_some(last)
                );
            }
        }
        assert_eq!(Group::read(&[LIST, 1, 0, 0, 0, 1, 0, 0, 0]), None);
    }
}
