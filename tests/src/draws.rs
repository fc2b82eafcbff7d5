//! What a seed decides for every simulated job: sizes of the channel and of the engine, and delays.

use crate::random::Random;
use rma_ch_sim::{Latency, SimConfig};
use rma_core::config::EngineConfig;
use std::time::Duration;

/// How large the element pools are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pools {
    /// As users have them.
    Default,
    /// One element of each kind.
    One,
    /// Two.
    Two,
    /// Drawn from the seed.
    Drawn,
}

impl Pools {
    /// Those of a word, for a seed; `all` takes them by turns.
    pub fn of(word: &str, seed: u64) -> Option<Self> {
        const TURNS: [Pools; 4] = [Pools::Default, Pools::One, Pools::Two, Pools::Drawn];
        match word {
            "all" => Some(TURNS[(seed % 4) as usize]),
            "default" => Some(Self::Default),
            "one" => Some(Self::One),
            "two" => Some(Self::Two),
            "drawn" => Some(Self::Drawn),
            _ => None,
        }
    }
}

pub(crate) fn simulation(random: &mut Random, ranks_per_node: u64) -> SimConfig {
    let max_packet = random.pick(&[192, 400, 4096]);
    let sim = SimConfig {
        lane_packets: random.pick(&[1, 2, 16]),
        max_packet,
        bulk_from: random.pick(&[1, 64, 1024]).min(max_packet),
        body_step_bytes: random.pick(&[16, 100, 1 << 20]),
        ranks_per_node,
        ..SimConfig::default()
    };
    with_transfers(sim)
}

/// Offers transfers in a third of the jobs. Their sizes follow from other draws, so that the seeds that are kept draw what they did.
fn with_transfers(sim: SimConfig) -> SimConfig {
    if sim.body_step_bytes != 100 {
        return sim;
    }
    let transfer_from = if sim.bulk_from == 1024 { 100 } else { sim.bulk_from.min(16) };
    let transfer_bytes = match sim.lane_packets {
        // No longer wait than a program of deaths may stand still.
        1 => 100,
        2 => 250,
        _ => 1 << 20,
    };
    let transfer_refuses = if sim.max_packet == 400 { 5 } else { 0 };
    SimConfig { transfers: sim.lane_packets, transfer_from, transfer_bytes, transfer_refuses, ..sim }
}

pub(crate) fn engine(random: &mut Random, pools: Pools) -> EngineConfig {
    let drawn = (
        random.pick(&[(1, 0), (2, 0), (1, 2), (64, 16384)]),
        random.pick(&[(1, 0), (2, 0), (1, 1), (16, 16384)]),
    );
    let ((op_window, op_global), (target_window, target_global)) = match pools {
        Pools::Default => ((64, 16384), (16, 16384)),
        Pools::One => ((1, 0), (1, 0)),
        Pools::Two => ((2, 0), (2, 0)),
        Pools::Drawn => drawn,
    };
    let slots = random.pick(&[1, 2, 64]);
    EngineConfig {
        slots,
        // These follow another draw, so that the seeds that are kept draw what they did.
        pack_from: slots,
        fence_packets: [0, 2, 8][usize::from(slots > 1) + usize::from(slots > 2)],
        op_pool_window: op_window,
        op_pool_global: op_global,
        target_pool_window: target_window,
        target_pool_global: target_global,
        piggyback_threshold: random.pick(&[0, 1, 8]),
        lock_data_bytes: random.pick(&[0, 1, 8, 100, 4096]),
        lock_queue_bytes: random.pick(&[0, 1, 100, 65536]),
        credits: random.pick(&[1, 2, 64]),
        unit_bytes: random.pick(&[16, 40, 65536]),
        poll_packets: random.pick(&[1, 3, 64]),
        poll_bytes: random.pick(&[1, 1 << 20]),
        direct_poll_interval: 1,
        ..EngineConfig::default()
    }
}

pub(crate) fn latency(random: &mut Random) -> Latency {
    let micros = Duration::from_micros;
    let low = random.below(5);
    Latency(micros(low)..=micros(low + random.below(60)))
}
