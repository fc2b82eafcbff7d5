//! What one-sided calls cost between two ranks on the path that the environment chooses, and raw limits beside them.
//!
//! Rank 0 measures, rank 1 serves. Every case is measured in several rounds, limits and calls in turn, and the median is
//! printed with its lowest and highest round: `name TAB ns TAB lowest TAB highest`. Run by `cargo xtask bench paths`.

use rma::{ReduceOp, Result, Window, World};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

const ROUNDS: usize = 7;
const ROUND: Duration = Duration::from_millis(60);
const LARGE: usize = 4 << 20;

fn main() -> Result<()> {
    let world = World::init()?;
    if world.size() != 2 {
        eprintln!("paths: needs two ranks, not {}", world.size());
        world.abort(2);
    }
    let mut window = world.allocate::<u64>(LARGE / 8)?;
    let mut wire = Wire::between(&world)?;
    let mut table = Table::default();
    for _ in 0..ROUNDS {
        let shape = Shape { world: &world, measures: world.rank() == 0 };
        limits(&shape, &mut table, &mut wire)?;
        calls(&shape, &mut table, &mut window)?;
    }
    table.print();
    window.free()?;
    world.finalize()
}

/// The parts of the ranks in a case.
struct Shape<'w> {
    world: &'w World,
    measures: bool,
}

impl Shape<'_> {
    /// One round of a case: rank 0 repeats `call`, rank 1 waits in a barrier and serves.
    fn alone(&self, table: &mut Table, name: &str, call: impl FnMut() -> Result<()>) -> Result<()> {
        self.world.barrier()?;
        if self.measures {
            repeat(table, name, call)?;
        }
        self.world.barrier()
    }
}

fn calls(shape: &Shape<'_>, table: &mut Table, window: &mut Window<'_, u64>) -> Result<()> {
    let one = [1];
    shape.alone(table, "lock + put 8 B + unlock", || window.exclusive(1, |rank| rank.put(&one, 0)))?;
    passive(shape, table, window)?;
    shape.world.barrier()?;
    let start = Instant::now();
    let epochs = 2000;
    for _ in 0..epochs {
        window.fence_epoch(|epoch| if shape.measures { epoch.put(&one, 1, 0) } else { Ok(()) })?;
    }
    if shape.measures {
        table.add("fence + put 8 B + fence", start.elapsed().as_nanos() as f64 / f64::from(epochs));
    }
    Ok(())
}

/// Calls within one epoch.
fn passive(shape: &Shape<'_>, table: &mut Table, window: &mut Window<'_, u64>) -> Result<()> {
    let (one, large) = ([1], vec![1; LARGE / 8]);
    shape.world.barrier()?;
    if shape.measures {
        window.shared(1, |rank| {
            repeat(table, "put 8 B + flush", || rank.batch(|batch| batch.put(&one, 0)))?;
            repeat(table, "get 8 B + flush", || rank.load(0).map(drop))?;
            repeat(table, "fetch_and_op 8 B + flush", || rank.fetch_add(0, 1).map(drop))?;
            repeat(table, "accumulate 8 B + flush", || {
                rank.batch(|batch| batch.accumulate(&one, ReduceOp::Sum, 0))
            })?;
            repeat(table, "put 4 MiB + flush", || rank.batch(|batch| batch.put(&large, 0)))
        })?;
    }
    shape.world.barrier()
}

/// Repeats a call for one round's time.
fn repeat(table: &mut Table, name: &str, mut call: impl FnMut() -> Result<()>) -> Result<()> {
    let start = Instant::now();
    let (mut calls, mut batch) = (0_u32, 1);
    while start.elapsed() < ROUND {
        for _ in 0..batch {
            call()?;
        }
        calls += batch;
        batch = (batch * 2).min(256);
    }
    table.add(name, start.elapsed().as_nanos() as f64 / f64::from(calls));
    Ok(())
}

fn limits(shape: &Shape<'_>, table: &mut Table, wire: &mut Wire) -> Result<()> {
    let counter = AtomicU64::new(0);
    shape.alone(table, "limit: CPU atomic", || {
        counter.fetch_add(1, SeqCst);
        Ok(())
    })?;
    let (from, mut to) = (vec![1_u8; LARGE], vec![0_u8; LARGE]);
    shape.alone(table, "limit: memcpy 4 MiB", || {
        to.copy_from_slice(std::hint::black_box(&from));
        std::hint::black_box(&mut to);
        Ok(())
    })?;
    shape.world.barrier()?;
    let start = Instant::now();
    let turns = 2000;
    for _ in 0..turns {
        wire.turn(shape.measures);
    }
    if shape.measures {
        table.add("limit: TCP ping-pong 8 B", start.elapsed().as_nanos() as f64 / f64::from(turns));
    }
    shape.world.barrier()
}

/// A bare TCP connection between the two ranks, polled busily.
struct Wire(TcpStream);

impl Wire {
    fn between(world: &World) -> Result<Self> {
        let refused = |error: std::io::Error| {
            rma::Error::new(rma::ErrorClass::Other, "bench", format!("a TCP connection on loopback: {error}"))
        };
        let mut port = [0_u16];
        let stream = if world.rank() == 0 {
            let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(refused)?;
            port[0] = listener.local_addr().map_err(refused)?.port();
            world.broadcast(0, &mut port)?;
            listener.accept().map_err(refused)?.0
        } else {
            world.broadcast(0, &mut port)?;
            TcpStream::connect(("127.0.0.1", port[0])).map_err(refused)?
        };
        stream.set_nodelay(true).and_then(|()| stream.set_nonblocking(true)).map_err(refused)?;
        Ok(Self(stream))
    }

    fn turn(&mut self, begins: bool) {
        if begins {
            self.send();
        }
        let mut bytes = [0; 8];
        let mut got = 0;
        while got < bytes.len() {
            match self.0.read(&mut bytes[got..]) {
                Ok(0) => panic!("the other rank has gone"),
                Ok(len) => got += len,
                Err(error) if error.kind() == ErrorKind::WouldBlock => std::hint::spin_loop(),
                Err(error) => panic!("{error}"),
            }
        }
        if !begins {
            self.send();
        }
    }

    fn send(&mut self) {
        self.0.write_all(&[7; 8]).expect("eight bytes fit an empty connection");
    }
}

/// The rounds of each case, in order of first appearance.
#[derive(Default)]
struct Table(Vec<(String, Vec<f64>)>);

impl Table {
    fn add(&mut self, name: &str, nanoseconds: f64) {
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, rounds)) => rounds.push(nanoseconds),
            None => self.0.push((name.to_owned(), vec![nanoseconds])),
        }
    }

    fn print(&mut self) {
        for (name, rounds) in &mut self.0 {
            rounds.sort_by(f64::total_cmp);
            let (lowest, highest) = (rounds[0], rounds[rounds.len() - 1]);
            println!("{name}\t{:.1}\t{lowest:.1}\t{highest:.1}", rounds[rounds.len() / 2]);
        }
    }
}
