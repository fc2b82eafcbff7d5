//! Newtypes for everything that is a number: processes, ranks, windows, displacements, sequence numbers; and the kinds of locks.
//!
//! Two spaces of process numbers exist and never mix: a [`Peer`] is a process of the job and what channels speak of,
//! a [`Rank`] is a position in a window's group and what users speak of.

use std::fmt;

/// A process of the job, numbered from 0. What channels, the host and the launcher call a process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Peer(pub u32);

/// A rank in a window's group, numbered from 0 (MPI 3.1 §11.2: "target rank").
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rank(pub u32);

impl Rank {
    /// The rank of no process (`MPI_PROC_NULL`), for programs whose neighbours end somewhere. As the target of any
    /// communication call, lock, unlock or flush it means that nothing happens: the call is over at once, a request too,
    /// result buffers stay as they are, and no epoch is asked for. The call's other arguments are checked as always. In the
    /// group of a start or post call it is an error, as any other rank outside the window's group.
    pub const NULL: Self = Self(u32::MAX);
}

/// How a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LockKind {
    /// By one process alone (`MPI_LOCK_EXCLUSIVE`).
    Exclusive,
    /// By any number of processes (`MPI_LOCK_SHARED`).
    Shared,
}

/// A target displacement in units of the target's displacement unit (MPI 3.1 §11.2.1), not yet scaled.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Disp(pub u64);

/// A window as all processes of its group name it on the wire: table index and generation.
///
/// The generation distinguishes a late packet of a freed window from one of its successor (design §5.7).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WindowId {
    /// Index into each process's window table; the same on all ranks of the group.
    pub index: u16,
    /// How often the index was used before, modulo 2¹⁶.
    pub generation: u16,
}

/// Number of a request packet from one origin to one target on one window, counted from 1.
///
/// An acknowledgement echoes it once that packet has been applied in order (lessons, decision 5).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Sequence(pub u64);

/// An operation of the origin as the target's replies name it: pool index and generation.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestId {
    /// Index into the origin's operation pool.
    pub index: u32,
    /// Generation of the pool element, so that a late or forged reply finds nothing.
    pub generation: u32,
}

impl WindowId {
    /// The id as the 32 bits that travel in a packet.
    pub fn to_bits(self) -> u32 {
        u32::from(self.index) | u32::from(self.generation) << 16
    }

    /// The inverse of [`WindowId::to_bits`]; every bit pattern is an id, though perhaps not of a live window.
    pub fn from_bits(bits: u32) -> Self {
        Self { index: bits as u16, generation: (bits >> 16) as u16 }
    }
}

impl RequestId {
    /// The id as the 64 bits that travel in a packet.
    pub fn to_bits(self) -> u64 {
        u64::from(self.index) | u64::from(self.generation) << 32
    }

    /// The inverse of [`RequestId::to_bits`].
    pub fn from_bits(bits: u64) -> Self {
        Self { index: bits as u32, generation: (bits >> 32) as u32 }
    }
}

macro_rules! plain_number {
    ($($name:ident)*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), " {}"), self.0)
            }
        }
    )*};
}
plain_number!(Peer Rank Disp Sequence);

impl fmt::Display for WindowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.index, self.generation)
    }
}

impl fmt::Debug for WindowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WindowId {self}")
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestId {}.{}", self.index, self.generation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_survive_their_wire_form() {
        for (index, generation) in [(0, 0), (1, 2), (u16::MAX, 7), (3, u16::MAX)] {
            let id = WindowId { index, generation };
            assert_eq!(WindowId::from_bits(id.to_bits()), id);
        }
        let id = RequestId { index: 0xdead_beef, generation: 0x1234_5678 };
        assert_eq!(RequestId::from_bits(id.to_bits()), id);
    }
}
