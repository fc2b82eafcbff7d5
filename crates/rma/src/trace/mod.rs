//! The observer: the timeline of a job (`RMA_TRACE`) and the summary of its counters (`RMA_STATS`).
//!
//! ```text
//!   engine ── events ──> Recorder ── lines ──> FILE.0.part ┐  the end of rank 0 ──> FILE.0.done ┐
//!   engine ── events ──> Recorder ── lines ──> FILE.1.part ┘  the end of rank 1 ──> FILE.1.done ┴── gathered ──> FILE
//! ```
//!
//! Every rank writes a file of its own while it runs, so that nothing is lost when it is killed, and memory stays bounded. The
//! rank that ends last makes one file of all; no rank waits for another one because of it. After a job that has failed, `rmarun`
//! merges the files that exist. A full file system or a wrong path is reported once, and costs the job nothing but its trace.
//!
//! [`record`] is the content of a rank's file, a [line](mod@line) for each event; [`recorder`] writes it into a [`trace_file`], [`gather`] makes one timeline of several, in the form
//! of [`chrome`], with the clocks of different machines aligned by [`clocks`]. [`summary`] is the table of counters.

mod chrome;
mod clocks;
mod config;
mod gather;
mod json;
mod line;
mod record;
mod recorder;
mod summary;
mod trace_file;

pub use config::ObserverConfig;
#[cfg(feature = "launcher")]
pub(crate) use gather::gather_rest;
pub(crate) use recorder::Recorder;
pub(crate) use summary::TraceSummary;
