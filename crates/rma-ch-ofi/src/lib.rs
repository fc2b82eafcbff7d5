//! Packets over libfabric: a [`Channel`](rma_core::channel::Channel) for the networks that libfabric knows (InfiniBand, RoCE,
//! Slingshot, EFA, and plain TCP for trying it out).
//!
//! What it owns: one endpoint for reliable datagrams with its completion queue and address vector (`fabric`, `access`), the memory that
//! packets leave from and arrive in (`block`), and for each peer in contact its lanes with credits (`peer`).
//!
//! * **The library** is found by `dlopen` when a channel is made (`library`); nothing is linked, so a program runs where it is
//!   missing. `abi` declares the structures of version 1.17, which later versions keep; a test compares them with the headers.
//! * **The lower channel.** Reliable datagrams report no death, authenticate no peer and have no goodbye. So
//!   an [`OfiChannel`] lies on another channel that does all of that (`life`): through it peers exchange
//!   addresses and tokens, and learn of each other's end (`contact`). In jobs it is TCP; this crate knows
//!   only the trait.
//! * **Authentication.** Each side draws a token that the peer has to put into every packet. Tokens travel through the lower
//!   channel only, which has proven the job's secret; what has another token is dropped.
//! * **Lanes and order.** The provider keeps the order of a pair (`FI_ORDER_SAS`). Per peer and lane a fixed number of
//!   packets may be under way, for each of which the receiver has a buffer posted; credits come back with packets of the other
//!   direction, or alone. So a lane that is full delays no other.
//! * **Bodies.** A long one in one piece is registered and offered (`registration`): the receiver reads it from where it lies
//!   and answers, keeping the lane's packets behind it back meanwhile (`reading`). Others travel in pieces of a packet, copied
//!   from where they lie and to where they belong; the packets behind one wait until its last piece has left.
//! * **Transfers** between a buffer and a peer's window (`remote`) are the provider's own writes and reads, answered when they are
//!   delivered. A failure is reported when the provider has come back from all transfers to that peer. Memory that is withdrawn
//!   is kept until the peers that have its key have ended theirs (`withdrawal`).
//! * **Ends.** A goodbye says how many packets were sent; the peer answers when it has them all, and only then the endpoint may
//!   go. A death is what the lower channel calls one, reported behind the last packet that had arrived.
//! * **Waiting.** Endpoint and lower channel both wake the engine's poller; arming asks `fi_trywait`. A timer (`tick`) stands in for an endpoint that
//!   wakes nothing. Both
//!   sides of a new contact send a packet at once and do not sleep until the other's is here: providers may
//!   connect without waking any thread.
//!
//! Invariants: a buffer belongs either to the provider or to this crate; a credit is spent by a commit and comes back when the
//! receiver has handed that packet over; nothing of a peer is handed over behind its failure. `crates/rma-core/wire.md` is not
//! concerned: the bytes are those of `wire`. Called by the engine under its lock, from one thread at a time.

mod abi;
mod access;
mod bare;
mod block;
mod channel;
mod config;
mod contact;
mod delivery;
mod fabric;
mod library;
mod life;
mod object;
mod peer;
mod provider;
mod pull;
mod reading;
mod registration;
mod remote;
mod sending;
mod tick;
mod transfers;
mod wire;
mod withdrawal;

pub use channel::OfiChannel;
pub use config::{DEFAULT_PROVIDER, OfiConfig, OfiSettings, Word};
pub use provider::probe;

#[doc(hidden)]
pub use abi::layout;
#[doc(hidden)]
pub use bare::Bare;
