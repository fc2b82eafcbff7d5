//! The contract of channels, with the default variables, the smallest, and some in between that reach other paths.

mod common;

use rma_ch_tcp::TcpConfig;
use rma_core::channel::Channel;
use rma_core::channel::conformance::Fixture;

struct Job {
    config: TcpConfig,
    largest_body: usize,
}

impl Fixture for Job {
    fn channels(&mut self, count: u32) -> Vec<Box<dyn Channel>> {
        common::job(count, &self.config).into_iter().map(|c| Box::new(c) as Box<dyn Channel>).collect()
    }

    fn largest_body(&self) -> usize {
        self.largest_body
    }
}

mod default {
    use super::{Job, TcpConfig};

    rma_core::channel_conformance!(Job { config: TcpConfig::default(), largest_body: (4 << 20) + 3 });
}

/// Everything smallest. A header for every byte of a body makes large bodies slow, not different.
mod smallest {
    use super::{Job, common};

    rma_core::channel_conformance!(Job { config: common::smallest(), largest_body: 30_000 });
}

/// Odd sizes, so that frames and pieces end everywhere in buffers; small buffers in the system.
mod odd {
    use super::{Job, TcpConfig};

    fn config() -> TcpConfig {
        TcpConfig {
            packet_bytes: 997,
            bulk_bytes: 500,
            send_bytes: 3001,
            bulks: 2,
            receive_bytes: 1500,
            chunk_bytes: 7777,
            socket_bytes: 9000,
            direct_reads: 1,
            unauthenticated: 2,
            ..TcpConfig::default()
        }
    }

    rma_core::channel_conformance!(Job { config: config(), largest_body: (1 << 20) + 3 });
}

/// What is sent goes by way of sealed records.
mod authenticated {
    use super::{Job, TcpConfig};

    fn config() -> TcpConfig {
        TcpConfig { authenticate: true, ..TcpConfig::default() }
    }

    rma_core::channel_conformance!(Job { config: config(), largest_body: (4 << 20) + 3 });
}

mod authenticated_smallest {
    use super::{Job, TcpConfig, common};

    fn config() -> TcpConfig {
        TcpConfig { authenticate: true, ..common::smallest() }
    }

    rma_core::channel_conformance!(Job { config: config(), largest_body: 30_000 });
}
