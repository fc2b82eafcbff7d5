//! What a job waits for: the facts that ranks tell the launcher, and what follows from those of all of them.
//!
//! [`facts`] are the lines, [`graph`] finds circles and who is missing, [`words`] says it. [`report`] asks, collects and decides
//! when a job is told of, [`processes`] looks at ranks from outside.

pub(crate) mod facts;
pub(super) mod graph;
pub(super) mod processes;
pub(crate) mod ranks;
pub(super) mod report;
pub(super) mod words;

#[cfg(test)]
mod tests;
