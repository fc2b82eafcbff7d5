//! Notification as data: the counters of a window by which stores tell their target.
//!
//! A notified operation is an ordinary one that names a counter of its target. When its data are where they belong, the counter is
//! raised by one. There is one way for that, with the same stations as for any operation ([`crate::table`]):
//!
//! ```text
//!   mapped target    the data, then a step on the counter in the target's control memory, then a look whether
//!                    a thread sleeps there, and a wake-up if so
//!   packets          the counter rides on the packet with the last of the data; the target raises it when all
//!                    before it in the order of packets is done, replies that read its memory included
//!   transfers        none: a notified operation is packets. Where its notice covers earlier operations, it
//!                    stays until their transfers are over
//! ```
//!
//! The counters of a rank lie in its control memory, on each of these ways: a view of that, [`CounterBlock`], is the only owner of
//! the fact. How many there is room for is decided when the window is made, by each rank for itself, and published in the
//! control block; how many are in use is set by all ranks together, and kept there for the ranks that map it. The others learn it
//! in the same call, so no call names a counter that its target does not have.
//!
//! ```text
//!    waiter                              origin
//!    sleepers + 1                        counter + 1
//!    look at the counter                 look at the sleepers      (SYNC POINT N1, all four SeqCst)
//!    sleep                               wake
//! ```
//!
//! Knows no packets and no waits.

mod block;
mod counts;

pub(crate) use block::CounterBlock;
pub(crate) use counts::Notification;

/// Most counters of one rank in one window.
pub const MOST_COUNTERS: u32 = 1 << 20;
/// Counters that a rank has room for when the program says nothing.
pub const USUAL_COUNTERS: u32 = 16;
