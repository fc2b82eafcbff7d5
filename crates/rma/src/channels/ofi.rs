//! The line of the channel over libfabric.

use super::kind::{ChannelKind, Distance, Opening};
use super::look_up::LookUp;
use super::tcp::Tcp;
use rma_ch_ofi::{DEFAULT_PROVIDER, OfiChannel, OfiConfig, OfiSettings, probe};
use rma_core::Result;
use rma_core::channel::Channel;

pub(super) struct Ofi;

impl ChannelKind for Ofi {
    fn name(&self) -> &'static str {
        "ofi"
    }

    fn text(&self) -> &'static str {
        "the networks of libfabric, by its provider RMA_OFI_PROVIDER"
    }

    fn cost_ns(&self, distance: Distance, look_up: LookUp<'_>) -> Option<u32> {
        // A network that is named is faster than sockets; over sockets libfabric is not.
        let provider =
            look_up.text("RMA_OFI_PROVIDER").filter(|provider| provider.trim() != DEFAULT_PROVIDER);
        Some(match (provider.is_some(), distance) {
            (true, _) => 3_000,
            (false, Distance::Node) => 12_000,
            (false, Distance::Remote) => 20_000,
        })
    }

    fn wish(&self, look_up: LookUp<'_>) -> Option<String> {
        Some(format!("RMA_OFI_PROVIDER is {}", look_up.text("RMA_OFI_PROVIDER")?.trim()))
    }

    fn probe(&self, look_up: LookUp<'_>) -> Result<String, String> {
        let config = OfiConfig::read(&look_up.reader()).map_err(|error| error.cause().to_owned())?;
        // SAFETY: `LookUp` gives only names of libraries that are answered for.
        unsafe { probe(&config) }
    }

    fn open(&self, opening: &Opening<'_>) -> Result<Box<dyn Channel>> {
        let settings = OfiSettings {
            me: opening.me,
            size: opening.size,
            listen: Some(opening.listen),
            config: OfiConfig::read(&opening.look_up.reader())?,
            lower: Tcp.open(&opening.below())?,
        };
        // SAFETY: as above.
        let channel = unsafe { OfiChannel::open(settings) }
            .map_err(|cause| Opening::refused("an endpoint of libfabric", &cause))?;
        Ok(Box::new(channel))
    }
}
