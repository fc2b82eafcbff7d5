//! What the demos `heat2d` and `wordcount` are made of.
//!
//! Not part of the library's interface. The serial halves ([`heat`], [`words`], [`picture`]) know no ranks beyond a share's
//! number; the parallel halves ([`halo`], [`table`]) are how ranks exchange what those compute. A demo runs the same serial
//! functions on each rank's share, so that its result can be compared with a serial run bit by bit.

pub mod bar;
pub mod halo;
pub mod heat;
mod packets;
pub mod picture;
mod share;
mod start;
pub mod table;
pub mod words;

pub use packets::report_packets;
pub use share::share;
pub use start::{Outcome, Refusal, all_or_nobody, main};
