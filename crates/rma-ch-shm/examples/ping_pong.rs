//! Measures the channel between two processes: round trips, packets per second, bytes per second.
//!
//! `cargo run --release -p rma-ch-shm --example ping_pong` starts its own partner. Variables of the channel apply.

use rma_ch_shm::{ShmChannel, ShmConfig, ShmSettings};
use rma_core::channel::{
    Budget, BulkToken, Channel, Closing, Delivery, Failure, Lane, Placement, Room, Sink, Source,
};
use rma_core::datatype::{Gather, Scatter};
use rma_core::ids::Peer;
use rma_core::mem::{ReadSpan, WriteSpan};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::error::Error;
use std::time::{Duration, Instant};

const ROUNDS: u64 = 100_000;
const PACKETS: u64 = 1_000_000;
const BODY: usize = 4 << 20;
const BODIES: u64 = 200;
const JOB: &str = "RMA_PING_PONG_JOB";

fn main() -> Result<(), Box<dyn Error>> {
    let partner = std::env::var(JOB);
    let job = partner.clone().unwrap_or_else(|_| format!("ping-pong-{}", std::process::id()));
    let me = Peer(u32::from(partner.is_ok()));
    // A core each, where there are two.
    let mut core = CpuSet::new();
    core.set(me.0 as usize);
    let _ = sched_setaffinity(None, &core);
    let config = ShmConfig::read(&|name| std::env::var(name).ok())?;
    let channel = ShmChannel::new(ShmSettings { me, size: 2, job: job.clone(), secret: [1; 32], config })?;
    let mut side =
        Side { channel, seen: Seen { place: vec![0; BODY], ..Seen::default() }, other: Peer(1 - me.0) };
    if partner.is_ok() {
        side.run(false);
        return Ok(());
    }
    let mut child = std::process::Command::new(std::env::current_exe()?).env(JOB, job).spawn()?;
    std::thread::sleep(Duration::from_millis(200)); // the partner opens its channel; nothing is measured yet
    side.run(true);
    child.wait()?;
    Ok(())
}

struct Side {
    channel: ShmChannel,
    seen: Seen,
    other: Peer,
}

#[derive(Default)]
struct Seen {
    packets: u64,
    bodies: u64,
    sent: u64,
    place: Vec<u8>,
}

impl Side {
    fn run(&mut self, is_first: bool) {
        for len in [8, 56, 64, 512, 4096] {
            let bytes = vec![7; len];
            let rounds = if len > 512 { ROUNDS / 4 } else { ROUNDS };
            let mut best = Duration::MAX;
            for _ in 0..4 {
                let begin = Instant::now();
                for _ in 0..rounds / 4 {
                    if is_first {
                        self.send(&bytes);
                        self.await_packets(1);
                    } else {
                        self.await_packets(1);
                        self.send(&bytes);
                    }
                }
                best = best.min(begin.elapsed());
            }
            if is_first {
                println!("{len:>5} B round trip: {:.0} ns", best.as_nanos() as f64 / (rounds / 4) as f64);
            }
        }
        for len in [8, 64, 512] {
            let bytes = vec![7; len];
            let begin = Instant::now();
            if is_first {
                for _ in 0..PACKETS {
                    self.send(&bytes);
                }
                self.await_packets(1);
                let rate = PACKETS as f64 / begin.elapsed().as_secs_f64();
                println!("{len:>5} B packets: {:.1} M/s", rate / 1e6);
            } else {
                self.await_packets(PACKETS);
                self.send(&bytes);
            }
        }
        self.bodies(is_first);
        self.idle_poll(is_first);
        while self.channel.close() == Closing::Pending {
            self.poll();
        }
    }

    fn bodies(&mut self, is_first: bool) {
        let body = vec![3u8; BODY];
        let begin = Instant::now();
        if is_first {
            for i in 0..BODIES {
                // SAFETY: the vector is neither changed nor dropped before `bulk_sent`, which is awaited below.
                let span = unsafe { ReadSpan::new(body.as_ptr(), BODY) };
                while self
                    .channel
                    .send_bulk(self.other, Lane::Request, &[1; 24], Gather::span(span), BulkToken(i))
                    .unwrap()
                    == Room::Full
                {
                    self.poll();
                }
                while self.seen.sent == i {
                    self.poll();
                }
            }
            self.await_packets(1);
            let rate = (BODIES * BODY as u64) as f64 / begin.elapsed().as_secs_f64();
            println!("bodies of {BODY} B: {:.2} GB/s", rate / 1e9);
        } else {
            while self.seen.bodies < BODIES {
                self.poll();
            }
            self.send(&[1; 8]);
        }
    }

    fn idle_poll(&mut self, is_first: bool) {
        if is_first {
            const POLLS: u32 = 1_000_000;
            let begin = Instant::now();
            for _ in 0..POLLS {
                self.poll();
            }
            println!("idle poll: {:.1} ns", begin.elapsed().as_nanos() as f64 / f64::from(POLLS));
            self.send(&[1; 8]);
        } else {
            while self.seen.packets == 0 {
                std::thread::sleep(Duration::from_millis(1)); // off the other's core
                self.poll();
            }
            self.seen.packets = 0;
        }
    }

    fn send(&mut self, bytes: &[u8]) {
        while self.channel.reserve(self.other, Lane::Request, bytes.len()).unwrap() == Room::Full {
            self.poll();
        }
        self.channel.fill(Source::Bytes(bytes));
        self.channel.commit();
    }

    fn await_packets(&mut self, count: u64) {
        while self.seen.packets < count {
            self.poll();
            std::hint::spin_loop();
        }
        self.seen.packets -= count;
    }

    fn poll(&mut self) {
        let _ = self.channel.poll(&mut self.seen, Budget { packets: 64, bytes: 1 << 20 });
    }
}

impl Sink for Seen {
    fn packet(&mut self, _: Peer, _: Lane, _: &[u8]) -> Delivery {
        self.packets += 1;
        Delivery::Accepted
    }

    fn bulk(&mut self, _: Peer, _: Lane, _: &[u8], body_len: u64) -> Placement {
        // SAFETY: the vector lives as long as the channel, and nothing else uses it.
        let span = unsafe { WriteSpan::new(self.place.as_mut_ptr(), self.place.len()) };
        Placement::Into(Scatter::span(span.part(0, body_len as usize)))
    }

    fn bulk_received(&mut self, _: Peer, _: Lane) {
        self.bodies += 1;
    }

    fn bulk_sent(&mut self, _: BulkToken) {
        self.sent += 1;
    }

    fn writable(&mut self, _: Peer, _: Lane) {}

    fn failed(&mut self, _: Peer, failure: Failure) {
        panic!("{failure}");
    }
}
