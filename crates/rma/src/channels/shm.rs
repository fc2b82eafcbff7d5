//! The line of the shared-memory channel.

use super::kind::{ChannelKind, Distance, Opening};
use super::look_up::LookUp;
use rma_ch_shm::{ShmChannel, ShmConfig, ShmSettings};
use rma_core::Result;
use rma_core::channel::Channel;

pub(super) struct Shm;

impl ChannelKind for Shm {
    fn name(&self) -> &'static str {
        "shm"
    }

    fn text(&self) -> &'static str {
        "memory that processes of one machine map"
    }

    fn cost_ns(&self, distance: Distance, _: LookUp<'_>) -> Option<u32> {
        (distance == Distance::Node).then_some(500)
    }

    fn shares_memory(&self) -> bool {
        true
    }

    fn probe(&self, _: LookUp<'_>) -> Result<String, String> {
        Ok("memfd and Unix sockets of the kernel".to_owned())
    }

    fn open(&self, opening: &Opening<'_>) -> Result<Box<dyn Channel>> {
        let settings = ShmSettings {
            me: opening.me,
            size: opening.size,
            job: opening.job.to_owned(),
            secret: opening.secret,
            config: ShmConfig::read(&opening.look_up.reader())?,
        };
        let channel = ShmChannel::new(settings).map_err(|cause| Opening::refused("shared memory", &cause))?;
        Ok(Box::new(channel))
    }
}
