//! The operation table and what turns around it: puts queued, issued as packets, acknowledged and retired, between engines in
//! one thread whose packets take no time.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rma_ch_sim::{Latency, SimConfig, SimNet};
use rma_core::Engine;
use rma_core::config::EngineConfig;
use rma_core::epoch::{Assert, LockKind};
use rma_core::host::Group;
use rma_core::ids::{Disp, Peer, Rank};
use rma_core::mem::ReadSpan;
use rma_core::progress::NoUpper;
use rma_core::window::Sync;
use rma_core::window::{Window, WindowSpec};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

#[path = "support/memory.rs"]
mod support;

/// Steps after which a call must be over.
const STEPS: u32 = 100_000;

/// Engines that reach each other by packets only. Rank 0 is the origin of all calls.
struct World {
    net: SimNet,
    engines: Vec<Engine>,
    windows: Vec<Window>,
    value: ReadSpan,
}

impl World {
    fn new(ranks: u32) -> Self {
        let config = SimConfig { ranks_per_node: 1, ..SimConfig::default() };
        let net = SimNet::virtual_time(ranks, config, Latency(Duration::ZERO..=Duration::ZERO), 1);
        let engines: Vec<Engine> = (0..ranks)
            .map(|me| {
                let channel = Box::new(net.channel(Peer(me)));
                Engine::new(EngineConfig::default(), channel, Arc::new(net.host(Peer(me))), Box::new(NoUpper))
                    .expect("the default configuration is legal")
            })
            .collect();
        let value = support::memory(8).as_read();
        let mut world = Self { net, engines, windows: Vec::new(), value };
        let spec = WindowSpec::Allocate { len: 64, unit: 8 };
        let mut creations: Vec<_> = (0..ranks)
            .map(|me| {
                let group = Group::strided(0, Rank(me), Peer(0), 1, ranks);
                world.engines[me as usize].begin_window(group, spec).expect("all ranks live")
            })
            .collect();
        let mut windows: Vec<Option<Window>> = creations.iter().map(|_| None).collect();
        for _ in 0..STEPS {
            if windows.iter().all(Option::is_some) {
                break;
            }
            for (creation, window) in creations.iter_mut().zip(&mut windows).filter(|(_, w)| w.is_none()) {
                *window = creation.poll().expect("all ranks live");
            }
            world.step(1..=ranks - 1);
        }
        world.windows = windows.into_iter().map(|window| window.expect("the window is made")).collect();
        for target in 1..ranks {
            let lock = world.windows[0].begin_lock(LockKind::Shared, Rank(target), Assert::NONE);
            // Waits for the locks before it, so every target has to answer.
            world.finish(lock.expect("no lock is held"), 1..=ranks - 1);
        }
        world
    }

    /// Lets the origin and some other ranks step.
    fn step(&self, others: RangeInclusive<u32>) {
        self.engines[0].poll();
        others.for_each(|rank| {
            self.engines[rank as usize].poll();
        });
        self.net.advance();
    }

    fn finish(&self, mut sync: Sync, others: RangeInclusive<u32>) {
        for _ in 0..STEPS {
            if self.windows[0].poll_sync(&mut sync).expect("all ranks live") {
                return;
            }
            self.step(others.clone());
        }
        panic!("a call is not over after {STEPS} steps");
    }

    fn put(&self, target: u32) {
        while !self.windows[0].try_put(self.value, Rank(target), Disp(0)).expect("an epoch is open") {
            self.step(target..=target);
        }
    }

    fn flush(&self, target: u32) {
        self.finish(self.windows[0].begin_flush(Rank(target)).expect("an epoch is open"), target..=target);
    }
}

fn table(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("table");
    for targets in [1, 16, 255] {
        let world = World::new(targets + 1);
        let mut next = 0;
        group.bench_function(BenchmarkId::new("put and flush, targets in turn", targets), |b| {
            b.iter(|| {
                next = next % targets + 1;
                world.put(next);
                world.flush(next);
            });
        });
    }
    let world = World::new(2);
    for count in [16, 256] {
        group.throughput(Throughput::Elements(count));
        group.bench_function(BenchmarkId::new("puts, one flush", count), |b| {
            b.iter(|| {
                (0..count).for_each(|_| world.put(1));
                world.flush(1);
            });
        });
    }
    group.finish();
}

criterion_group!(benches, table);
criterion_main!(benches);
