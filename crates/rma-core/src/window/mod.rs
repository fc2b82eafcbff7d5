//! Windows: creation, the calls of the one-sided chapter on them, and their end.
//!
//! [`Window`] is what a host or a user holds. Its communication calls take the direct path when the target's memory is mapped here, and
//! the operation table otherwise; the two halves of a window's data are split the same way: `Shared` needs no lock, `WindowState` lives
//! under the engine's. The calls are in `communicate`, `synchronize`, `requests` and `query`; the other files have what these need.

mod agree;
mod bequest;
mod cells;
mod communicate;
mod create;
mod direct_path;
mod dropped;
mod dynamic;
mod fast_sync;
mod free;
mod node_target;
mod pending;
mod query;
pub(crate) mod queue;
pub(crate) mod requests;
pub(crate) mod scattered;
mod slow_sync;
mod spec;
mod sync_call;
mod synchronize;
mod typed;

pub use crate::control::{OperationKind, RunStep, Unfinished, UnfinishedReport, WordStep};
pub use crate::state::{Flavor, Hints};
pub use communicate::Window;
pub use create::WindowCreation;
pub use direct_path::DirectPath;
pub use dynamic::Detaching;
pub use fast_sync::{HeldInVain, Released};
pub use free::WindowFree;
pub use requests::OperationRequest;
pub use spec::WindowSpec;
pub use sync_call::Sync;
pub use typed::{Destination, Origin, TargetArea};
