//! Windows: creation, the calls of the one-sided chapter on them, and their end.
//!
//! [`Window`] is what a host or a user holds. Its communication calls take the direct path when the target's memory is
//! mapped here, and the operation table otherwise; the two halves of a window's data are split the same way: `Shared` needs
//! no lock, `WindowState` lives under the engine's.

mod active;
mod agree;
mod bequest;
mod calls;
mod calm;
mod cells;
mod create;
pub(crate) mod dropped;
mod dynamic;
mod free;
mod hints;
mod indices;
mod latch;
mod near;
mod needs;
mod now;
pub(crate) mod parting;
mod passive;
mod pending;
mod query;
mod queue;
mod quick;
mod regions;
mod request;
mod scattered;
mod shared;
mod spec;
mod state;
mod steps;
mod synchronize;
mod table;
mod typed;
mod unordered;
mod waits;

pub use crate::control::{OperationKind, RunStep, Unfinished, UnfinishedReport, WordStep};
pub use calls::Window;
pub use create::WindowCreation;
pub(crate) use dropped::Guard;
pub use dynamic::Detaching;
pub use free::WindowFree;
pub use hints::Hints;
pub(crate) use indices::MAX_WINDOWS;
pub(crate) use latch::Single;
pub(crate) use near::Near;
pub(crate) use needs::{InLine, held_locks, with_operations};
pub use now::DirectPath;
pub(crate) use regions::Regions;
pub use request::OperationRequest;
pub use shared::Flavor;
pub(crate) use shared::{Held, Member, OutOfRange, Shared, request_of};
pub use spec::WindowSpec;
pub(crate) use state::WindowState;
pub(crate) use table::Windows;
pub use typed::{Destination, Origin, TargetArea};
