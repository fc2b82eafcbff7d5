//! A job that goes through epochs of every kind, again and again, and checks what each has brought: `rma-test-epochs ROUNDS`.
//! Rank 0 prints the mean time of a round of each kind.

use rma::World;
use rma_core::epoch::Assert;
use rma_core::ids::{Disp, Rank};
use rma_core::window::{Window, WindowSpec};
use rma_tests::world::{from, local};
use std::process::ExitCode;
use std::time::Instant;

/// One round of epochs of a kind; the number is its value, too.
type Round = fn(&World, &Window, u64) -> rma::Result<()>;

fn main() -> ExitCode {
    let Some(rounds) = std::env::args().nth(1).and_then(|text| text.parse().ok()) else {
        eprintln!("usage: rma-test-epochs ROUNDS");
        return ExitCode::from(2);
    };
    match run(rounds) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rma-test-epochs: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(rounds: u64) -> rma::Result<()> {
    let world = World::init()?;
    let kinds: [(&str, Round); 3] = [("fence", fence), ("post and start", active), ("lock_all", lock_all)];
    for (name, round) in kinds {
        let spec = WindowSpec::Allocate { len: 64, unit: 8 };
        let window = world.engine().create_window(world.group(), spec)?;
        let begin = Instant::now();
        for number in 1..=rounds {
            round(&world, &window, number)?;
        }
        let took = begin.elapsed();
        if world.rank() == 0 {
            println!("{name}: {:.2} us", took.as_secs_f64() * 1e6 / rounds as f64);
        }
        world.barrier()?;
        window.free()?;
    }
    world.finalize()
}

/// The rank before and the rank behind.
fn neighbours(world: &World) -> (Rank, Rank) {
    let (me, size) = (world.rank(), world.size());
    (Rank((me + size - 1) % size), Rank((me + 1) % size))
}

fn fence(world: &World, window: &Window, number: u64) -> rma::Result<()> {
    let value = [number];
    window.fence(Assert::NONE)?;
    window.put(from(&value), neighbours(world).1, Disp(0))?;
    window.fence(Assert::NONE)?;
    assert_eq!(local(window, 0), number);
    Ok(())
}

fn active(world: &World, window: &Window, number: u64) -> rma::Result<()> {
    let (before, behind) = neighbours(world);
    let value = [number];
    window.post_to(&[before], Assert::NONE)?;
    window.start(&[behind], Assert::NONE)?;
    window.put(from(&value), behind, Disp(0))?;
    window.complete()?;
    window.wait()?;
    assert_eq!(local(window, 0), number);
    Ok(())
}

/// Passes a number round: each rank waits until it has come, and sends it on.
fn lock_all(world: &World, window: &Window, number: u64) -> rma::Result<()> {
    let value = [number];
    window.lock_all(Assert::NONE)?;
    if world.rank() == 0 {
        window.put(from(&value), neighbours(world).1, Disp(0))?;
        window.flush_all()?;
    }
    while local(window, 0) != number {
        window.sync()?;
        std::thread::yield_now();
    }
    if world.rank() != 0 {
        window.put(from(&value), neighbours(world).1, Disp(0))?;
    }
    window.unlock_all()
}
