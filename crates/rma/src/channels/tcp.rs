//! The line of the TCP channel.

use super::kind::{ChannelKind, Distance, Opening};
use super::look_up::LookUp;
use crate::network::machine_name;
use rma_ch_tcp::{TcpChannel, TcpConfig, TcpSettings};
use rma_core::Result;
use rma_core::channel::Channel;

pub(super) struct Tcp;

impl ChannelKind for Tcp {
    fn name(&self) -> &'static str {
        "tcp"
    }

    fn text(&self) -> &'static str {
        "TCP, with a connection to each process in contact"
    }

    fn cost_ns(&self, distance: Distance, _: LookUp<'_>) -> Option<u32> {
        Some(if distance == Distance::Node { 8_000 } else { 15_000 })
    }

    fn probe(&self, _: LookUp<'_>) -> Result<String, String> {
        Ok("sockets of the kernel".to_owned())
    }

    fn open(&self, opening: &Opening<'_>) -> Result<Box<dyn Channel>> {
        let mut config = TcpConfig::read(&opening.look_up.reader())?;
        if opening.is_oversubscribed {
            // A rank that sleeps between polls learns what is readable as it wakes: it need not try.
            config.direct_reads = 0;
        }
        let listen = opening.listen;
        let settings = TcpSettings {
            me: opening.me,
            size: opening.size,
            job: opening.job.to_owned(),
            secret: opening.secret,
            listen,
            config,
            directory: opening.directory(),
        };
        let channel = TcpChannel::bind(settings)
            .map_err(|cause| Opening::refused(&format!("listening on {listen}"), &cause))?;
        let at = machine_name().map_or_else(String::new, |name| format!("@{name}"));
        opening.publish(&(channel.address() + &at))?;
        Ok(Box::new(channel))
    }
}
