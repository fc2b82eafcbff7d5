//! Ranks in collectives of many kinds until one of them has died: `rma-test-deaths`, in a job that goes on. Each survivor prints
//! `survivor RANK of SIZE: true ERROR` once a collective has failed, and the next one too; then it ends without a word.

use rma::{ReduceOp, World};
use std::io::Write;

fn main() -> rma::Result<()> {
    let world = World::init()?;
    let (me, size) = (world.rank(), world.size());
    println!("rank {me} has begun");
    let mut error = None;
    for round in 0u32.. {
        if let Err(cause) = one(&world, round) {
            error = Some(cause);
            break;
        }
    }
    // One that the dead had joined may succeed, and no later one.
    let again = (0..100).any(|_| world.barrier().is_err());
    println!(
        "survivor {me} of {size}: {again} {}",
        error.map_or_else(String::new, |error| error.to_string())
    );
    let _ = std::io::stdout().flush();
    std::process::exit(0)
}

/// The collective of a round: the same on all ranks.
fn one(world: &World, round: u32) -> rma::Result<()> {
    let long = vec![round; 20_000];
    match round % 7 {
        0 => world.barrier(),
        1 => world.allreduce(ReduceOp::Sum, &[round]).map(drop),
        2 => world.allreduce(ReduceOp::Sum, &long).map(drop),
        3 => world.broadcast(round % world.size(), &mut long.clone()),
        4 => {
            let mut window = world.allocate::<u64>(8)?;
            window.fence_epoch(|_| Ok(()))?;
            window.fence_epoch(|_| Ok(()))
        }
        5 => world.begin_barrier().wait(),
        _ => world.gather(round % world.size(), &long).map(drop),
    }
}
