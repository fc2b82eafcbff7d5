//! What stands for the launcher of a simulated job: it reports deaths to the ranks, to each after a while of
//! its own. As in jobs of processes a rank that learns of one makes contact with the dead, and its channel
//! finds out.

use rma_ch_sim::SimNet;
use rma_core::channel::{BulkToken, Channel, Delivery, Failure, Lane, Placement};
use rma_core::ids::Peer;
use rma_core::progress::{NoUpper, Upper};
use std::time::Duration;

/// The protocol above a rank's engine.
#[derive(Debug)]
pub(super) struct Reported {
    net: SimNet,
    lateness: Duration,
    /// The dead, and when this rank learns of them; those that it knows have no time.
    known: Vec<(Peer, Option<Duration>)>,
}

impl Reported {
    pub(super) fn new(net: SimNet, lateness: Duration) -> Self {
        Self { net, lateness, known: Vec::new() }
    }
}

impl Upper for Reported {
    fn packet(&mut self, from: Peer, lane: Lane, bytes: &[u8]) -> Delivery {
        NoUpper.packet(from, lane, bytes)
    }

    fn bulk(&mut self, from: Peer, lane: Lane, head: &[u8], body_len: u64) -> Placement {
        NoUpper.bulk(from, lane, head, body_len)
    }

    fn bulk_received(&mut self, _: Peer, _: Lane) {}

    fn bulk_sent(&mut self, _: BulkToken) {}

    fn failed(&mut self, _: Peer, _: &Failure) {}

    fn advance(&mut self, channel: &mut dyn Channel) -> bool {
        let now = self.net.now();
        for peer in self.net.dead() {
            if !self.known.iter().any(|(known, _)| *known == peer) {
                self.known.push((peer, Some(now + self.lateness)));
            }
        }
        let mut moved = false;
        for (peer, due) in &mut self.known {
            if due.take_if(|due| *due <= now).is_some() {
                // The next poll says what there is to say.
                let _ = channel.connect(*peer);
                moved = true;
            }
        }
        moved
    }
}
