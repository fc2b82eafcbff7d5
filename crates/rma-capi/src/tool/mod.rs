//! The tool information interface, `MPI_T_*` (MPI 5.0 §15.3): variables, counters and their categories.
//!
//! Control variables are the rows of the configuration tables, the list that `rma-info` prints. Performance variables are
//! the engine's counters, for the whole process and for each window, and what pools and channels hold. Both lists are the
//! same from the first call to the last, so the categories never change.
//!
//! The interface works before MPI is initialized and after it is finalized, and knows no error handlers: a call answers a
//! code and does nothing else. All of it is behind one lock; none of these calls is made in a hurry. Handles are numbers
//! that are never used twice, so a stale or foreign one is never found.

pub(crate) mod answer;
pub(crate) mod category;
pub(crate) mod control;
pub(crate) mod enumeration;
pub(crate) mod event;
pub(crate) mod performance;
pub(crate) mod session;
pub(crate) mod state;

pub(crate) use control::take_settings;
