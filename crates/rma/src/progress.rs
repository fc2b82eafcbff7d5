//! What the engine's steps drive of this runtime: messages, and the collectives made of them.
//!
//! The engine steps in every call that waits, tests or synchronizes, so a collective that was begun goes on
//! while its rank receives a message, waits in a fence or polls, in any of its threads.
//!
//! Invariants: collectives are stepped here and nowhere else, under the engine's lock, in the order in which they were begun.
//! A machine waits for nothing but its messages, so that a step without an ended message, and without a collective begun,
//! looks at none of them.

use crate::agent::is_agent;
use crate::collective::CollectiveStep;
use crate::message::MessageUpper;
use parking_lot::Mutex;
use rma_core::channel::{BulkToken, Channel, Delivery, Failure, Lane, Placement};
use rma_core::ids::Peer;
use rma_core::progress::Upper;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Collectives that were begun and that no step has seen yet.
#[derive(Default)]
pub(crate) struct StartedCollectives {
    /// Whether there are some, so that a step without any takes no lock.
    is_some: AtomicBool,
    collectives: Mutex<Vec<Arc<dyn CollectiveStep>>>,
}

/// Messages and collectives as the engine sees them.
pub(crate) struct RuntimeUpper {
    messages: MessageUpper,
    started: Arc<StartedCollectives>,
    running: Vec<Arc<dyn CollectiveStep>>,
    /// Events of the messages when the running collectives were stepped last.
    seen: u64,
}

impl StartedCollectives {
    pub(crate) fn push(&self, collective: Arc<dyn CollectiveStep>) {
        let mut collectives = self.collectives.lock();
        collectives.push(collective);
        self.is_some.store(true, Relaxed);
    }

    /// Whether there are some. The thread that has begun one steps the engine afterwards, and sees it then.
    fn is_some(&self) -> bool {
        self.is_some.load(Relaxed)
    }

    fn move_to(&self, running: &mut Vec<Arc<dyn CollectiveStep>>) {
        let mut collectives = self.collectives.lock();
        self.is_some.store(false, Relaxed);
        running.append(&mut collectives);
    }
}

impl RuntimeUpper {
    pub(crate) fn new(messages: MessageUpper, started: Arc<StartedCollectives>) -> Self {
        Self { messages, started, running: Vec::new(), seen: 0 }
    }

    /// What has ended by a packet is no news where no collective runs: one that begins later is stepped for that, and a step
    /// that takes a packet makes all threads look.
    fn pass_over(&mut self) {
        if self.running.is_empty() {
            self.seen = self.messages.events();
        }
    }

    /// Steps the collectives, if one of them may find something new; says whether there was something new for
    /// any of them.
    fn step_collectives(&mut self) -> bool {
        // Counted before the steps: a message that ends during them is news for the next time.
        let events = self.messages.events();
        let has_started = self.started.is_some();
        // A step may call a function of the user, which must run in a thread of the user.
        if (events == self.seen && !has_started) || is_agent() {
            return false;
        }
        if has_started {
            self.started.move_to(&mut self.running);
        }
        self.seen = events;
        self.running.retain(|collective| !collective.step());
        true
    }
}

impl Upper for RuntimeUpper {
    fn packet(&mut self, from: Peer, lane: Lane, bytes: &[u8]) -> Delivery {
        let delivery = self.messages.packet(from, lane, bytes);
        self.pass_over();
        delivery
    }

    fn bulk(&mut self, from: Peer, lane: Lane, head: &[u8], body_len: u64) -> Placement {
        self.messages.bulk(from, lane, head, body_len)
    }

    fn bulk_received(&mut self, from: Peer, lane: Lane) {
        self.messages.bulk_received(from, lane);
        self.pass_over();
    }

    fn bulk_sent(&mut self, token: BulkToken) {
        self.messages.bulk_sent(token);
    }

    fn failed(&mut self, peer: Peer, failure: &Failure) {
        self.messages.failed(peer, failure);
    }

    fn before_sleep(&mut self) -> bool {
        self.messages.before_sleep()
    }

    /// Twice, because short messages have ended when they have left: a collective whose last message left in the first round
    /// ends in the second. What is still to do then waits for the next step, so that a step stays bounded.
    ///
    /// An ended message counts as movement: another thread may wait for it that no packet wakes.
    fn advance(&mut self, channel: &mut dyn Channel) -> bool {
        if !self.messages.is_active() && !self.is_due() {
            return false;
        }
        let mut moved = false;
        for _ in 0..2 {
            let is_news = self.step_collectives();
            let has_sent = self.messages.advance(channel);
            moved |= is_news || has_sent;
            if !has_sent {
                break;
            }
        }
        moved
    }

    fn wants_advance(&self) -> bool {
        self.is_due()
    }

    fn is_due(&self) -> bool {
        self.messages.is_due() || self.messages.events() != self.seen || self.started.is_some()
    }
}

impl fmt::Debug for RuntimeUpper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RuntimeUpper").field("running", &self.running.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{MessageConfig, Messenger, Plane, Scope};
    use rma_ch_sim::{Latency, SimConfig, SimNet};
    use rma_core::channel::{Budget, Sink};

    const SCOPE: Scope = Scope { context: 1, plane: Plane::User };

    /// Hands messages to a runtime's protocol.
    struct Desk<'a>(&'a mut RuntimeUpper);

    impl Sink for Desk<'_> {
        fn packet(&mut self, from: Peer, lane: Lane, bytes: &[u8]) -> Delivery {
            self.0.packet(from, lane, bytes)
        }

        fn bulk(&mut self, from: Peer, lane: Lane, head: &[u8], body_len: u64) -> Placement {
            self.0.bulk(from, lane, head, body_len)
        }

        fn bulk_received(&mut self, from: Peer, lane: Lane) {
            self.0.bulk_received(from, lane);
        }

        fn bulk_sent(&mut self, _: BulkToken) {}

        fn writable(&mut self, _: Peer, _: Lane) {}

        fn failed(&mut self, _: Peer, _: Failure) {}
    }

    /// A collective without an end.
    struct Endless;

    impl CollectiveStep for Endless {
        fn step(&self) -> bool {
            false
        }
    }

    #[test]
    fn a_message_that_ends_is_due_to_collectives_alone() {
        let net = SimNet::virtual_time(2, SimConfig::default(), Latency::default(), 1);
        let mut channels = [0, 1].map(|me| net.channel(Peer(me)));
        let messengers = [0, 1].map(|me| Messenger::new(Peer(me), 2, &MessageConfig::default()));
        let started = Arc::new(StartedCollectives::default());
        let mut sender = messengers[0].upper();
        let mut receiver = RuntimeUpper::new(messengers[1].upper(), Arc::clone(&started));
        for is_running in [false, true] {
            let mut receive = messengers[1].begin_receive(SCOPE, Some(Peer(0)), Some(1), 8).unwrap();
            drop(messengers[0].begin_send(Peer(1), SCOPE, 1, vec![7]).unwrap());
            if is_running {
                started.push(Arc::new(Endless));
            }
            receiver.advance(&mut channels[1]);
            let mut rounds = 0;
            let end = loop {
                sender.advance(&mut channels[0]);
                for channel in &mut channels {
                    let _ = channel.poll(&mut Desk(&mut receiver), Budget { packets: 8, bytes: 1 << 20 });
                }
                if let Some(end) = receive.test() {
                    break end;
                }
                net.advance();
                rounds += 1;
                assert!(rounds < 100, "the message never came");
            };
            assert_eq!(end.unwrap().data, Some(vec![7]));
            assert_eq!((receiver.is_due(), receiver.wants_advance()), (is_running, is_running));
        }
    }
}
