//! What the demos tell tests about the way their packets took.

use rma::{ReduceOp, Result, World};

/// Prints on rank 0 how many one-sided packets each channel carried in all. Collective.
///
/// # Errors
/// When a rank is lost.
pub(crate) fn report_packets(world: &World) -> Result<()> {
    for name in ["shm", "tcp"] {
        let mine: u64 =
            world.engine().packets_by_channel().iter().filter(|(n, _)| *n == name).map(|(_, n)| *n).sum();
        let all = world.allreduce(ReduceOp::Sum, &[mine])?[0];
        if world.rank() == 0 {
            println!("one-sided packets over {name}: {all}");
        }
    }
    Ok(())
}
