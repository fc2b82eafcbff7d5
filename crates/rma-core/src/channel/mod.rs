//! The line to transports: what a channel must do, numbered, and what it may rely on.
//!
//! A channel moves packets between this process and its peers. It knows no window, lock or datatype, only packets: small
//! ones, built in place (reserve, fill, commit), and bulk ones, a small head and a body that stays in the sender's memory
//! and lands in memory that the receiver names when it has seen the head. The engine drives a channel by
//! [`Channel::poll`] under the engine's lock; a channel has no thread of its own and nothing it calls can call it back.
//!
//! # The contract
//!
//! Each clause has tests of its number in `conformance` (feature `conformance`), which every channel runs.
//!
//! * **C1** Packets of one (sender, receiver, lane) arrive exactly once, in commit order, small and bulk alike, with the
//!   bytes they were committed with. [`Sink::bulk_received`] comes after the whole body is in place and before the next
//!   packet of that lane.
//! * **C2** Nothing leaves before commit; a reservation that is not committed (another `reserve`, `send_bulk` or `poll`
//!   came first) sends nothing.
//! * **C3** [`Room::Full`] is the only back-pressure, answered before a byte is built. After it, one [`Sink::writable`]
//!   for that peer and lane follows from a later `poll`, as soon as a reservation of the same length (the one last
//!   refused) would succeed. Several refusals before the notice are answered by one.
//! * **C4** A small packet's bytes belong to the channel after commit: the caller may reuse what it filled from. A bulk
//!   head is copied likewise; a bulk body's memory is only read by the channel, and not after [`Sink::bulk_sent`] for it,
//!   or after [`Sink::failed`] for that peer. Every accepted bulk is answered by exactly one `bulk_sent`, also when its
//!   peer fails (then before `failed`); a bulk refused by [`Room::Full`] or an error is not read at all. The memory of a
//!   [`Placement`] is not touched after `bulk_received` or `failed`. Dropping the channel ends all access, also that of
//!   peers that work for it, before the drop returns.
//! * **C5** `poll` never blocks, and hands over at most the budget's number of packets. A bulk counts once, with its
//!   head; a refused packet counts.
//! * **C6** After [`Channel::arm`] has answered [`Armed::Sleep`], anything a `poll` would act on (an arrival,
//!   room after full, a failure, a peer that connects) wakes each thread that waits on the registered
//!   sources. No wake-up is lost. An idle channel answers `Sleep` soon, and then wakes no thread.
//! * **C7** Errors are per peer and final, and [`Sink::failed`] comes once, after the last packet of that peer; from then
//!   on every call for that peer is an error. Peers that said goodbye (closed in order) are not failed. Other peers are
//!   not affected. A peer that is failed here sees this process fail in turn. A channel that is dropped without
//!   [`Channel::close`] looks like a death. A peer that was given up ([`Channel::give_up`]) is failed by a later poll, behind what
//!   has arrived from it.
//! * **C8** Memory in use is bounded by the configuration and the number of contacted peers, and shown by
//!   [`Channel::usage`]. A peer never contacted costs nothing.
//!
//! # Two lanes
//!
//! Requests and responses travel in lanes that do not block each other: a full request lane never keeps a response from
//! being reserved, and while a bulk body is under way in one lane the other still moves. Between lanes there is no order.
//!
//! # Beside packets
//!
//! A channel whose network writes into and reads from the memory of other processes offers [`RemoteMemory`], a second trait with
//! a contract of its own (R1 to R8), also part of the suite.

#[cfg(feature = "conformance")]
pub mod conformance;
mod remote;
mod router;
mod tracer;
mod transport;
mod types;

pub use remote::{
    Exposure, Issued, RemoteKey, RemoteMemory, RemotePlace, TransferError, TransferLimits, TransferToken,
    Withdrawal,
};
pub use router::{Route, Router};
pub use tracer::{PacketLog, TRACED_BYTES, TraceEvent, TraceLog, Tracer};
pub use transport::{Channel, Sink};
pub use types::{
    Armed, Budget, BulkToken, Capabilities, Closing, Delivery, Failure, FailureKind, Lane, MIN_PACKET,
    Placement, Polled, Room, Source, Usage,
};
