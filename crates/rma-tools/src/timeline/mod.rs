//! `rma-trace`: what a timeline of `RMA_TRACE` says, without a network: a page for a browser, and tables.
//!
//! [`Timeline`](events::Timeline) is what was read, [`table`] sums it up, [`page`] shows it. Nothing here knows how a timeline
//! comes about, only its format: Chrome's trace events, one a line.

mod command;
mod events;
mod page;
mod table;

pub use command::{TimelineOptions, main};
