//! Random one-sided programs on real processes, in which a rank dies or is stopped, and what survivors must have seen.
//!
//! [`case`] draws a job and a program from a seed, and which rank dies where. Each rank plays its part
//! ([`player`]) and writes down what it begins, what has ended and how, in a file that outlives it
//! ([`diary`]). The process that started the job watches the diaries ([`watch`]), sends the signals, names
//! the dead to the survivors by a file, and judges when all is over ([`judge`]): calls that must not have
//! failed, memory that holds nothing but what was written, the launcher's words.
//!
//! The same programs run in virtual time as well ([`simulate`]), and those that are written by hand, one for each call and each
//! part that the dead can have in it ([`cells`]).
//!
//! Nothing of the library under test decides which ranks are dead, when all have ended, or what was written.

pub mod case;
pub mod cells;
pub mod diary;
pub mod judge;
pub mod matrix;
pub mod player;
pub mod program;
mod sheet;
pub mod simulate;
pub mod watch;
