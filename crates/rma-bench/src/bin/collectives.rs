//! What small collectives cost, by time and by what they are made of, on the path that the environment chooses.
//!
//! Each collective is made a few times first, so that contact with the other ranks is no part of what is measured. Rank 0
//! prints a line for each: name, nanoseconds of one, and packets, sleeps and yields of all ranks together for one.
//! Run by `cargo xtask bench collectives`.

use rma::raw::{Given, Take};
use rma::{ReduceOp, Result, World};
use std::time::{Duration, Instant};

const WARM_UP: u32 = 20;
/// Collectives of one sample: as many on every rank, known to all without another collective.
const SAMPLE: u32 = 200;
const SAMPLES: usize = 5;
/// A slow collective gets fewer samples: they end after the one in which this has passed.
const LONG_ENOUGH: Duration = Duration::from_secs(2);

type Collective = fn(&World) -> Result<()>;

const COLLECTIVES: [(&str, Collective); 5] = [
    ("barrier", |world| world.barrier()),
    ("bcast", |world| world.broadcast(0, &mut [1u64])),
    ("allreduce", |world| world.allreduce(ReduceOp::Sum, &[1u64]).map(drop)),
    ("allgather", |world| world.allgather(&[1u64]).map(drop)),
    ("alltoall", alltoall),
];

/// As `MPI_Alltoall`, whose blocks have one length.
fn alltoall(world: &World) -> Result<()> {
    let blocks = (0..world.size()).map(|_| Given::Bytes(vec![1u8; 8])).collect();
    let takes = (0..world.size()).map(|_| Take::Bytes).collect();
    world.run_alltoall("alltoall", blocks, takes, Some(8)).map(drop)
}

fn main() -> Result<()> {
    let world = World::init()?;
    for (name, collective) in COLLECTIVES {
        measure(&world, name, collective)?;
    }
    world.finalize()
}

fn measure(world: &World, name: &str, collective: Collective) -> Result<()> {
    (0..WARM_UP).try_for_each(|_| collective(world))?;
    let (begin, before) = (Instant::now(), counts(world));
    let mut times = Vec::new();
    loop {
        let start = Instant::now();
        (0..SAMPLE).try_for_each(|_| collective(world))?;
        times.push(start.elapsed().as_nanos() as u64 / u64::from(SAMPLE));
        let is_over = times.len() == SAMPLES || begin.elapsed() > LONG_ENOUGH;
        // All do as many as rank 0. This one is counted too, as one of the samples' many.
        let mut word = [u64::from(is_over)];
        world.broadcast(0, &mut word)?;
        if word == [1] {
            break;
        }
    }
    let after = counts(world);
    let own: Vec<u64> = after.iter().zip(before).map(|(after, before)| after - before).collect();
    let all = world.allreduce(ReduceOp::Sum, &own)?;
    if world.rank() == 0 {
        times.sort_unstable();
        let number = f64::from(SAMPLE) * times.len() as f64;
        let [packets, sleeps, turns] = [0, 1, 2].map(|i| all[i] as f64 / number);
        println!("{name}\t{}\t{packets:.2}\t{sleeps:.2}\t{turns:.2}", times[times.len() / 2]);
    }
    Ok(())
}

/// Packets of messages, sleeps, and yields.
fn counts(world: &World) -> [u64; 3] {
    let counters = world.runtime().engine().counters();
    [world.runtime().messenger().packets_sent(), counters.sleeps, counters.turns_given]
}
