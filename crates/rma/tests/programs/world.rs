//! A rank of a world, which does what a test wishes: the tests of worlds run it over every channel.
//!
//! `rma-test-world ACTION [RANK [NUMBER]]`

#[path = "gathered.rs"]
mod gathered;

use rma::channels::{self, ChannelKind, Distance, LookUp, Opening};
use rma::{ReduceOp, World};
use rma_ch_tcp::{TcpChannel, TcpConfig, TcpSettings};
use rma_core::channel::Channel;
use std::time::Duration;

/// A channel that this program brings: sockets again, under another name.
struct Counted;

impl ChannelKind for Counted {
    fn name(&self) -> &'static str {
        "x_own"
    }

    fn text(&self) -> &'static str {
        "the test's"
    }

    fn cost_ns(&self, _: Distance, _: LookUp<'_>) -> Option<u32> {
        Some(u32::MAX)
    }

    fn probe(&self, look_up: LookUp<'_>) -> Result<String, String> {
        match look_up.text("RMA_TEST_ABSENT") {
            Some(ranks) if ranks == std::env::var("PMI_RANK").unwrap_or_default() || ranks == "all" => {
                Err("as the test wishes".to_owned())
            }
            _ => Ok("here".to_owned()),
        }
    }

    fn open(&self, opening: &Opening<'_>) -> rma::Result<Box<dyn Channel>> {
        let settings = TcpSettings {
            me: opening.me,
            size: opening.size,
            job: opening.job.to_owned(),
            secret: opening.secret,
            listen: opening.listen,
            config: TcpConfig::default(),
            directory: opening.directory(),
        };
        let channel = TcpChannel::bind(settings).map_err(|cause| Opening::refused("a socket", &cause))?;
        opening.publish(&channel.address())?;
        println!("opened its own");
        Ok(Box::new(channel))
    }
}

/// Sums until rank 0 finds this file.
fn rounds_until(world: &World, file: &str) -> rma::Result<()> {
    rma::log_to_stderr(&|name| std::env::var(name).ok())?;
    let mut is_over = [0u8];
    while is_over == [0] {
        assert_eq!(world.allreduce(ReduceOp::Sum, &[1u64])?, [u64::from(world.size())]);
        is_over = [u8::from(std::path::Path::new(file).exists())];
        world.broadcast(0, &mut is_over)?;
    }
    Ok(())
}

/// Sums until a rank is lost; says when there was contact, and the end.
fn rounds_until_lost(world: &World) {
    let mut has_said = false;
    let error = loop {
        match world.allreduce(ReduceOp::Sum, &[1u64]) {
            Ok(_) if std::mem::replace(&mut has_said, true) => {}
            Ok(_) => println!("rounds"),
            Err(error) => break error,
        }
    };
    println!("{:?}", error.class());
}

fn main() -> rma::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let text = |i: usize| arguments.get(i).map_or("", String::as_str);
    let number = |i: usize| text(i).parse::<u64>().unwrap_or(0);
    channels::register(Box::new(Counted))?;
    let world = gathered::world()?;
    let is_chosen = u64::from(world.rank()) == number(1);
    match text(0) {
        "collectives" => collectives(&world)?,
        "messages" => messages(&world, number(1) as usize)?,
        "window" => window(&world)?,
        "threads" => threads(&world)?,
        "rank" => println!("{} of {}", world.rank(), world.size()),
        "wait" => wait(&world, number(1), number(2))?,
        "twice" => println!("{}", World::init().unwrap_err()),
        "settings" => {
            for setting in world.settings() {
                println!("{}={}", setting.variable.name, setting.value);
            }
        }
        "sleep" => {
            println!("ready");
            std::thread::sleep(Duration::from_secs(number(1)));
        }
        "panic" => {
            assert!(!is_chosen, "as the test wishes");
            world.barrier()?;
        }
        "error" => {
            if is_chosen {
                world.broadcast(world.size(), &mut [0u8])?;
            }
            world.barrier()?;
        }
        // A rank that gives up without a failed call, while the others count on it.
        "leave" => {
            if is_chosen {
                eprintln!("no such file");
                drop(world);
                std::process::exit(3);
            }
            let mut window = world.allocate::<u64>(1)?;
            window.fence_epoch(|_| Ok(()))?;
            return window.free();
        }
        // More memory than there is, on one rank.
        "huge" => {
            let len = if is_chosen { 1 << 55 } else { 1 };
            world.allocate::<u64>(len)?.free()?;
        }
        "abort" => {
            if is_chosen {
                world.abort(number(2) as i32);
            }
            world.barrier()?;
        }
        // A rank that dies while the others wait for it.
        "kill" => {
            if is_chosen {
                let own = rustix::process::getpid();
                rustix::process::kill_process(own, rustix::process::Signal::KILL).unwrap();
            }
            world.barrier()?;
        }
        // Rounds for ever, until a rank is killed.
        "rounds_until" => rounds_until(&world, text(1))?,
        // Rounds until a rank is lost.
        "rounds_until_lost" => rounds_until_lost(&world),
        "rounds" => loop {
            let sum = world.allreduce(ReduceOp::Sum, &[1u64])?;
            assert_eq!(sum, [u64::from(world.size())]);
        },
        other => panic!("unknown action {other:?}"),
    }
    world.finalize()
}

fn collectives(world: &World) -> rma::Result<()> {
    let (rank, size) = (world.rank(), world.size());
    for round in 0..20u64 {
        let sum = world.allreduce(ReduceOp::Sum, &[u64::from(rank), round])?;
        assert_eq!(sum, [u64::from(size * (size - 1) / 2), round * u64::from(size)]);
        let max = world.allreduce(ReduceOp::Max, &[f64::from(rank) + 0.5])?;
        assert_eq!(max, [f64::from(size) - 0.5]);
        let root = round as u32 % size;
        let mut values = vec![if rank == root { root } else { u32::MAX }; 1 + 500 * round as usize];
        world.broadcast(root, &mut values)?;
        assert!(values.iter().all(|value| *value == root));
        let mine = vec![rank; rank as usize * 10 + round as usize];
        let all = world.allgather(&mine)?;
        assert!((0..size).all(|r| all[r as usize] == vec![r; r as usize * 10 + round as usize]));
        assert_eq!(world.gather(root, &mine)?, (rank == root).then_some(all));
        // With the smallest buffers the bytes take the time, not the calls: as many for a rank however many ranks there are,
        // and long lists in the last round only.
        let unit = if round == 19 { 200 } else { 10 };
        let len = |to: u32| (to * unit * round as u32 / size) as usize;
        let lists: Vec<_> = (0..size).map(|to| vec![rank * size + to; len(to)]).collect();
        let received = world.alltoall(&lists)?;
        let expected = |from: u32| vec![from * size + rank; len(rank)];
        assert!((0..size).all(|from| received[from as usize] == expected(from)));
        let scattered = world.scatter(root, (rank == root).then_some(&lists[..]))?;
        assert_eq!(scattered, expected(root));
        assert_eq!(world.reduce_scatter(ReduceOp::Max, &lists)?, expected(size - 1));
        assert_eq!(
            world.scan(ReduceOp::Sum, &[1u64, round])?,
            [u64::from(rank) + 1, (u64::from(rank) + 1) * round]
        );
        let count = world.reduce(root, ReduceOp::Sum, &[1u32])?;
        assert_eq!(count, (rank == root).then(|| vec![size]));
        world.barrier()?;
    }
    // A megabyte goes straight from buffer to buffer.
    let mut large: Vec<u64> = (0..131_072).map(|i| if rank == 0 { i * i } else { 0 }).collect();
    world.broadcast(0, &mut large)?;
    assert!(large.iter().enumerate().all(|(i, value)| *value == (i * i) as u64));

    let half = world.split(Some(rank % 2), -i64::from(rank))?.expect("every rank has a color");
    assert_eq!(half.size(), (size + 1 - rank % 2) / 2);
    let members = half.allgather(&[rank])?;
    assert!(members.windows(2).all(|pair| pair[0] > pair[1]), "{members:?}");
    let copy = half.duplicate()?;
    assert_eq!((copy.rank(), copy.size()), (half.rank(), half.size()));
    let (a, b) = (copy.allreduce(ReduceOp::Sum, &[rank])?, half.allreduce(ReduceOp::Min, &[rank])?);
    assert_eq!(b, [rank % 2]);
    assert!(a[0] >= b[0]);
    assert!(world.split((rank == 0).then_some(7), 0)?.is_some() == (rank == 0));
    println!("{rank} of {size} is done");
    Ok(())
}

/// Messages of all lengths between all pairs, up to so many elements (0: all), while a barrier is under way; the last waits for
/// a receive.
fn messages(world: &World, longest: usize) -> rma::Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let longest = if longest == 0 { usize::MAX } else { longest };
    for len in [0, 1, 100, 2_000, 70_000, 300_000].into_iter().filter(|len| *len <= longest) {
        let barrier = world.begin_barrier();
        let values = vec![rank * 1000 + len as u32; len];
        let sendings = (0..size).map(|to| world.begin_send(to, len as u32, &values));
        let sendings = sendings.collect::<rma::Result<Vec<_>>>()?;
        for from in (0..size).rev() {
            let message = world.receive::<u32>(Some(from), Some(len as u32))?;
            assert_eq!((message.source, message.values), (from, vec![from * 1000 + len as u32; len]));
        }
        for sending in sendings {
            sending.wait()?;
        }
        barrier.wait()?;
    }
    let mut odd = world.members();
    if size > 1 {
        odd = odd.range_incl(&[[1, size as i32 - 1, 2]])?;
    }
    if odd.rank(world.runtime().me()).is_some() {
        let odd = world.create_group(&odd, 1)?;
        let next = (odd.rank() + 1) % odd.size();
        let sending = odd.begin_send(next, 0, &[rank])?;
        let message = odd.receive::<u32>(None, None)?;
        assert_eq!(message.values, [world.rank_of(odd.peer(message.source)?).expect("a rank of the world")]);
        sending.wait()?;
    }
    println!("{rank} of {size} is done");
    Ok(())
}

/// A window over whatever path there is; says by how many ranks it is mapped.
fn window(world: &World) -> rma::Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let mut window = world.allocate::<u64>(size as usize)?;
    let mine = [u64::from(rank) + 1];
    for round in 0..3 {
        window.fence_epoch(|epoch| {
            for target in 0..size {
                epoch.put(&mine, target, rank as usize)?;
            }
            Ok(())
        })?;
        for source in 0..size as usize {
            assert_eq!(window.local().get(source), source as u64 + 1, "round {round}");
        }
        world.barrier()?;
        for _ in 0..10 {
            window.exclusive(0, |rank0| rank0.fetch_add(0, 1))?;
        }
        world.barrier()?;
        if rank == 0 {
            assert_eq!(window.local().get(0), 1 + 10 * u64::from(size));
        }
        world.barrier()?;
    }
    let direct = (0..size).filter(|target| window.is_direct(*target)).count();
    let packets = world.engine().channel_usage().peers;
    window.free()?;
    println!("{rank}: {direct} direct, {} by packets", if packets > 0 { "some" } else { "none" });
    Ok(())
}

/// Two windows, each with a thread of its own that synchronizes it at its own pace.
fn threads(world: &World) -> rma::Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let windows = [world.allocate::<u64>(1)?, world.allocate::<u64>(1)?];
    let windows = std::thread::scope(|threads| {
        let ends = windows.map(|mut window| {
            threads.spawn(move || {
                for round in 1..=100 {
                    let mine = [round];
                    window.fence_epoch(|epoch| epoch.put(&mine, (rank + 1) % size, 0))?;
                    assert_eq!(window.local().get(0), round);
                    window.fence_epoch(|_| Ok(()))?;
                }
                Ok(window)
            })
        });
        ends.into_iter().map(|end| end.join().expect("no thread panics")).collect::<rma::Result<Vec<_>>>()
    })?;
    windows.into_iter().try_for_each(rma::Window::free)?;
    println!("{rank} of {size} is done");
    Ok(())
}

/// All ranks wait for one that sleeps; says what CPU time that took.
fn wait(world: &World, sleeper: u64, millis: u64) -> rma::Result<()> {
    world.barrier()?;
    let used = cpu_time();
    if u64::from(world.rank()) == sleeper {
        std::thread::sleep(Duration::from_millis(millis));
    }
    world.barrier()?;
    let used = cpu_time() - used;
    println!("{} ms of CPU", used.as_millis());
    Ok(())
}

fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
