//! The functions that a program calls, by both names.

mod communicate;
mod complete;
mod create;
mod datatype;
mod declare;
mod errors;
mod fortran;
mod life;
mod memory;
mod query;
mod synchronize;
mod waiting;

use declare::{entry, first_at_once, on_window, translated, with_request};
