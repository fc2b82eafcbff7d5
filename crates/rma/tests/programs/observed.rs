//! A rank that does a known number of things, or waits for one that is late: the tests of traces and of waits run it.
//!
//! `rma-test-observed traffic [ROUNDS] | put | hang | late KIND | compute | active | fork | worker`
//!
//! With `late`, rank 1 is away from the library until the file that `RMA_TEST_GO` names is there, and rank 0 waits for it.

mod forked;

use rma::World;
use rma_core::epoch::{Assert, LockKind};
use rma_core::ids::{Disp, Rank};
use rma_core::mem::{ReadSpan, WriteSpan};
use rma_core::window::{Window, WindowSpec};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The rank that is late.
const LATE: Rank = Rank(1);
const FIRST: Rank = Rank(0);
const NONE: Assert = Assert::NONE;

fn main() -> rma::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let world = World::init()?;
    match arguments.first().map(String::as_str) {
        Some("traffic") => {
            traffic(&world, arguments.get(1).map_or(3, |rounds| rounds.parse().expect("a number")))?
        }
        Some("put") => put(&world)?,
        Some("hang") => {
            let window = window(&world, "hung")?;
            if world.rank() == 1 {
                println!("ready");
                std::thread::sleep(Duration::from_secs(60));
            }
            window.fence(NONE)?;
        }
        Some("late") => late(&world, arguments.get(1).map_or("", String::as_str))?,
        Some("compute") => compute(&world)?,
        Some("active") => active(&world)?,
        Some("fork") => return forked::fork(world),
        Some("worker") => worker(world),
        other => panic!("unknown action {other:?}"),
    }
    world.finalize()
}

fn window(world: &World, name: &str) -> rma::Result<Window> {
    let window = world.engine().create_window(world.group(), WindowSpec::Allocate { len: 64, unit: 8 })?;
    window.set_name(name);
    Ok(window)
}

/// Eight bytes that live as long as the program.
fn eight() -> WriteSpan {
    let bytes = Box::leak(Box::new([7u8; 8]));
    // SAFETY: leaked, and used through spans only.
    unsafe { WriteSpan::new(bytes.as_mut_ptr(), 8) }
}

fn origin() -> ReadSpan {
    eight().as_read()
}

/// One put, of rank 0 to rank 1 if there is one.
fn put(world: &World) -> rma::Result<()> {
    let window = window(world, "one put")?;
    if world.rank() == 0 && world.size() > 1 {
        window.lock(LockKind::Exclusive, LATE, NONE)?;
        window.put(origin(), LATE, Disp(0))?;
        window.unlock(LATE)?;
    }
    world.barrier()?;
    window.free()
}

/// The thread of `main` ends as by pthread_exit(3), and another one does the rest.
fn worker(world: World) -> ! {
    std::thread::spawn(move || {
        put(&world).expect("put");
        world.finalize().expect("finalize");
        println!("finalized");
    });
    // SAFETY: it ends this thread alone, of which the other one has nothing.
    unsafe { libc::syscall(libc::SYS_exit, 0) };
    unreachable!("this thread has ended")
}

/// Calls of every kind, each to the next rank; locks so many times.
fn traffic(world: &World, rounds: u32) -> rma::Result<()> {
    let window = window(world, "traffic")?;
    let next = Rank((world.rank() + 1) % world.size());
    let before = Rank((world.rank() + world.size() - 1) % world.size());
    window.fence(NONE)?;
    window.put(origin(), next, Disp(0))?;
    window.fence(Assert::NO_SUCCEED)?;
    for _ in 0..rounds {
        window.lock(LockKind::Exclusive, next, NONE)?;
        window.put(origin(), next, Disp(1))?;
        window.get(eight(), next, Disp(2))?;
        window.flush(next)?;
        window.unlock(next)?;
    }
    window.lock_all(NONE)?;
    window.put(origin(), next, Disp(3))?;
    window.flush_all()?;
    window.unlock_all()?;
    window.post_to(&[before], NONE)?;
    window.start(&[next], NONE)?;
    window.put(origin(), next, Disp(4))?;
    window.complete()?;
    window.wait()?;
    let sending = world.begin_send(next.0, 7, &[1u32; 5])?;
    world.receive::<u32>(Some(before.0), Some(7))?;
    sending.wait()?;
    world.barrier()?;
    window.free()?;
    let counters = world.engine().counters();
    println!("{} {} {}", world.rank(), counters.packets_sent, counters.packets_received);
    Ok(())
}

/// Rank 1 computes until it sees in its own memory what rank 0 puts there; that takes a thread that serves in its place. Then
/// rank 0 does, and both go on: the thread has to hand over each time. Prints the longest that a put took, in microseconds.
fn compute(world: &World) -> rma::Result<()> {
    const ROUNDS: u64 = 20;
    let mut window = world.allocate::<u64>(1)?;
    let me = world.rank();
    let mut longest = Duration::ZERO;
    for round in 1..=ROUNDS {
        world.barrier()?;
        if round % 2 == u64::from(me) {
            // Away from the library.
            while window.local().get(0) != round {
                std::hint::spin_loop();
            }
        } else {
            // Long enough for the other one to be away.
            std::thread::sleep(Duration::from_millis(5));
            let started = std::time::Instant::now();
            let value = [round];
            window.exclusive(1 - me, |other| other.put(&value, 0))?;
            longest = longest.max(started.elapsed());
        }
    }
    window.free()?;
    println!("{}", longest.as_micros());
    Ok(())
}

/// Two seconds of a program that is in the library all the time, or asleep, or away; prints what each took of the CPU time of
/// threads beside this one, in milliseconds.
fn active(world: &World) -> rma::Result<()> {
    for action in ["asleep", "away"] {
        let (before, own) = (cpu_time(), own_cpu_time());
        match (action, world.rank()) {
            ("asleep", 0) | ("away", _) => std::thread::sleep(Duration::from_secs(2)),
            _ => {}
        }
        world.barrier()?;
        println!("{action} {}", (cpu_time() - before).saturating_sub(own_cpu_time() - own).as_millis());
    }
    Ok(())
}

fn cpu_time() -> Duration {
    of_clock(rustix::time::ClockId::ProcessCPUTime)
}

fn own_cpu_time() -> Duration {
    of_clock(rustix::time::ClockId::ThreadCPUTime)
}

fn of_clock(clock: rustix::time::ClockId) -> Duration {
    let time = rustix::time::clock_gettime(clock);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The file whose making lets the late rank go on.
fn go() -> PathBuf {
    std::env::var_os("RMA_TEST_GO").expect("the test names a file").into()
}

/// Returns when the test lets it. The file tells the test that this rank is away from the library.
fn be_late() {
    std::fs::write(go().with_extension("away"), "").expect("a file beside that of the test");
    until_there(&go());
}

/// Returns when the late rank is away.
fn until_late() {
    until_there(&go().with_extension("away"));
}

fn until_there(file: &Path) {
    while !file.exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn late(world: &World, kind: &str) -> rma::Result<()> {
    let is_late = world.rank() == LATE.0;
    if kind == "create" {
        if is_late {
            be_late();
        }
        return window(world, "made")?.free();
    }
    let window = window(world, "halo")?;
    if kind == "nameless" {
        let nameless = world.engine().create_window(world.group(), WindowSpec::Dynamic)?;
        if is_late {
            be_late();
        }
        nameless.fence(NONE)?;
        nameless.fence(Assert::NO_SUCCEED)?;
        nameless.free()?;
        return window.free();
    }
    match (kind, is_late) {
        ("fence", _) => {
            if is_late {
                be_late();
            }
            window.fence(NONE)?;
            window.fence(Assert::NO_SUCCEED)?;
        }
        // Rank 1 keeps the lock of its own memory.
        ("lock", true) => {
            window.lock(LockKind::Exclusive, LATE, NONE)?;
            be_late();
            window.unlock(LATE)?;
        }
        ("lock", false) => {
            until_late();
            window.lock(LockKind::Exclusive, LATE, NONE)?;
            window.put(origin(), LATE, Disp(0))?;
            window.unlock(LATE)?;
        }
        ("start" | "wait", _) => late_in_active(&window, kind, is_late)?,
        ("flush" | "flush_all" | "unlock_all", true) => be_late(),
        ("flush" | "flush_all" | "unlock_all", false) => {
            until_late();
            window.lock_all(NONE)?;
            window.put(origin(), LATE, Disp(0))?;
            match kind {
                "flush" => window.flush(LATE)?,
                "flush_all" => window.flush_all()?,
                _ => {}
            }
            window.unlock_all()?;
        }
        ("receive", true) => {
            be_late();
            world.send(FIRST.0, 5, &[1u8])?;
        }
        ("receive", false) => {
            let message = world.receive::<u8>(Some(LATE.0), Some(5))?;
            assert_eq!(message.values, [1]);
        }
        ("barrier" | "free" | "finalize", _) => {
            if is_late && kind != "finalize" {
                be_late();
            }
            if kind == "barrier" {
                world.barrier()?;
            }
        }
        other => panic!("unknown wait {other:?}"),
    }
    window.free()?;
    if kind == "finalize" && is_late {
        be_late();
    }
    Ok(())
}

/// The waits of post/start/complete/wait.
fn late_in_active(window: &Window, kind: &str, is_late: bool) -> rma::Result<()> {
    match (kind, is_late) {
        ("start", true) => {
            be_late();
            window.post_to(&[FIRST], NONE)?;
            window.wait()?;
        }
        ("start", false) => {
            until_late();
            window.start(&[LATE], NONE)?;
            window.put(origin(), LATE, Disp(0))?;
            window.complete()?;
        }
        ("wait", true) => {
            be_late();
            window.start(&[FIRST], NONE)?;
            window.complete()?;
        }
        ("wait", false) => {
            until_late();
            window.post_to(&[LATE], NONE)?;
            window.wait()?;
        }
        other => panic!("unknown wait {other:?}"),
    }
    Ok(())
}
