//! The functions that a program calls, by both names.

mod communicate;
mod complete;
mod create;
mod declare;
mod errors;
mod life;
mod memory;
mod query;
mod synchronize;

use declare::{entry, on_window, with_request};
