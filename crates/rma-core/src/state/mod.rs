//! What the engine knows: its own state and that of each window, as data. The protocols ([`crate::sync`]), the origin's and the target's
//! side and progress change it; nothing here calls them.
//!
//! [`State`] lies under the engine's lock, and with it each [`WindowState`]. [`Shared`] is the part of a window that calls read without
//! that lock.

mod absent;
mod access;
mod arrivals;
mod awaited;
mod buffers;
mod dropped;
mod eager;
mod engine;
mod epoch;
mod exposure;
mod fast_sync;
mod hints;
pub(crate) mod indices;
mod invariants;
mod learnt;
mod line;
mod mapped_counts;
mod node_rank;
mod out_of_range;
mod outbox;
mod parting;
mod permission;
mod pieces;
mod regions;
mod remote;
mod replies;
mod rounds;
mod shared;
mod started;
mod store_fence;
mod target_role;
pub(crate) mod verdict;
mod window;
mod windows;

pub(crate) use absent::{error_of, left_error};
pub(crate) use access::{AccessState, FenceGate, Gate, Single, ThreadLevel};
pub(crate) use arrivals::Arrivals;
pub(crate) use awaited::AwaitedRanks;
pub(crate) use buffers::{Buffer, Buffers, Incoming, ReceivedBody};
pub(crate) use dropped::{Dropped, GivenUp};
pub(crate) use eager::{Eager, Packing};
pub(crate) use engine::{BulkOwner, Bulks, Pools, Receiving, State};
pub(crate) use epoch::{Lock, WindowEpoch};
pub(crate) use exposure::{ExposureEpoch, NotExposed};
pub(crate) use fast_sync::{FENCE, FastCalls, FastSync, LOCK_ALL, POST, START};
pub use hints::Hints;
pub(crate) use learnt::LearntMemory;
pub(crate) use line::{Line, Waiter};
pub(crate) use mapped_counts::MappedCounts;
pub(crate) use node_rank::NodeRank;
pub(crate) use out_of_range::OutOfRange;
pub(crate) use outbox::{ByChannel, MAX_HEAD, Outbox, Sent, ShortStore};
pub(crate) use parting::{Parting, revoked};
pub(crate) use permission::Permission;
pub(crate) use pieces::{OpenOperations, list_unfinished};
pub(crate) use regions::{EarlierUses, NO_SIZE, Regions, Use};
pub(crate) use remote::{RemoteAccess, RemoteAnswer, Withdrawn, is_worth};
pub(crate) use replies::{Replies, Reply, ReplyBody};
pub(crate) use rounds::{AccessRound, Rounds};
pub use shared::Flavor;
pub(crate) use shared::{Held, MappedTarget, Scale, Shared, request_of};
pub(crate) use store_fence::StoreFence;
pub(crate) use target_role::TargetRole;
pub(crate) use window::{FenceProtocol, Opening, WindowState, gone};
pub(crate) use windows::{WindowContext, Windows};
