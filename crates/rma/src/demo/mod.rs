//! What the demos compute, apart from how they communicate: the serial halves of `heat2d` and `wordcount`.
//!
//! Not part of the library's interface. A demo runs the same functions on each rank's share, so that its result can be
//! compared with a serial run bit by bit; nothing here knows ranks beyond a share's number, or windows at all.

pub mod bar;
pub mod heat;
pub mod picture;
mod share;
pub mod words;

pub use share::share;
