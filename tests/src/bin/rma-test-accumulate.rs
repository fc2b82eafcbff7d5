//! A job in which all ranks accumulate on the same elements of rank 0, many at a time and one by one, with two threads each:
//! `rma-test-accumulate ROUNDS`. Every thread adds one to every element in every round, so the sums are known.

use rma::{Locked, ReduceOp, World};
use std::process::ExitCode;

/// 64 KiB: several of the pieces in which long runs are changed.
const ELEMENTS: usize = 8192;

/// Elements of a run that is too short to be bulk.
const SHORT: usize = 50;

fn main() -> ExitCode {
    let Some(rounds) = std::env::args().nth(1).and_then(|text| text.parse().ok()) else {
        eprintln!("usage: rma-test-accumulate ROUNDS");
        return ExitCode::from(2);
    };
    match run(rounds) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rma-test-accumulate: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(rounds: usize) -> rma::Result<()> {
    let world = World::init()?;
    let mut window = world.allocate::<f64>(if world.rank() == 0 { ELEMENTS } else { 0 })?;
    let ones = vec![1.0; ELEMENTS];
    world.barrier()?;
    for round in 0..rounds {
        window.shared(0, |rank0| {
            std::thread::scope(|scope| {
                let other = scope.spawn(|| add(rank0, &ones, world.rank() as usize + round + 2));
                add(rank0, &ones, world.rank() as usize + round)?;
                other.join().expect("the thread does not panic")
            })
        })?;
    }
    world.barrier()?;
    if world.rank() == 0 {
        let sum = f64::from(world.size()) * 2.0 * rounds as f64;
        let local = window.local().to_vec();
        let wrong = local.iter().position(|element| *element != sum);
        assert_eq!(wrong, None, "an element has {:?}, not {sum}", wrong.map(|index| local[index]));
        println!("{ELEMENTS} sums of {sum}");
    }
    window.free()?;
    world.finalize()
}

/// Adds one to every element, in one of four ways.
fn add<'scope>(rank0: &Locked<'scope, f64>, ones: &'scope [f64], way: usize) -> rma::Result<()> {
    match way % 4 {
        0 => rank0.accumulate(ones, ReduceOp::Sum, 0),
        1 => (0..ELEMENTS).try_for_each(|index| rank0.fetch_add(index, 1.0).map(drop)),
        2 => (0..ELEMENTS).step_by(SHORT).try_for_each(|index| {
            let len = SHORT.min(ELEMENTS - index);
            rank0.accumulate(&ones[..len], ReduceOp::Sum, index)
        }),
        _ => (0..ELEMENTS).rev().try_for_each(|index| rank0.accumulate(&ones[..1], ReduceOp::Sum, index)),
    }
}
