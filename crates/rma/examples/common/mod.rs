//! What the demos share: how they start and end, divide their work, and show how far they are.

mod bar;
mod packets;
mod share;
mod start;

pub(crate) use bar::bar;
pub(crate) use packets::report_packets;
pub(crate) use share::share;
pub(crate) use start::{Refusal, all_or_nobody, main};
