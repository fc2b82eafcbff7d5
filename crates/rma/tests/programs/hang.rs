//! Jobs that hang, each in its way, and one that is only slow: the tests of reports run it.
//!
//! `rma-test-hang KIND`

use rma::World;
use rma_core::epoch::{Assert, LockKind};
use rma_core::ids::{Disp, Rank};
use rma_core::mem::{ReadSpan, WriteSpan};
use rma_core::notify::{self, Notifications};
use rma_core::window::{Window, WindowSpec};
use std::time::{Duration, Instant};

const NONE: Assert = Assert::NONE;
/// Longer than any test: what hangs is ended by the launcher, or by the test.
const LONG: Duration = Duration::from_secs(300);

fn main() -> rma::Result<()> {
    let kind = std::env::args().nth(1).unwrap_or_default();
    let world = World::init()?;
    let window = world.engine().create_window(world.group(), WindowSpec::Allocate { len: 64, unit: 8 })?;
    window.set_name("forces");
    if !hang_in_locks(&world, &window, &kind)? {
        hang(&world, &window, &kind)?;
    }
    world.barrier()?;
    window.free()?;
    world.finalize()
}

/// Jobs in which ranks hold locks and want others; `false` when `kind` is none of them.
fn hang_in_locks(world: &World, window: &Window, kind: &str) -> rma::Result<bool> {
    let (me, size) = (world.rank(), world.size());
    if !matches!(kind, "locks" | "opens" | "threads") {
        return Ok(false);
    }
    window.lock(LockKind::Exclusive, Rank(me), NONE)?;
    window.flush(Rank(me))?;
    world.barrier()?;
    match kind {
        // Each rank holds its own lock, and wants that of the next.
        "locks" => {
            lock_and_store(window, Rank((me + 1) % size))?;
        }
        // The same, but one of them goes away and comes back in time.
        "opens" => {
            if me == 0 {
                std::thread::sleep(Duration::from_secs(3));
                window.unlock(Rank(0))?;
            } else {
                lock_and_store(window, Rank((me + 1) % size))?;
                window.unlock(Rank((me + 1) % size))?;
                window.unlock(Rank(me))?;
            }
            println!("rank {me} is through");
        }
        // A thread of each rank waits in the circle, and another one opens it after a while.
        _ => {
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    std::thread::sleep(Duration::from_secs(4));
                    window.unlock(Rank(me))
                });
                lock_and_store(window, Rank((me + 1) % size))
            })?;
            window.unlock(Rank((me + 1) % size))?;
            println!("rank {me} is through");
        }
    }
    Ok(true)
}

/// The other kinds.
fn hang(world: &World, window: &Window, kind: &str) -> rma::Result<()> {
    let (me, size) = (world.rank(), world.size());
    let last = size - 1;
    match kind {
        // The last rank does something else than to enter the fence.
        "fence-receive" if me == last => drop(world.receive::<u32>(Some(1), Some(0))?),
        "fence-compute" | "barrier-compute" if me == last => compute(),
        "fence-sleep" if me == last => std::thread::sleep(LONG),
        "fence-stop" if me == last => stop(),
        "fence-receive" | "fence-compute" | "fence-sleep" | "fence-stop" => window.fence(NONE)?,
        "barrier-compute" => world.barrier()?,
        "receives" => drop(world.receive::<u32>(Some((me + 1) % size), Some(0))?),
        "sends" => world.send((me + 1) % size, 0, &vec![0u64; 1 << 20])?,
        "post" if me == last => std::thread::sleep(LONG),
        "post" => {
            window.start(&[Rank(last)], NONE)?;
            window.complete()?;
        }
        "counters" => {
            notify::set_counters(window, 1)?;
            if me == last {
                std::thread::sleep(LONG);
            }
            Notifications::of(window).wait(0, 1)?;
        }
        // The owner of the lock has gone to sleep.
        "holder" => {
            if me == last {
                window.lock(LockKind::Exclusive, Rank(0), NONE)?;
                window.flush(Rank(0))?;
            }
            world.barrier()?;
            if me == last {
                std::thread::sleep(LONG);
            }
            lock_and_store(window, Rank(0))?;
        }
        "slow" => be_slow(world)?,
        other => panic!("unknown kind {other:?}"),
    }
    Ok(())
}

/// Waits that come and go, each of them longer than the limit of reports.
fn be_slow(world: &World) -> rma::Result<()> {
    let begin = Instant::now();
    for turn in 0.. {
        if turn % world.size() == world.rank() {
            std::thread::sleep(Duration::from_millis(1300));
        }
        world.barrier()?;
        // All leave together.
        let is_over = world.allreduce(rma::ReduceOp::Max, &[u32::from(begin.elapsed().as_secs() > 5)])?;
        if is_over[0] != 0 {
            break;
        }
    }
    println!("rank {} is through", world.rank());
    Ok(())
}

fn lock_and_store(window: &Window, rank: Rank) -> rma::Result<()> {
    let bytes = Box::leak(Box::new([7u8; 8]));
    // SAFETY: leaked, and used through spans only.
    let origin: ReadSpan = unsafe { WriteSpan::new(bytes.as_mut_ptr(), 8) }.as_read();
    window.lock(LockKind::Exclusive, rank, NONE)?;
    window.put(origin, rank, Disp(0))?;
    window.flush(rank)
}

fn compute() {
    let begin = Instant::now();
    while begin.elapsed() < LONG {
        std::hint::spin_loop();
    }
}

fn stop() {
    let me = rustix::process::getpid();
    rustix::process::kill_process(me, rustix::process::Signal::STOP).expect("a process may stop itself");
}
