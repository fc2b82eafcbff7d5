//! Access to the memory of other processes, by no code of theirs: what a channel offers beside packets, if its network can.
//!
//! A process exposes memory and gets a key for each peer that is to reach it; the keys travel in packets. The
//! holder of a key writes from its own buffers into that memory, or reads from there, by transfers that are
//! answered in any order. A channel that can do this implements [`RemoteMemory`] and says so by
//! [`Channel::transfers`] and [`Channel::remote_memory`]; both answer "no" by default.
//!
//! # The contract
//!
//! Each clause has tests of its number in `conformance`, which skip channels that offer no transfers.
//!
//! * **R1** A transfer accesses exactly the bytes that it names, all of one exposure. One that names others, or memory that
//!   was withdrawn, is answered [`TransferError::Refused`], or fails the peer if the network cannot do otherwise; it
//!   touches no memory outside the exposure.
//! * **R2** Every transfer that was answered with [`Issued::Yes`] gets exactly one [`Sink::transferred`], in
//!   any order. When its peer fails, that is [`TransferError::Lost`], or what became of it before, and comes
//!   before [`Sink::failed`]; a peer that does not fail has no `Lost`. A transfer with another answer, or an
//!   error, gets none.
//! * **R3** The user's buffer belongs to the channel until that answer, and is not touched after it, whatever the answer.
//!   Dropping the channel ends all access, by its own transfers and by those of peers to what it has exposed, before the
//!   drop returns.
//! * **R4** A write that is answered with success is in the peer's memory: what the peer does after a packet
//!   that was committed after the answer finds the bytes there. A read that is answered with success has seen
//!   all that was true before it began, by a packet handed over or an answer given. A network whose
//!   completions promise less offers no transfers.
//! * **R6** Memory that is exposed stays where it is until [`RemoteMemory::withdraw`] has answered [`Withdrawal::Over`]; then no
//!   transfer of a peer touches it any more. That waits for polls of peers at most, and for no peer whose failure was reported.
//! * **R7** [`Issued::Full`] is back-pressure: a later poll answers a transfer to that peer, or calls [`Sink::writable`] for it and
//!   [`Lane::Request`](super::Lane::Request). [`Issued::Never`] means that this buffer cannot be used, and touches nothing.
//! * **R8** Answers are handed over by `poll`, and count as something that a poll would act on (C5, C6). A process whose
//!   channel has to help with the transfers of its peers is woken for that.
//!
//! A buffer that must be registered with the network is registered by the channel, which may keep that; callers need not know.

use super::Failure;
#[cfg(doc)]
use super::{Channel, Sink};
use crate::ids::Peer;
use crate::mem::{ReadSpan, WriteSpan};

/// What transfers to a peer can do, as plain data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferLimits {
    /// Shortest write that costs less than a packet with the same bytes and its acknowledgement.
    pub write_from: usize,
    /// Shortest write that costs less than the packet alone: epochs of fence, start and post acknowledge nothing.
    pub unacknowledged_from: usize,
    /// Shortest read that costs less than a packet that asks for the bytes, and one that brings them.
    pub read_from: usize,
    /// Longest transfer; at least each of the others.
    pub longest: usize,
}

/// The channel's name for memory that it has exposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Exposure(pub u64);

/// What a peer needs to reach exposed memory. It travels in packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteKey {
    /// The network's key.
    pub key: u64,
    /// What the network counts offsets from: 0, or the address at the peer.
    pub base: u64,
}

/// A place in a peer's exposed memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemotePlace {
    /// What the peer has sent.
    pub key: RemoteKey,
    /// Bytes from the start of the exposed memory.
    pub offset: u64,
}

/// The caller's name for a transfer, given back by [`Sink::transferred`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TransferToken(pub u64);

/// Answer to the wish for a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Issued {
    /// It is under way.
    Yes,
    /// Not now; see clause R7.
    Full,
    /// Not with this buffer, which the network cannot use: send packets.
    Never,
}

/// How far the end of an exposure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Withdrawal {
    /// No transfer touches the memory any more.
    Over,
    /// Transfers of peers may be under way: ask again behind a poll.
    Pending,
}

/// Why a transfer has not succeeded. Of a write, any of the bytes may have arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferError {
    /// The place lies outside what the peer has exposed, or is exposed no more. The peer lives.
    Refused,
    /// The peer is lost; [`Sink::failed`] says so in this poll or a later one.
    Lost,
}

/// Transfers between this process's buffers and memory that its peers have exposed.
///
/// Every method is called under the same lock as those of [`Channel`](super::Channel) and returns at once.
///
/// # Safety
/// The implementation keeps clauses R3 and R6: nothing touches a buffer after its answer, or memory after it is withdrawn.
pub unsafe trait RemoteMemory {
    /// Exposes memory, to be read and written by peers that get a key.
    ///
    /// # Errors
    /// When the network or the system refuses.
    ///
    /// # Safety
    /// The memory stays mapped and writable until [`RemoteMemory::withdraw`] is over, or the channel is dropped.
    unsafe fn expose(&mut self, memory: WriteSpan) -> Result<Exposure, Failure>;

    /// What `peer` needs to reach the memory; `None` when it has no way there.
    fn key(&mut self, exposure: Exposure, peer: Peer) -> Option<RemoteKey>;

    /// Ends an exposure, at once if `is_idle`: the caller knows that no transfer to it is under way or begins. Others that are under way
    /// may be refused, and later ones are.
    fn withdraw(&mut self, exposure: Exposure, is_idle: bool) -> Withdrawal;

    /// Begins to write all of `from` to a place at a peer. An empty span may be refused with a panic.
    ///
    /// # Errors
    /// When the peer has failed.
    fn write(
        &mut self,
        peer: Peer,
        from: ReadSpan,
        to: RemotePlace,
        token: TransferToken,
    ) -> Result<Issued, Failure>;

    /// Begins to fill `into` from a place at a peer. An empty span may be refused with a panic.
    ///
    /// # Errors
    /// When the peer has failed.
    fn read(
        &mut self,
        peer: Peer,
        into: WriteSpan,
        from: RemotePlace,
        token: TransferToken,
    ) -> Result<Issued, Failure>;
}
