//! A job in which all ranks but one wait: `rma-test-wait barrier|lock|fence SECONDS`. Rank 0 sleeps meanwhile, which stands
//! for a computation. Each waiting rank prints how long it waited and what CPU time that took.

use rma::World;
use std::process::ExitCode;
use std::time::{Duration, Instant};

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let what = words.next().unwrap_or_default();
    let seconds = words.next().and_then(|text| text.parse().ok());
    let Some(seconds) = seconds.map(Duration::from_secs) else {
        eprintln!("usage: rma-test-wait barrier|lock|fence SECONDS");
        return ExitCode::from(2);
    };
    match run(&what, seconds) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rma-test-wait: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(what: &str, computes: Duration) -> rma::Result<()> {
    let world = World::init()?;
    let mut window = world.allocate::<u64>(1)?;
    let me = world.rank();
    let compute = || std::thread::sleep(computes);
    match what {
        "barrier" => {
            world.barrier()?;
            measured(me, || {
                if me == 0 {
                    compute();
                }
                world.barrier()
            })?;
        }
        "fence" => {
            world.barrier()?;
            measured(me, || {
                if me == 0 {
                    compute();
                }
                window.fence_epoch(|_| Ok(()))
            })?;
        }
        "lock" if me == 0 => window.exclusive(0, |_| {
            world.barrier()?;
            compute();
            Ok(())
        })?,
        "lock" => {
            world.barrier()?;
            measured(me, || window.exclusive(0, |rank0| rank0.fetch_add(0, 1).map(drop)))?;
        }
        other => panic!("unknown wait {other:?}"),
    }
    world.barrier()?;
    if what == "lock" && me == 0 {
        assert_eq!(window.local().get(0), u64::from(world.size()) - 1, "every rank has had the lock once");
    }
    window.free()?;
    world.finalize()
}

/// Runs `wait` and prints, on every rank but the one that computes, what it cost.
fn measured(me: u32, wait: impl FnOnce() -> rma::Result<()>) -> rma::Result<()> {
    let (begin, used) = (Instant::now(), cpu_time());
    wait()?;
    if me != 0 {
        let (waited, used) = (begin.elapsed().as_millis(), (cpu_time() - used).as_micros());
        println!("rank {me} waited {waited} ms and used {used} us of CPU");
    }
    Ok(())
}

/// CPU time of all threads of this process.
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
