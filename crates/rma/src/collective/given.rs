//! What a rank gives to a collective, and where what it gets goes, when either may be the caller's memory.
//!
//! Long blocks travel from one program's memory to the other's: packed, they would be copied twice more, through memory whose
//! pages come and go with each call. Short ones are received into memory of this library, so that a call which ends in an
//! error has stored none of them; those of neighbors, which are messages in all but name, are received as messages are.
//!
//! Invariant: a machine that uses the caller's memory ends, with a result or an error, when no message of it does any more
//! ([`super::link::Sends::release`]).

use rma_core::datatype::{Gather, Scatter};

/// Bytes for one rank.
#[derive(Debug)]
pub enum Given {
    /// In memory of the library.
    Bytes(Vec<u8>),
    /// In memory of the caller, which keeps it as it is until the collective has ended.
    Memory(Gather),
}

/// Shortest block that is received in place, in bytes. It is longer than what travels unannounced, which is copied anyway, and
/// the copy of a shorter one costs little against its announcement.
const IN_PLACE: u64 = 8192;

impl Given {
    /// Length in bytes.
    pub fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Memory(memory) => memory.remaining() as usize, // memory is not longer than a `usize` can say
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes, packed.
    pub fn pack(self) -> Vec<u8> {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Memory(memory) => packed(memory),
        }
    }

    /// A packed copy.
    pub(crate) fn copy(&self) -> Vec<u8> {
        match self {
            Self::Bytes(bytes) => bytes.clone(),
            Self::Memory(memory) => packed(memory.clone()),
        }
    }

    /// The same for one more rank.
    pub(crate) fn again(&self) -> Self {
        match self {
            Self::Bytes(bytes) => Self::Bytes(bytes.clone()),
            Self::Memory(memory) => Self::Memory(memory.clone()),
        }
    }

    /// Copies them to where this very rank gets them, if that is a place for them; otherwise answers them.
    pub(crate) fn move_to(self, room: Option<Scatter>) -> Option<Vec<u8>> {
        match (self, room.filter(is_in_place)) {
            (Self::Memory(mut memory), Some(mut room)) if room.remaining() == memory.remaining() => {
                memory.transfer(&mut room);
                None
            }
            (given, _) => Some(given.pack()),
        }
    }
}

/// The bytes of memory.
pub(crate) fn packed(mut memory: Gather) -> Vec<u8> {
    let mut bytes = vec![0; memory.remaining() as usize];
    memory.read(&mut bytes);
    bytes
}

/// Whether what comes for this memory is received there.
pub(super) fn is_in_place(room: &Scatter) -> bool {
    room.remaining() >= IN_PLACE
}
