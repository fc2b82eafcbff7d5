//! The contract of channels, with rings as they come and with the smallest.

use rma_ch_shm::{ShmChannel, ShmConfig, ShmSettings};
use rma_core::channel::Channel;
use rma_core::channel::conformance::Fixture;
use rma_core::ids::Peer;
use std::sync::atomic::{AtomicU32, Ordering};

static JOBS: AtomicU32 = AtomicU32::new(0);

struct Shm {
    config: ShmConfig,
}

impl Fixture for Shm {
    fn channels(&mut self, count: u32) -> Vec<Box<dyn Channel>> {
        let number = JOBS.fetch_add(1, Ordering::Relaxed);
        let job = format!("conformance-{}-{number}", std::process::id());
        (0..count).map(|me| -> Box<dyn Channel> { Box::new(self.channel(me, count, &job)) }).collect()
    }
}

impl Shm {
    fn with(change: impl FnOnce(&mut ShmConfig)) -> Self {
        let mut config = ShmConfig::default();
        change(&mut config);
        Self { config }
    }

    fn channel(&self, me: u32, size: u32, job: &str) -> ShmChannel {
        let settings = ShmSettings {
            me: Peer(me),
            size,
            job: job.to_owned(),
            secret: [42; 32],
            config: self.config.clone(),
        };
        ShmChannel::new(settings).expect("a channel can be made")
    }
}

mod default {
    use super::*;
    rma_core::channel_conformance!(Shm::with(|_| {}));
}

mod smallest {
    use super::*;
    rma_core::channel_conformance!(Shm::with(|config| {
        config.ring_bytes = 256;
        config.packet_bytes = 192;
        config.bulk_bytes = 1;
        config.backlog = 1;
        config.check_interval = 1;
    }));
}

/// Memory from files, longest packets, and sockets that are hardly ever looked at.
mod files {
    use super::*;
    rma_core::channel_conformance!(Shm::with(|config| {
        config.ring_bytes = 1000;
        config.packet_bytes = 1 << 20;
        config.check_interval = 150;
        config.backing = "devshm".to_owned();
    }));
}
