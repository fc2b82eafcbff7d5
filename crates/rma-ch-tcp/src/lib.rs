//! Packets over TCP between the processes of a job: a [`Channel`](rma_core::channel::Channel) for what shared memory does
//! not reach.
//!
//! * **Contact.** A [`TcpChannel`] listens on one address and connects to a peer when something is first sent to it
//!   (`contact`, `dial`, `unauthenticated`). Both sides prove that they know the job's secret before a byte of the job is
//!   believed (`handshake`, `exchange`). When two peers connect to each other at the same time, both keep the connection
//!   that the lower one began (`peers`). Unauthenticated connections, whatever they send or do not send, cost a bounded amount of memory
//!   and time and disturb no peer.
//! * **Sending.** Packets are framed into a ring for each lane (`queue`, `ring`, `frame`) and leave many at a time; bodies
//!   leave from where they lie, in pieces between which the other lane gets its turn.
//! * **Receiving.** Small packets are read many at a time and handed over from the buffer; a body is read straight into
//!   the memory that the receiver named (`inbox`, `frame`).
//! * **Waiting.** All sockets hang on an epoll instance that the engine's poller waits for (`readiness`). While there is
//!   traffic, the connections used last are read without asking which are readable, and the system need not report on them
//!   (`work_lists`, `channel`).
//! * **Ends.** A peer that ends its connection without a goodbye, or breaks the protocol, is failed once, after its last
//!   packet; silence is never taken for death.
//!
//! `crates/rma-ch-tcp/wire.md` describes handshake and frames byte by byte. `unsafe` is in `sys` (system calls on raw memory), and
//! in the promise of the `Channel` implementation.

mod channel;
mod config;
mod contact;
mod dial;
mod exchange;
mod frame;
#[doc(hidden)]
pub mod fuzzing;
mod handshake;
mod inbox;
mod mac;
mod peers;
mod queue;
mod readiness;
mod ring;
mod seal;
mod silence;
mod socket;
mod sys;
mod unauthenticated;
mod work_lists;

pub use channel::{SystemCalls, TcpChannel};
pub use config::{Directory, TcpConfig, TcpSettings};
