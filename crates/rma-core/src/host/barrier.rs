//! The memory barrier that one thread makes all others pass: membarrier(2), across the processes that have registered for it.
//!
//! A host registers its process before it maps memory of another: then the barrier reaches all that share memory with the caller.

use super::Barriers;
use rustix::thread::{MembarrierCommand, membarrier};

/// Registers this process; what it can do afterwards. A system without the call, or a filter that forbids it, costs this
/// process an ordering with each small accumulate, and its bulk ones their speed.
pub fn register() -> Barriers {
    match membarrier(MembarrierCommand::RegisterGlobalExpedited) {
        Ok(()) => Barriers::Remote(order_all),
        Err(_) => Barriers::Own,
    }
}

fn order_all() -> bool {
    membarrier(MembarrierCommand::GlobalExpedited).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registered_process_can_order_all_others() {
        match register() {
            Barriers::Remote(order_all) => assert!(order_all()),
            Barriers::Own => assert!(membarrier(MembarrierCommand::GlobalExpedited).is_err()),
            Barriers::Even => unreachable!("others may pay for nothing"),
        }
    }
}
