//! The tests by name, for the macro.

pub use super::c1_order::*;
pub use super::c2_commit::*;
pub use super::c3_room::*;
pub use super::c4_memory::*;
pub use super::c5_budget::*;
pub use super::c6_sleep::*;
pub use super::c7_failure::*;
pub use super::c8_usage::*;
pub use super::lanes::*;
pub use super::r_remote::*;
