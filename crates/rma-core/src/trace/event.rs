//! What happens, as an observer hears of it.

use crate::channel::Lane;
use crate::ids::{Peer, Rank, WindowId};
use std::fmt;
use std::time::Instant;

/// One event. Begin and end of a call and of a wait come from the same thread, and nest; epochs do neither.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A call of the user's has begun.
    CallBegin {
        /// The call, as errors name it.
        call: &'static str,
        /// The window that it is made on.
        window: Option<WindowId>,
        /// The rank of the window that it names.
        target: Option<Rank>,
    },
    /// The newest call of this thread that has not ended ends.
    CallEnd,
    /// An operation was carried out by the caller itself, in memory that it maps. It is no call with an end of its own: it
    /// is a copy.
    Direct {
        /// The call.
        call: &'static str,
        /// The window.
        window: WindowId,
        /// Whose memory.
        target: Rank,
        /// Number of bytes.
        len: u64,
    },
    /// An epoch begins. `id` is the same at its end, and no other epoch of this engine has it.
    EpochOpen {
        /// Its number.
        id: u64,
        /// The window.
        window: WindowId,
        /// The call that opens it.
        kind: &'static str,
        /// The rank, where the epoch is one rank's.
        target: Option<Rank>,
    },
    /// An epoch ends.
    EpochClose {
        /// Its number.
        id: u64,
        /// As at its begin.
        window: WindowId,
        /// As at its begin.
        kind: &'static str,
        /// As at its begin.
        target: Option<Rank>,
    },
    /// A packet has been handed to a channel.
    PacketSent(Packet<'a>),
    /// A packet was taken from a channel.
    PacketReceived(Packet<'a>),
    /// A thread begins to wait inside a call.
    WaitBegin {
        /// The call that waits.
        call: &'static str,
        /// What for.
        waits_for: &'a str,
    },
    /// The newest wait of this thread ends.
    WaitEnd,
    /// A thread has waited in vain for a while, and sleeps until something happens.
    Sleep,
    /// The user has named a window.
    WindowName {
        /// The window.
        window: WindowId,
        /// Its name.
        name: &'a str,
    },
}

/// A packet on its way.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Packet<'a> {
    /// The process at the other end.
    pub peer: Peer,
    /// The lane.
    pub lane: Lane,
    /// What the packet is: the name of its kind, `message` for the protocol above.
    pub name: &'static str,
    /// The window that a one-sided packet is for.
    pub window: Option<WindowId>,
    /// Number among the packets of this sender, receiver and lane, from 0; the same at both ends.
    pub number: u64,
    /// Bytes in all, the body of a bulk packet included.
    pub len: u64,
    /// The channel that carries it; empty at the receiver.
    pub channel: &'a str,
    /// When the packet may have left first, where that was before the event: its receiver may have it already.
    pub since: Option<Instant>,
}

/// A receiver of an engine's events. Called from every thread that uses the engine, with or without the
/// engine's lock held, so an observer never calls the engine back, and is quick.
pub trait Observer: Send + Sync {
    /// Something has happened, now.
    fn observe(&self, event: &Event<'_>);
}

impl fmt::Debug for dyn Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}
