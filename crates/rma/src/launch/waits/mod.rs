//! What a job waits for: found from the facts that ranks report to the launcher ([`crate::pmi::facts`]).
//!
//! [`graph`] finds circles and missing ranks, [`words`] prints them. [`report`] asks, collects and decides
//! when to report, [`processes`] looks at ranks from outside.

pub(super) mod graph;
pub(super) mod processes;
pub(super) mod report;
pub(super) mod words;

#[cfg(test)]
mod tests;
