//! Engines against packets that no process of a job sends: 50,000 of them, of every kind, damaged in every
//! way, while honest ranks work. No panic, memory beside the windows untouched, honest ranks unaffected, and
//! no connection closed but a villain's.
//!
//! `RMA_SEED=7` runs that seed alone, `RMA_PACKETS=1000000` sends so many.

use rma_ch_sim::SimConfig;
use rma_core::config::EngineConfig;
use rma_tests::hostile::{Arena, Scene};
use rma_tests::random::Random;
use std::panic::AssertUnwindSafe;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn scene(random: &mut Random) -> Scene {
    let max_packet = random.pick(&[192, 400, 4096]);
    let sim = SimConfig {
        lane_packets: random.pick(&[1, 4, 16]),
        max_packet,
        bulk_from: random.pick(&[1, 64, 1024]).min(max_packet),
        body_step_bytes: random.pick(&[16, 1 << 20]),
        ranks_per_node: random.pick(&[1, 2, 0]),
        ..SimConfig::default()
    };
    let engine = EngineConfig {
        lock_queue_bytes: random.pick(&[0, 100, 65536]),
        credits: random.pick(&[1, 4, 64]),
        unit_bytes: random.pick(&[16, 65536]),
        poll_packets: random.pick(&[1, 64]),
        op_pool_global: random.pick(&[0, 64]),
        target_pool_window: random.pick(&[1, 16]),
        ..EngineConfig::default()
    };
    Scene { sim, engine, villains: 40 }
}

fn attack(seed: u64) -> (u64, u64) {
    let mut random = Random::new(seed);
    let scene = scene(&mut random);
    let mut arena = Arena::new(&scene, |limit| random.below(limit));
    while arena.has_villains() {
        arena.act();
    }
    let counts = (arena.sent, arena.closed);
    arena.finish();
    counts
}

#[test]
fn fifty_thousand_packets_that_no_process_sends_do_no_harm() {
    if let Some(seed) = number("RMA_SEED") {
        attack(seed);
        return;
    }
    let wanted = number("RMA_PACKETS").unwrap_or(50_000);
    let (mut sent, mut closed) = (0, 0);
    for seed in 0.. {
        if sent >= wanted {
            break;
        }
        let Ok((packets, connections)) = std::panic::catch_unwind(AssertUnwindSafe(|| attack(seed))) else {
            panic!("seed {seed} fails; RMA_SEED={seed} replays it");
        };
        (sent, closed) = (sent + packets, closed + connections);
    }
    println!("{sent} packets, {closed} connections closed");
    assert!(closed > sent / 100, "{closed} connections closed for {sent} packets: the packets are too tame");
    assert!(
        closed < sent / 2,
        "{closed} connections closed for {sent} packets: nothing gets past the first check"
    );
}
