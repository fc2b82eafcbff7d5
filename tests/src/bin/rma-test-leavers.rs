//! `rma-test-leavers CALL`: rank 1 leaves its `main` with an error while the others wait for a call of it. They are to leave theirs too,
//! with an error that says so.

use std::ops::Deref;
use std::process::ExitCode;

/// What rank 1 has come upon.
const CAUSE: &str = "the input of rank 1 cannot be read";

/// More than leaves at once.
const LONG: usize = 1 << 20;

/// Not at a distance of a power of two from rank 1, of 8 ranks.
const FAR: u32 = 4;

/// What is called in vain.
struct Call {
    /// By all ranks but rank 1.
    of_others: fn(&Ranks, &mut rma::Window<'_, u64>) -> rma::Result<()>,
    name: &'static str,
}

/// The world, and, of 8 ranks, a communicator of rank 1 and the far one beside that of all others.
struct Ranks {
    part: Option<rma::Communicator>,
    world: rma::World,
}

impl Deref for Ranks {
    type Target = rma::World;

    fn deref(&self) -> &rma::World {
        &self.world
    }
}

const CALLS: [Call; 17] = [
    Call { name: "fence", of_others: |_, window| window.fence_epoch(|epoch| epoch.put_value(1, 0u32, 0)) },
    Call {
        name: "start",
        of_others: |_, window| window.access(&[1u32], |epoch| epoch.put_value(1, 1u32, 0)),
    },
    Call { name: "wait", of_others: |_, window| window.expose(&[1u32], |_| Ok(())) },
    Call { name: "notification", of_others: notified },
    Call { name: "notified", of_others: awaits_request },
    Call { name: "barrier", of_others: |world, _| world.barrier() },
    Call { name: "allgather", of_others: |world, _| world.allgather(&[world.rank()]).map(drop) },
    Call { name: "receive", of_others: |world, _| world.receive::<u8>(Some(1), None).map(drop) },
    Call { name: "send", of_others: |world, _| world.send(1, 0, &[0u8; LONG]) },
    Call { name: "probe", of_others: |world, _| probes(world) },
    Call { name: "allocate", of_others: |world, _| world.allocate::<u64>(1)?.free() },
    Call {
        name: "far_receive",
        of_others: |world, _| if_far(world, || world.receive::<u8>(Some(1), None).map(drop)),
    },
    Call { name: "far_send", of_others: |world, _| if_far(world, || world.send(1, 0, &[0u8; LONG])) },
    Call { name: "far_probe", of_others: |world, _| if_far(world, || probes(world)) },
    Call { name: "far_broadcast", of_others: broadcast },
    Call {
        name: "far_start",
        of_others: |world, window| {
            if_far(world, || window.access(&[1u32], |epoch| epoch.put_value(1, 1u32, 0)))
        },
    },
    Call {
        name: "far_wait",
        of_others: |world, window| if_far(world, || window.expose(&[1u32], |_| Ok(()))),
    },
];

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let word = std::env::args().nth(1).unwrap_or_default();
    let Some(call) = CALLS.iter().find(|call| call.name == word) else {
        println!("{}", CALLS.map(|call| call.name).join(" "));
        return Ok(ExitCode::SUCCESS);
    };
    let world = rma::World::init()?;
    let is_of_two = matches!(world.rank(), 1 | FAR);
    let part = if world.size() == 8 { world.split(Some(is_of_two.into()), 0)? } else { None };
    let world = Ranks { part, world };
    let mut window = world.allocate::<u64>(4)?;
    window.set_notifications(1)?;
    if world.rank() == 1 {
        return Err(CAUSE.into());
    }
    (call.of_others)(&world, &mut window)?;
    Ok(ExitCode::SUCCESS)
}

/// Looks for a message of rank 1 that never comes.
fn probes(world: &rma::World) -> rma::Result<()> {
    while world.probe(Some(1), None)?.is_none() {}
    Ok(())
}

/// Of rank 1, the first of two.
fn broadcast(ranks: &Ranks, _: &mut rma::Window<'_, u64>) -> rma::Result<()> {
    let part = ranks.part.as_ref().expect("there are 8 ranks");
    if_far(ranks, || part.broadcast(0, &mut [0u8]))
}

/// Of a rank that rank 1 has nothing to do with; the others leave too.
fn if_far(world: &rma::World, call: impl FnOnce() -> rma::Result<()>) -> rma::Result<()> {
    if world.rank() == FAR { call() } else { Ok(()) }
}

/// Any rank might raise the counter but those that have left.
fn notified(world: &Ranks, window: &mut rma::Window<'_, u64>) -> rma::Result<()> {
    if world.rank() == 0 {
        window.lock_all(|all| all.notifications().wait(0, 1).map(drop))?;
    }
    Ok(())
}

/// Its request.
fn awaits_request(world: &Ranks, window: &mut rma::Window<'_, u64>) -> rma::Result<()> {
    if world.rank() == 0 {
        window.lock_all(|all| all.notified(0, 1)?.wait().map(drop))?;
    }
    Ok(())
}
