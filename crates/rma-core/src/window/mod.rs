//! Windows: creation, the calls of the one-sided chapter on them, and their end.
//!
//! [`Window`] is what a host or a user holds. Its communication calls take the direct path when the target's memory is
//! mapped here, and the operation table otherwise; the two halves of a window's data are split the same way: `Shared` needs
//! no lock, `WindowState` lives under the engine's.

mod calls;
mod create;
mod free;
mod shared;
mod state;
mod synchronize;
mod table;

pub use calls::Window;
pub use create::{WindowCreation, WindowSpec};
pub use free::WindowFree;
pub use shared::Flavor;
pub(crate) use shared::{Member, OutOfRange, Shared};
pub(crate) use state::WindowState;
pub(crate) use table::Windows;
