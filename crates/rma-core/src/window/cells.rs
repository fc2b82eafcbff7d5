//! Which cells belong to which ranks, when a window is made ([`crate::control`] says what they are for).
//!
//! Invariant: the place of a rank among those of the node, mapped targets and node targets, in ascending order is the same to all of them.

use crate::control::{ControlShape, LockCell};
use crate::error::{Error, ErrorClass, Result};
use crate::host::{Group, Host, Locality, SegmentSet};
use crate::ids::Rank;
use crate::mem::WriteSpan;
use smallvec::SmallVec;

const CALL: &str = "win_create";

/// Most ranks of the group that can share control memory with this one.
pub(super) fn ranks_of_node(host: &dyn Host, group: &Group) -> usize {
    let is_of_node =
        |rank: &Rank| *rank == group.me() || host.locality(group.peer(*rank)) != Locality::Remote;
    (0..group.size()).map(Rank).filter(is_of_node).count()
}

/// The control memory of the ranks of the node, ascending: the place of a rank among them is that of its cells.
pub(super) struct Cells {
    parts: SmallVec<[(Rank, WriteSpan); 8]>,
    own: usize,
    shape: ControlShape,
}

impl Cells {
    pub(super) fn new(me: Rank, segment: &SegmentSet, shape: ControlShape) -> Result<Self> {
        let mapped = segment.parts().iter().map(|part| (part.rank, part.control));
        let node_targets = segment.controls().iter().map(|part| (part.rank, part.control));
        let mut parts: SmallVec<[_; 8]> = mapped.chain(node_targets).collect();
        parts.sort_unstable_by_key(|(rank, _)| *rank);
        let own = parts.binary_search_by_key(&me, |(rank, _)| *rank).map_err(|_| left_out())?;
        Ok(Self { parts, own, shape })
    }

    /// What this process is to the lock of a rank.
    pub(super) fn own(&self, of: Rank) -> Result<LockCell> {
        let place = self.parts.binary_search_by_key(&of, |(rank, _)| *rank).map_err(|_| left_out())?;
        LockCell::new(self.parts[self.own].1, self.shape, place).ok_or_else(too_short)
    }

    /// What each rank is to this process's lock.
    pub(super) fn of_others(&self) -> Result<Box<[(Rank, LockCell)]>> {
        let mut cells = Vec::with_capacity(self.parts.len());
        for (rank, control) in &self.parts {
            cells.push((*rank, LockCell::new(*control, self.shape, self.own).ok_or_else(too_short)?));
        }
        Ok(cells.into())
    }
}

#[cold]
pub(super) fn left_out() -> Error {
    Error::new(ErrorClass::Intern, CALL, "the host's segment leaves out the rank that asked for it")
}

#[cold]
pub(super) fn too_short() -> Error {
    Error::new(ErrorClass::Intern, CALL, "the host's control memory is too short or not aligned")
}
