//! Typed windows: one-sided communication that cannot be used wrongly without `unsafe`.
//!
//! A [`Window`] exposes a number of elements on every rank. Memory of other ranks is reached only inside an epoch, and an
//! epoch is a scope: a closure that gets a handle with the communication calls. What the types rule out (design §9):
//!
//! * a communication call outside an epoch: the calls exist only on the handles;
//! * conflicting epochs: opening one borrows the window mutably;
//! * reuse of a buffer before the operation is complete: buffers are borrowed for the whole call that opens the scope, as
//!   with [`std::thread::scope`], and the scope ends only when its operations are complete, also when the closure panics. No
//!   guard has to be dropped for that, so `std::mem::forget` cannot undo it.
//!
//! Window memory is shared with other processes, so no slice of it is handed out: [`View`] reads and writes it by relaxed
//! atomics and audited copies.
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

mod element;
mod fence;
mod lock;
mod operations;
mod scope;
mod typed;
mod view;

pub use element::{Element, Integer, Number};
pub use fence::FenceEpoch;
pub use lock::{LockSet, Locked};
pub use operations::Batch;
pub use rma_core::epoch::LockKind;
pub use rma_core::kernel::ReduceOp;
pub use rma_core::window::{OperationKind, Unfinished, UnfinishedReport};
pub use typed::Window;
pub use view::View;
