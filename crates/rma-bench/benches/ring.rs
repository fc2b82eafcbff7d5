//! The ring of the shared-memory channel: packets into it and out of it by one thread, next to a copy of the same bytes, and a
//! poll that finds nothing. What two processes cost each other is `ping_pong`, an example of the channel's package.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rma_ch_shm::{ShmChannel, ShmConfig, ShmSettings};
use rma_core::channel::{Budget, BulkToken, Channel, Delivery, Failure, Lane, Placement, Room, Sink, Source};
use rma_core::ids::Peer;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Longest that two channels of one process may take to meet.
const LIMIT: Duration = Duration::from_secs(10);
const BUDGET: Budget = Budget { packets: 64, bytes: 1 << 20 };

/// Counts packets; nothing else arrives here.
#[derive(Default)]
struct Counter {
    packets: u64,
    bytes: u64,
}

impl Sink for Counter {
    fn packet(&mut self, _: Peer, _: Lane, packet: &[u8]) -> Delivery {
        self.packets += 1;
        self.bytes += packet.len() as u64;
        Delivery::Accepted
    }

    fn bulk(&mut self, _: Peer, _: Lane, _: &[u8], _: u64) -> Placement {
        panic!("no bodies are sent");
    }

    fn bulk_received(&mut self, _: Peer, _: Lane) {}

    fn bulk_sent(&mut self, _: BulkToken) {}

    fn writable(&mut self, _: Peer, _: Lane) {}

    fn failed(&mut self, peer: Peer, failure: Failure) {
        panic!("{peer:?}: {failure}");
    }
}

fn channel(me: u32) -> ShmChannel {
    let config = ShmConfig::default();
    let job = format!("bench-ring-{}", std::process::id());
    ShmChannel::new(ShmSettings { me: Peer(me), size: 2, job, secret: [1; 32], config })
        .expect("two channels fit one process")
}

/// Sends one packet and takes it out at the other side.
fn pass(from: &mut ShmChannel, to: &mut ShmChannel, counter: &mut Counter, bytes: &[u8]) {
    let before = counter.packets;
    let start = Instant::now();
    while from.reserve(Peer(1), Lane::Request, bytes.len()).expect("the other side lives") == Room::Full {
        // Only until the two have met.
        let _ = from.poll(&mut Counter::default(), BUDGET);
        let _ = to.poll(counter, BUDGET);
        assert!(start.elapsed() < LIMIT, "the channels do not meet");
    }
    from.fill(Source::Bytes(bytes));
    from.commit();
    while counter.packets == before {
        let _ = to.poll(counter, BUDGET);
    }
}

fn ring(criterion: &mut Criterion) {
    let (mut from, mut to, mut counter) = (channel(0), channel(1), Counter::default());
    pass(&mut from, &mut to, &mut counter, &[0; 8]);
    let mut group = criterion.benchmark_group("ring");
    for len in [8, 56, 512, 4096] {
        let bytes = vec![7; len];
        group.throughput(Throughput::Bytes(len as u64));
        group.bench_with_input(BenchmarkId::new("packet", len), &bytes, |b, bytes| {
            b.iter(|| pass(&mut from, &mut to, &mut counter, bytes));
        });
        let mut copy = vec![0; len];
        group.bench_with_input(BenchmarkId::new("memcpy", len), &bytes, |b, bytes| {
            b.iter(|| black_box(&mut copy).copy_from_slice(black_box(bytes)));
        });
    }
    group.finish();
    criterion.bench_function("ring/poll of nothing", |b| b.iter(|| to.poll(&mut counter, BUDGET)));
    assert!(counter.bytes >= 8 * counter.packets);
}

criterion_group!(benches, ring);
criterion_main!(benches);
