//! What `RMA_GUEST_VERBOSE=1` prints.

use crate::world;
use std::io::Write;
use std::sync::OnceLock;

/// Prints a line, if lines are asked for.
pub(crate) fn say(what: impl FnOnce() -> String) {
    static IS_ON: OnceLock<bool> = OnceLock::new();
    if *IS_ON.get_or_init(|| std::env::var_os("RMA_GUEST_VERBOSE").is_some_and(|value| value == "1")) {
        // In one piece, so that lines of several ranks do not mix.
        let line = format!("rma-guest: rank {}: {}\n", world::rank(), what());
        let _ = std::io::stderr().write_all(line.as_bytes());
    }
}
