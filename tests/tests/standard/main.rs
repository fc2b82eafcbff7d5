//! What the chapter's text says, clause by clause, on simulated ranks and every path.

mod active;
mod datatypes;
mod error_classes;
mod errors;
mod examples;
mod fence;
mod lock_all;
mod locks;
mod null;
mod requests;
mod rules;
mod threads;
mod windows;
