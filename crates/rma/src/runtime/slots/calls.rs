//! The collectives in shared-memory slots. Each answers [`Way::Packets`] when it has to go on by packets, on all ranks that
//! take part.

use super::meeting::{Caller, CollectiveSlots};
use super::rank_slots::{CollectiveKind, CollectiveNumber, JoinNotice, MOST};
use super::values::RankValues;
use crate::collective::{Combine, too_long};
use rma_core::{Error, ErrorClass, Result};
use std::iter;

/// How a collective goes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Way<T> {
    /// It is over.
    Done(T),
    /// The data of a rank do not fit a slot.
    Packets,
}

/// What a gather at the root has so far.
pub(crate) type Gathered = Vec<Option<Vec<u8>>>;

/// An end of a block, in front of blocks.
type End = u16;
const END_LEN: usize = size_of::<End>();

impl CollectiveSlots {
    /// Returns when all have joined.
    pub(crate) fn barrier(&self, caller: Caller<'_>) -> Result<()> {
        let number = self.join(caller, JoinNotice::short(CollectiveKind::Barrier, 0), iter::empty())?;
        self.meet(caller, number, CollectiveKind::Barrier, |_, _| {})
    }

    /// Says in a collective of this kind, as its root or as the giver of a block, that this rank's data are too long. Ranks
    /// that need them go on by packets.
    pub(crate) fn say_long(&self, caller: Caller<'_>, kind: CollectiveKind) -> Result<()> {
        self.join(caller, JoinNotice::long(kind), iter::empty()).map(drop)
    }

    /// Whether blocks of `len` bytes together, one for each rank or a single one, are too long for a slot.
    pub(crate) fn are_long(&self, len: usize, blocks: usize) -> bool {
        let heads = if blocks == 1 { 0 } else { blocks * END_LEN };
        len.saturating_add(heads) > MOST
    }

    /// Gives the ranks the root's message; to the root itself, nothing.
    pub(crate) fn broadcast(
        &self,
        caller: Caller<'_>,
        root: u32,
        own: Option<&[u8]>,
        limit: u64,
    ) -> Result<Way<Vec<u8>>> {
        const KIND: CollectiveKind = CollectiveKind::Broadcast;
        let caller = caller.with_root(root);
        if let Some(message) = own {
            let (_, is_long) = self.join_with(caller, KIND, message)?;
            return Ok(if is_long { Way::Packets } else { Way::Done(Vec::new()) });
        }
        let number = self.join(caller, JoinNotice::short(KIND, 0), iter::empty())?;
        let notice = self.hear(caller, number, KIND, root as usize)?;
        if notice.is_long {
            return Ok(Way::Packets);
        }
        if notice.len as u64 > limit {
            return Err(too_long(root, notice.len as u64, limit));
        }
        Ok(Way::Done(self.data(root as usize, number, notice)))
    }

    /// Gives the root the combined values.
    pub(crate) fn reduce(
        &self,
        caller: Caller<'_>,
        root: u32,
        operation: &dyn Combine,
        own: &[u8],
    ) -> Result<Way<Option<Vec<u8>>>> {
        const KIND: CollectiveKind = CollectiveKind::Reduce;
        let caller = caller.with_root(root);
        let (number, is_long) = self.join_with(caller, KIND, own)?;
        if root as usize != self.own && !is_long {
            return Ok(Way::Done(None));
        }
        // Ranks whose values are short have left, and have no part in packets: no rank sends any before it
        // knows that all will.
        let mut other = None;
        self.meet(caller, number, KIND, |rank, said| {
            if said.is_long != is_long || said.len != if is_long { 0 } else { own.len() } {
                other = Some((rank, said));
            }
        })?;
        if let Some((rank, said)) = other {
            let theirs = if said.is_long { format!("more than {MOST}") } else { said.len.to_string() };
            let cause = format!("this rank reduces {} bytes, rank {rank} {theirs}", own.len());
            return Err(Error::new(ErrorClass::Truncate, "reduce", cause));
        }
        if is_long {
            return Ok(Way::Packets);
        }
        let mut values = self.values(number, own);
        let first = if operation.is_commutative() { root as usize } else { 0 };
        let at = values.reduce(operation, self.size(), first);
        Ok(Way::Done(Some(values.take(at))))
    }

    /// Gives every rank the combined values.
    pub(crate) fn all_reduce(
        &self,
        caller: Caller<'_>,
        operation: &dyn Combine,
        own: &[u8],
    ) -> Result<Way<Vec<u8>>> {
        const KIND: CollectiveKind = CollectiveKind::AllReduce;
        let (number, is_long) = self.join_with(caller, KIND, own)?;
        if is_long {
            return Ok(Way::Packets);
        }
        let mut are_equal = true;
        self.meet(caller, number, KIND, |_, said| are_equal &= !said.is_long && said.len == own.len())?;
        if !are_equal {
            // Packets find out which rank has how many.
            return Ok(Way::Packets);
        }
        let mut values = self.values(number, own);
        let at = values.all_reduce(operation, self.size());
        Ok(Way::Done(values.take(at)))
    }

    /// Gives the root the blocks of all. Long ones are missing: their ranks, and the root, go on by packets.
    pub(crate) fn gather(&self, caller: Caller<'_>, root: u32, own: &[u8]) -> Result<Way<Gathered>> {
        const KIND: CollectiveKind = CollectiveKind::Gather;
        let caller = caller.with_root(root);
        let (number, is_long) = self.join_with(caller, KIND, own)?;
        if root as usize != self.own {
            return Ok(if is_long { Way::Packets } else { Way::Done(Vec::new()) });
        }
        let mut blocks = Vec::with_capacity(self.size());
        self.meet(caller, number, KIND, |rank, said| {
            let is_own = rank == self.own;
            blocks.push((is_own || !said.is_long).then(|| match is_own {
                true => own.to_vec(),
                false => self.data(rank, number, said),
            }));
        })?;
        Ok(Way::Done(blocks))
    }

    /// Gives every rank the blocks of all.
    pub(crate) fn all_gather(&self, caller: Caller<'_>, own: &[u8]) -> Result<Way<Vec<Vec<u8>>>> {
        const KIND: CollectiveKind = CollectiveKind::AllGather;
        let (number, is_long) = self.join_with(caller, KIND, own)?;
        if is_long {
            return Ok(Way::Packets);
        }
        let (mut blocks, mut is_long) = (Vec::with_capacity(self.size()), false);
        self.meet(caller, number, KIND, |rank, said| {
            is_long |= said.is_long;
            blocks.push(self.data(rank, number, said));
        })?;
        Ok(if is_long { Way::Packets } else { Way::Done(blocks) })
    }

    /// Gives every rank its block of the root's.
    pub(crate) fn scatter(
        &self,
        caller: Caller<'_>,
        root: u32,
        blocks: Option<&[Vec<u8>]>,
    ) -> Result<Way<Vec<u8>>> {
        const KIND: CollectiveKind = CollectiveKind::Scatter;
        let caller = caller.with_root(root);
        if let Some(blocks) = blocks {
            let (_, is_long) = self.join_with_blocks(caller, KIND, blocks)?;
            return Ok(if is_long { Way::Packets } else { Way::Done(blocks[self.own].clone()) });
        }
        let number = self.join(caller, JoinNotice::short(KIND, 0), iter::empty())?;
        let notice = self.hear(caller, number, KIND, root as usize)?;
        if notice.is_long {
            return Ok(Way::Packets);
        }
        self.block(caller, root as usize, number, notice).map(Way::Done)
    }

    /// Gives every rank the blocks of all for it: an exchange, or what a scattered reduction combines.
    pub(crate) fn all_to_all(
        &self,
        caller: Caller<'_>,
        is_reduction: bool,
        blocks: &[Vec<u8>],
    ) -> Result<Way<Vec<Vec<u8>>>> {
        let kind = if is_reduction { CollectiveKind::ReduceScatter } else { CollectiveKind::AllToAll };
        let (number, is_long) = self.join_with_blocks(caller, kind, blocks)?;
        if is_long {
            return Ok(Way::Packets);
        }
        let (mut received, mut is_long) = (Vec::with_capacity(self.size()), false);
        self.meet(caller, number, kind, |rank, said| {
            is_long |= said.is_long;
            if !is_long {
                received.push(self.block(caller, rank, number, said));
            }
        })?;
        if is_long {
            return Ok(Way::Packets);
        }
        received.into_iter().collect::<Result<_>>().map(Way::Done)
    }

    /// Joins with data, or says that they are too long, which is the second answer.
    fn join_with(
        &self,
        caller: Caller<'_>,
        kind: CollectiveKind,
        own: &[u8],
    ) -> Result<(CollectiveNumber, bool)> {
        if own.len() > MOST {
            return Ok((self.join(caller, JoinNotice::long(kind), iter::empty())?, true));
        }
        Ok((self.join(caller, JoinNotice::short(kind, own.len()), iter::once(own))?, false))
    }

    /// As [`CollectiveSlots::join_with`] with a block for each rank, whose ends stand in front.
    fn join_with_blocks(
        &self,
        caller: Caller<'_>,
        kind: CollectiveKind,
        blocks: &[Vec<u8>],
    ) -> Result<(CollectiveNumber, bool)> {
        let heads = blocks.len() * END_LEN;
        let len = blocks.iter().fold(heads, |len, block| len.saturating_add(block.len()));
        if len > MOST {
            return Ok((self.join(caller, JoinNotice::long(kind), iter::empty())?, true));
        }
        let (mut ends, mut end) = ([0; MOST], 0);
        for (block, place) in blocks.iter().zip(ends.chunks_exact_mut(END_LEN)) {
            end += block.len();
            place.copy_from_slice(&(end as End).to_le_bytes());
        }
        let pieces = iter::once(&ends[..heads]).chain(blocks.iter().map(Vec::as_slice));
        Ok((self.join(caller, JoinNotice::short(kind, len), pieces)?, false))
    }

    /// This rank's block of those of a rank.
    fn block(
        &self,
        caller: Caller<'_>,
        rank: usize,
        number: CollectiveNumber,
        said: JoinNotice,
    ) -> Result<Vec<u8>> {
        let mut bytes = [0; MOST];
        let bytes = &mut bytes[..said.len];
        self.read(rank, number, bytes);
        let heads = self.size() * END_LEN;
        let end = |place: usize| {
            let at = place * END_LEN;
            let end = bytes.get(at..at + END_LEN)?;
            Some(heads + usize::from(End::from_le_bytes([end[0], end[1]])))
        };
        let start = self.own.checked_sub(1).map_or(Some(heads), &end);
        let block = start.zip(end(self.own)).and_then(|(start, end)| bytes.get(start..end));
        block.map(<[u8]>::to_vec).ok_or_else(|| {
            let cause = format!("the blocks of rank {rank} are not made as agreed");
            Error::new(ErrorClass::Intern, caller.call, cause)
        })
    }

    fn data(&self, rank: usize, number: CollectiveNumber, said: JoinNotice) -> Vec<u8> {
        let mut bytes = vec![0; said.len];
        self.read(rank, number, &mut bytes);
        bytes
    }

    fn values(&self, number: CollectiveNumber, own: &[u8]) -> RankValues {
        let mut values = RankValues::new(self.size(), own.len());
        for rank in 0..self.size() {
            match rank == self.own {
                true => values.of(rank).copy_from_slice(own),
                false => self.read(rank, number, values.of(rank)),
            }
        }
        values
    }
}
