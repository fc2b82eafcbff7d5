//! An engine, and villains whose packets are made by the bytes.

use super::choices::Choices;
use crate::hostile::{Arena, Scene};
use rma_ch_sim::SimConfig;
use rma_core::config::EngineConfig;
use std::cell::RefCell;

/// Lets three villains at two honest ranks, for as long as there are bytes.
///
/// # Panics
/// When they do any harm.
pub fn engine(bytes: &[u8]) {
    let choices = RefCell::new(Choices::new(bytes));
    let below = |limit| choices.borrow_mut().below(limit);
    let pick = |from: &[u64]| from[below(from.len() as u64) as usize];
    let sim = SimConfig {
        lane_packets: pick(&[16, 1]),
        max_packet: 400,
        bulk_from: pick(&[64, 1]),
        body_step_bytes: pick(&[1 << 20, 16]),
        ranks_per_node: pick(&[1, 2, 0]),
        ..SimConfig::default()
    };
    let engine = EngineConfig {
        slots: 2,
        lock_queue_bytes: pick(&[65536, 100, 0]),
        credits: pick(&[64, 1]),
        unit_bytes: pick(&[65536, 16]),
        poll_packets: pick(&[64, 1]),
        op_pool_window: pick(&[8, 1]),
        op_pool_global: 0,
        target_pool_window: pick(&[4, 1]),
        target_pool_global: 0,
        ..EngineConfig::default()
    };
    let mut arena = Arena::new(&Scene { sim, engine, villains: 3 }, below);
    while arena.has_villains() && !choices.borrow().is_over() {
        arena.act();
    }
    arena.finish();
}
