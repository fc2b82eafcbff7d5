//! The contract of channels over libfabric's plainest provider, with the default variables, the smallest, and some in between.
//! Where there is no libfabric, the lower channel stands in for it. `RMA_OFI_PROVIDER` and `RMA_OFI_LIB` name another provider and
//! library, `RMA_TCP_LISTEN` the address that it is to use.

#![allow(missing_docs)]

use rma_ch_ofi::{OfiChannel, OfiConfig, OfiSettings, probe};
use rma_ch_tcp::{TcpChannel, TcpConfig, TcpSettings};
use rma_core::channel::Channel;
use rma_core::channel::conformance::Fixture;
use rma_core::ids::Peer;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, OnceLock};

fn address() -> IpAddr {
    let named = std::env::var("RMA_TCP_LISTEN").ok();
    named.map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |text| text.parse().unwrap())
}

/// The default variables, but for those that the environment sets.
fn plain() -> OfiConfig {
    OfiConfig::read(&|name| std::env::var(name).ok()).unwrap()
}

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
            listen: address(),
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
            let settings = OfiSettings { me: Peer(me), size: count, listen: Some(address()), config, lower };
            // SAFETY: the environment of the tests names libfabric.
            Box::new(unsafe { OfiChannel::open(settings) }.unwrap()) as Box<dyn Channel>
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
    // SAFETY: the environment of the tests names libfabric.
    *SAID.get_or_init(|| match unsafe { probe(&plain()) } {
        Ok(_) => true,
        Err(why) => {
            eprintln!("skipped, with the lower channel in its place: {why}");
            false
        }
    })
}

mod default {
    use super::{Job, plain};

    rma_core::channel_conformance!(Job { config: plain(), largest_body: (4 << 20) + 3 });
}

/// Transfers, which this provider is not trusted with by default.
mod transfers {
    use super::{Job, OfiConfig, plain};

    fn config() -> OfiConfig {
        OfiConfig { transfers: true, ..plain() }
    }

    rma_core::channel_conformance!(Job { config: config(), largest_body: (1 << 20) + 3 });
}

/// Everything smallest: a packet at a time, short bodies and those with gaps in many pieces, the others read.
mod smallest {
    use super::{Job, OfiConfig, plain};

    fn config() -> OfiConfig {
        OfiConfig {
            packet_bytes: 192,
            bulk_bytes: 1,
            read_bytes: 1000,
            credits: 1,
            transfers: true,
            ..plain()
        }
    }

    rma_core::channel_conformance!(Job { config: config(), largest_body: 30_000 });
}

/// Packets that the provider does not copy at once, so that slots come back by completions.
mod long {
    use super::{Job, OfiConfig, plain};

    fn config() -> OfiConfig {
        OfiConfig { packet_bytes: 40_001, bulk_bytes: 3_000, read_bytes: u64::MAX, credits: 3, ..plain() }
    }

    rma_core::channel_conformance!(Job { config: config(), largest_body: (1 << 20) + 3 });
}

/// More receives than the provider has room for, as with many contacts: some wait, and nothing polls for them.
mod many_receives {
    use super::{Job, OfiConfig, plain};

    fn config() -> OfiConfig {
        OfiConfig { packet_bytes: 1024, credits: 1500, ..plain() }
    }

    rma_core::channel_conformance! { @each Job { config: config(), largest_body: (1 << 20) + 3 };
        c1_many_pairs_and_both_lanes
        c6_an_idle_rank_stays_asleep
        c6_ping_pong_between_sleepers
    }
}
