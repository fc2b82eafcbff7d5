//! A job in which all ranks want one lock, again and again: `rma-test-contend all|others held|whole MILLISECONDS`. It is the
//! lock of rank 0, which with `others` wants none and only serves. A lock is held while the result of its operation comes back,
//! or the whole epoch is one request and its answer. Each rank prints how many locks it had, the longest time that an epoch
//! took, and the CPU time that it used.

use rma::{ReduceOp, World};
use std::process::ExitCode;
use std::time::{Duration, Instant};

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let is_for_all = words.next().and_then(|word| Some(word == "all").filter(|all| *all || word == "others"));
    let held = words.next().and_then(|word| Some(word == "held").filter(|held| *held || word == "whole"));
    let length = words.next().and_then(|text| text.parse().ok());
    let (Some(is_for_all), Some(is_held), Some(length)) =
        (is_for_all, held, length.map(Duration::from_millis))
    else {
        eprintln!("usage: rma-test-contend all|others held|whole MILLISECONDS");
        return ExitCode::from(2);
    };
    match run(is_for_all, is_held, length) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rma-test-contend: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(is_for_all: bool, is_held: bool, length: Duration) -> rma::Result<()> {
    let world = World::init()?;
    let mut window = world.allocate::<u64>(1)?;
    world.barrier()?;
    let (begin, used) = (Instant::now(), cpu_time());
    let (mut locks, mut longest) = (0u64, Duration::ZERO);
    while (is_for_all || world.rank() > 0) && begin.elapsed() < length {
        let asked = Instant::now();
        window.exclusive(0, |rank0| {
            if is_held { rank0.fetch_add(0, 1).map(drop) } else { rank0.accumulate(&[1], ReduceOp::Sum, 0) }
        })?;
        longest = longest.max(asked.elapsed());
        locks += 1;
    }
    // All serve until the last one is done, and that is a part of the cost.
    world.barrier()?;
    let used = (cpu_time() - used).as_micros();
    let had = world.allgather(&[locks])?.iter().flatten().sum::<u64>();
    if world.rank() == 0 {
        assert_eq!(window.local().get(0), had, "as many additions as locks");
    }
    println!(
        "rank {} had {locks} locks, took at most {} ms and used {used} us of CPU",
        world.rank(),
        longest.as_millis()
    );
    window.free()?;
    world.finalize()
}

/// CPU time of all threads of this process.
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
