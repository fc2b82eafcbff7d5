//! The variables, and what a channel is made from.

use crate::wire::{HEADER, OFFER};
use rma_core::channel::{Channel, MIN_PACKET};
use rma_core::config::Value;
use rma_core::ids::Peer;
use std::fmt;
use std::net::IpAddr;

/// What every machine with libfabric has.
pub const DEFAULT_PROVIDER: &str = "tcp;ofi_rxm";

/// With libfabric's own heads still one of its eager messages.
const PACKET: u64 = 16_000;

rma_core::variables! {
    /// Sizes of the channel over libfabric.
    pub struct OfiConfig {
        /// The library.
        library: Word = "libfabric.so.1", "RMA_OFI_LIB", Choice, (),
            "libfabric's shared object: a name that the system's loader finds, or a path",
            "the name under which all versions from 1.0 to 2.x are installed";
        /// The provider.
        provider: Word = "tcp;ofi_rxm", "RMA_OFI_PROVIDER", Choice, (),
            "libfabric's provider, as fi_info calls it: verbs;ofi_rxm on InfiniBand and RoCE, cxi on Slingshot, efa on EFA; the same in all processes of a job",
            "every machine has it, so that it can be tried anywhere; a network's own is a matter of the machine";
        /// Longest packet.
        packet_bytes: u64 = PACKET, "RMA_OFI_PACKET_BYTES", Bytes, MIN_PACKET as u64..=1 << 20,
            "longest small packet, and piece of a body, over libfabric; the same in all processes of a job",
            "fits a message that rxm sends without asking";
        /// From here on bodies are not copied into packets.
        bulk_bytes: u64 = PACKET, "RMA_OFI_BULK_BYTES", Bytes, 1..=1 << 20,
            "bodies from this size on are sent in pieces behind a head (at most the longest packet)",
            "a body costs less as part of its packet: 12 KiB take two thirds of the time";
        /// From here on bodies are read.
        read_bytes: u64 = 44u64 << 10, "RMA_OFI_READ_BYTES", Bytes, 1..=u64::MAX,
            "bodies from this size on, if they lie in one piece and the provider can do it, are read by the receiver",
            "a body of this size takes as long in packets, a longer one longer";
        /// Transfers over any provider.
        transfers: bool = false, "RMA_OFI_TRANSFERS", Switch, (),
            "puts and gets may be transfers also over providers where neither the end of a registration nor that of a connection ends one under way (net, shm, tcp before libfabric 2.5)",
            "window memory must not be written any more once it was given up, be it after a failure only";
        /// Packets under way.
        credits: u64 = 32u64, "RMA_OFI_CREDITS", Count, 1..=4096,
            "packets that may be under way per peer and lane; each has a buffer at both ends",
            "hides the way of a credit back at the rates of fast networks";
    }
}

/// A text without meaning here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word(String);

impl Word {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Word {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl Value for Word {
    type Range = ();

    fn parse(text: &str, (): &()) -> Result<Self, String> {
        let text = text.trim();
        match text.is_empty() || text.contains('\0') {
            true => Err("a name is needed".to_owned()),
            false => Ok(text.into()),
        }
    }

    fn show(&self) -> String {
        self.0.clone()
    }

    fn show_range((): &()) -> String {
        "a name".to_owned()
    }
}

/// What one process of a job needs to talk to the others over libfabric.
pub struct OfiSettings {
    /// This process.
    pub me: Peer,
    /// Number of processes in the job.
    pub size: u32,
    /// Address of the interface that the endpoint is to use, where the provider goes by addresses.
    pub listen: Option<IpAddr>,
    /// Sizes and names.
    pub config: OfiConfig,
    /// What authenticates the peers, carries their addresses and notices their end: an ordered channel
    /// between the same processes, with no other user.
    pub lower: Box<dyn Channel>,
}

impl fmt::Debug for OfiSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OfiSettings")
            .field("me", &self.me)
            .field("size", &self.size)
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

/// The variables as the channel uses them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) packet: usize,
    pub(crate) bulk_from: usize,
    pub(crate) read_from: u64,
    pub(crate) credits: u32,
    pub(crate) transfers: bool,
}

impl Limits {
    pub(crate) fn new(config: &OfiConfig) -> Self {
        // The ranges of the table end far below what these types hold.
        let packet = (config.packet_bytes as usize).max(MIN_PACKET);
        Self {
            packet,
            bulk_from: (config.bulk_bytes as usize).min(packet),
            read_from: config.read_bytes,
            credits: (config.credits as u32).max(1),
            transfers: config.transfers,
        }
    }

    /// Bytes of a slot for any packet.
    pub(crate) fn slot_len(&self) -> usize {
        HEADER + OFFER + self.packet
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_not_empty_and_a_bulk_threshold_over_the_longest_packet_is_the_longest_packet() {
        assert!(Word::parse("  ", &()).is_err() && Word::parse("a\0b", &()).is_err());
        assert_eq!(Word::parse(" verbs;ofi_rxm ", &()).unwrap().as_str(), "verbs;ofi_rxm");
        let config = OfiConfig { packet_bytes: 1000, bulk_bytes: 5000, ..OfiConfig::default() };
        assert_eq!(Limits::new(&config).bulk_from, 1000);
    }
}
