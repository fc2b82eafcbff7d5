//! The contract of channels, for the simulated network in real and in virtual time, also at its smallest.

use rma_ch_sim::{Latency, SimConfig, SimNet};
use rma_core::channel::Channel;
use rma_core::channel::conformance::Fixture;
use rma_core::ids::Peer;
use std::time::Duration;

fn channels(net: &SimNet) -> Vec<Box<dyn Channel>> {
    (0..net.ranks()).map(|rank| Box::new(net.channel(Peer(rank))) as Box<dyn Channel>).collect()
}

/// Ranks in real time.
struct RealTime {
    config: SimConfig,
    largest_body: usize,
}

impl Fixture for RealTime {
    fn channels(&mut self, count: u32) -> Vec<Box<dyn Channel>> {
        channels(&SimNet::real_time(count, self.config.clone()))
    }

    fn largest_body(&self) -> usize {
        self.largest_body
    }
}

/// Ranks in virtual time.
struct VirtualTime {
    config: SimConfig,
    seed: u64,
    largest_body: usize,
    net: Option<SimNet>,
}

impl VirtualTime {
    fn new(config: SimConfig, seed: u64, largest_body: usize) -> Self {
        Self { config, seed, largest_body, net: None }
    }
}

impl Fixture for VirtualTime {
    fn channels(&mut self, count: u32) -> Vec<Box<dyn Channel>> {
        let latency = Latency(Duration::from_micros(1)..=Duration::from_micros(30));
        let net = SimNet::virtual_time(count, self.config.clone(), latency, self.seed);
        self.net = Some(net.clone());
        channels(&net)
    }

    fn can_sleep(&self) -> bool {
        false
    }

    fn idle(&mut self) {
        if let Some(net) = &self.net {
            net.advance();
        }
    }

    fn largest_body(&self) -> usize {
        self.largest_body
    }
}

const MANY: usize = (4 << 20) + 3;

fn with_transfers() -> SimConfig {
    SimConfig { transfers: 16, ..SimConfig::default() }
}

mod real_time {
    use super::*;
    rma_core::channel_conformance!(RealTime { config: with_transfers(), largest_body: MANY });
}

mod real_time_smallest {
    use super::*;
    rma_core::channel_conformance!(RealTime {
        config: SimConfig { transfers: 1, transfer_bytes: 1000, ..SimConfig::smallest() },
        largest_body: 1001,
    });
}

mod real_time_body_in_steps {
    use super::*;
    rma_core::channel_conformance!(RealTime {
        config: SimConfig { lane_packets: 2, body_step_bytes: 1000, ..SimConfig::default() },
        largest_body: 300_000,
    });
}

mod virtual_time {
    use super::*;
    rma_core::channel_conformance!(VirtualTime::new(with_transfers(), 1, MANY));
}

mod virtual_time_smallest {
    use super::*;
    rma_core::channel_conformance!(VirtualTime::new(
        SimConfig { transfers: 1, transfer_bytes: 1000, ..SimConfig::smallest() },
        2,
        1001
    ));
}
