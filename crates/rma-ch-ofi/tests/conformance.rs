//! The contract of channels over libfabric's plainest provider, with the default variables, the smallest, and some in between.
//! Where there is no libfabric, the lower channel stands in for it.

#![allow(missing_docs)]

use rma_ch_ofi::{OfiChannel, OfiConfig, OfiSettings, probe};
use rma_ch_tcp::{TcpChannel, TcpConfig, TcpSettings};
use rma_core::channel::Channel;
use rma_core::channel::conformance::Fixture;
use rma_core::ids::Peer;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, OnceLock};

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

struct Job {
    config: OfiConfig,
    largest_body: usize,
}

fn lower(count: u32) -> Vec<Box<dyn Channel>> {
    let addresses: Arc<Mutex<Vec<String>>> = Arc::default();
    let channel = |me| {
        let looked_up_in = Arc::clone(&addresses);
        let settings = TcpSettings {
            me: Peer(me),
            size: count,
            job: "ofi".to_owned(),
            secret: [7; 32],
            listen: LOOPBACK,
            config: TcpConfig::default(),
            directory: Box::new(move |peer: Peer| Ok(looked_up_in.lock().unwrap()[peer.0 as usize].clone())),
        };
        let channel = TcpChannel::bind(settings).unwrap();
        addresses.lock().unwrap().push(channel.address());
        Box::new(channel) as Box<dyn Channel>
    };
    (0..count).map(channel).collect()
}

impl Fixture for Job {
    fn channels(&mut self, count: u32) -> Vec<Box<dyn Channel>> {
        if !is_there() {
            return lower(count);
        }
        let open = |(me, lower): (u32, Box<dyn Channel>)| {
            let config = self.config.clone();
            let settings = OfiSettings { me: Peer(me), size: count, listen: Some(LOOPBACK), config, lower };
            Box::new(OfiChannel::open(settings).unwrap()) as Box<dyn Channel>
        };
        (0..count).zip(lower(count)).map(open).collect()
    }

    fn largest_body(&self) -> usize {
        self.largest_body
    }
}

/// Whether there is a libfabric to test.
fn is_there() -> bool {
    static SAID: OnceLock<bool> = OnceLock::new();
    *SAID.get_or_init(|| match probe(&OfiConfig::default()) {
        Ok(_) => true,
        Err(why) => {
            eprintln!("skipped, with the lower channel in its place: {why}");
            false
        }
    })
}

mod default {
    use super::{Job, OfiConfig};

    rma_core::channel_conformance!(Job { config: OfiConfig::default(), largest_body: (4 << 20) + 3 });
}

/// Everything smallest: a packet at a time, short bodies and those with gaps in many pieces, the others read.
mod smallest {
    use super::{Job, OfiConfig};

    fn config() -> OfiConfig {
        OfiConfig { packet_bytes: 192, bulk_bytes: 1, read_bytes: 1000, credits: 1, ..OfiConfig::default() }
    }

    rma_core::channel_conformance!(Job { config: config(), largest_body: 30_000 });
}

/// Packets that the provider does not copy at once, so that slots come back by completions.
mod long {
    use super::{Job, OfiConfig};

    fn config() -> OfiConfig {
        OfiConfig {
            packet_bytes: 40_001,
            bulk_bytes: 3_000,
            read_bytes: u64::MAX,
            credits: 3,
            ..OfiConfig::default()
        }
    }

    rma_core::channel_conformance!(Job { config: config(), largest_body: (1 << 20) + 3 });
}
