//! Typed windows: one-sided communication that cannot be used wrongly without `unsafe`.
//!
//! A [`Window`] exposes a number of elements on every rank. Memory of other ranks is reached only inside an epoch, and an
//! epoch is a scope: a closure that gets a handle with the communication calls.
//!
//! ```
//! rma::World::run_threads(2, |world| {
//!     let mut window = world.allocate::<u64>(4)?;
//!     let me = u64::from(world.rank());
//!     let right = (world.rank() + 1) % world.size();
//!     let mine = [me; 2];
//!     window.fence_epoch(|epoch| epoch.put(&mine, right, 1))?;
//!     assert_eq!(window.local().get(1), 1 - me);
//!
//!     let ticket = window.exclusive(0, |rank0| rank0.fetch_add(0, 1))?;
//!     assert!(ticket < 2);
//!     window.free()
//! })
//! .unwrap();
//! ```
//!
//! # Which epoch
//!
//! | ranks that take part | scope | handle | ends with |
//! | --- | --- | --- | --- |
//! | all ranks, together | [`Window::fence_epoch`]; many in a row: [`Window::fence_epochs`] | [`FenceEpoch`] | a fence |
//! | origins and targets that name each other | [`Window::access`] and [`Window::expose`] | [`AccessEpoch`], [`Exposure`] | complete, wait |
//! | the origin alone | [`Window::exclusive`], [`Window::shared`], [`Window::lock_set`] | [`Locked`], [`LockSet`] | unlock |
//! | the origin alone, any rank | [`Window::lock_all`] | [`LockAll`] | unlock_all |
//!
//! # Why this is sound
//!
//! *What the types rule out.* A communication call outside an epoch: the calls exist only on the handles, and a handle does not leave
//! its closure. Conflicting epochs: opening one borrows the window mutably until it has ended. An access epoch within an exposure, and the
//! epochs of a chain of fences, borrow the handle of that scope in the same way.
//!
//! *Buffers.* An operation may use its buffers until the scope has ended. So they are borrowed for the whole call that opens the scope,
//! as with [`std::thread::scope`]: an origin shared, a result mutably. A buffer that is made inside the closure is refused. A
//! [`Batch`] is a scope within a lock: its buffers are free when it returns. Values that are given without a buffer are kept by the window
//! until the scope ends, or for operations that are carried out at once not at all.
//!
//! *Ends.* A scope closes its epoch whatever its closure does: returns, fails or panics. The panic goes on, and the error is given
//! back, when the epoch is closed. No guard has to be dropped for that, so [`std::mem::forget`] cannot keep a scope open. Closing
//! completes all operations; when it fails (a rank has died), the engine has given the buffers back first. Should it ever not
//! have, the process ends, because nothing else would be sound. A rank that leaves a collective scope by a panic has
//! taken part in its end: others do not wait there for it.
//!
//! *Threads.* Handles are shared by reference; the engine orders what threads do at a time. Threads that borrow a handle end before the
//! closure does, because the borrow does.
//!
//! *Requests.* A [`Request`] has its buffer, owned or borrowed for the scope, and gives it back when the operation has ended: a
//! shorter borrow would end when the request is forgotten. Dropped requests leave their buffers to the scope. The same holds for a
//! request that is a future, and for a future that holds one.
//!
//! *Memory of windows.* Other processes write it at any time, whatever they have promised. So no slice of it is handed out, not even
//! inside an epoch: [`View`] reads and writes it by relaxed atomics and audited copies. Every bit pattern is a valid [`Element`]. A
//! window that is dropped without [`Window::free`] leaves its memory exposed until the world ends, since freeing is
//! collective: memory of the library stays mapped, and so does the memory of a view, which borrows the window;
//! a buffer of the program ([`WindowBuilder::over`]) is given back by [`Window::into_buffer`], or never released. Memory that is borrowed
//! ([`WindowBuilder::lend`]) is exposed for one call, which ends when all ranks have freed the window. What is attached to a
//! [`DynamicWindow`] is owned or lent in the same way.

mod active;
#[cfg(feature = "ndarray")]
mod arrays;
mod asserted;
mod buffer;
mod builder;
mod core;
mod counters;
mod dynamic;
mod epoch;
mod fence;
mod foreign;
mod layout;
mod layout_calls;
mod lock;
mod lock_all;
mod notified;
mod operations;
mod rank;
mod request;
mod requested;
mod scope;
mod synchronize;
mod target;
mod typed;
mod values;
mod view;

pub use crate::elements::{Element, Integer, Number};
pub use active::{AccessEpoch, Exposure, Started};
pub use asserted::{ReadEpoch, Unchecked};
pub use buffer::{Buffer, OriginBuffer, ResultBuffer};
pub use builder::WindowBuilder;
pub use counters::Notified;
pub use dynamic::{DynamicWindow, Place};
pub use epoch::Epoch;
pub use fence::{Fence, FenceEpoch, FenceEpochs};
#[cfg(feature = "zerocopy")]
pub use foreign::Plain;
#[cfg(feature = "bytemuck")]
pub use foreign::Pod;
pub use layout::Layout;
pub use lock::{Lock, LockSet, Locked};
pub use lock_all::{AllLocked, BatchOfAll, LockAll, OneOfAll};
pub use rank::IntoRank;
pub use request::Request;
pub use rma_core::datatype::BasicType;
pub use rma_core::epoch::LockKind;
pub use rma_core::ids::WindowId;
pub use rma_core::kernel::ReduceOp;
pub use rma_core::notify::Notifications;
pub use rma_core::window::{Hints, OperationKind, Unfinished, UnfinishedReport};
pub use target::{Batch, Batched, Target};
pub use typed::Window;
pub use view::View;
