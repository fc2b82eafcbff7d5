//! A duel: one honest rank, and a villain on its node that answers what it is asked.

use super::arena::create;
use super::forge::Packet;
use super::villain::{Attempt, Lent, Villain};
use crate::world::Setup;
use rma_ch_sim::{Latency, SimNet};
use rma_core::Engine;
use rma_core::channel::{Channel, Lane};
use rma_core::epoch::{Assert, LockKind};
use rma_core::error::Result;
use rma_core::host::{Group, Host};
use rma_core::ids::{Peer, Rank};
use rma_core::mem::WriteSpan;
use rma_core::progress::NoUpper;
use rma_core::window::{Window, WindowSpec};
use rma_core::wire::{Request, Response, ResponseFlags, ResponseKind};
use std::sync::Arc;

const ROUNDS: u32 = 1000;

/// The honest rank is rank 0, the villain rank 1, whose lock rank 0 holds.
#[derive(Debug)]
pub struct Duel {
    net: SimNet,
    engine: Engine,
    villain: Villain,
    answered: usize,
    /// Of memory that is not shared; the ranks have windows of this many bytes.
    pub window: Window,
}

impl Duel {
    /// Makes the window of the honest rank's `memory`, which lasts longer.
    ///
    /// # Panics
    /// When it cannot be made.
    pub fn new(setup: &Setup, memory: WriteSpan) -> Self {
        let net = SimNet::virtual_time(2, setup.sim.clone(), Latency::default(), 1);
        let lent = Lent::new(net.channel(Peer(1)));
        let body = (0..=255).cycle().take(4096).collect();
        let villain = Villain::new(Peer(1), lent.clone(), body);
        let channels: [Box<dyn Channel>; 2] = [Box::new(net.channel(Peer(0))), Box::new(lent)];
        let engines = channels.into_iter().zip(0..).map(|(channel, me)| {
            let host = Arc::new(net.host(Peer(me))) as Arc<dyn Host>;
            Engine::new(setup.engine.clone(), channel, host, Box::new(NoUpper)).expect("engine")
        });
        let mut engines: Vec<Engine> = engines.collect();
        let spec = |_| WindowSpec::Create { memory, unit: 1 };
        let group = |me| Group::strided(0, Rank(me), Peer(0), 1, 2);
        let window = create(&net, &engines, spec, group).swap_remove(0);
        window.lock(LockKind::Shared, Rank(1), Assert::NONE).expect("the lock is free");
        Self { net, engine: engines.swap_remove(0), villain, answered: 0, window }
    }

    /// The next request of the honest rank.
    ///
    /// # Panics
    /// When there is none.
    pub fn request(&mut self) -> Request {
        for _ in 0..ROUNDS {
            self.step();
            if let Some(request) = self.villain.requests().get(self.answered) {
                self.answered += 1;
                return request.clone();
            }
        }
        panic!("the honest rank asks for nothing");
    }

    /// Answers a request with so many bytes, as if they were what it asks for.
    ///
    /// # Panics
    /// When there is no room.
    pub fn answer(&mut self, request: &Request, len: usize, is_bulk: bool) {
        let to = request.kind.reply_to().expect("a request for data");
        let response = Response {
            window: request.window,
            flags: ResponseFlags::NONE,
            sequence: request.sequence,
            kind: ResponseKind::Data { to },
        };
        let mut bytes = response.emit().to_vec();
        bytes.extend((0..if is_bulk { 0 } else { len }).map(|at| at as u8));
        let packet = Packet { lane: Lane::Response, bytes, body_len: if is_bulk { len } else { 0 } };
        assert_eq!(self.villain.send(Peer(0), &packet), Attempt::Sent);
    }

    /// Lets time pass.
    ///
    /// # Panics
    /// When the engine's counts are wrong.
    pub fn step(&mut self) {
        self.engine.poll();
        self.engine.check_invariants().expect("the honest rank's counts");
        self.villain.poll();
        self.net.advance();
    }

    /// Flushes.
    ///
    /// # Errors
    /// Those of the flush.
    ///
    /// # Panics
    /// When it does not end.
    pub fn flush(&mut self) -> Result<()> {
        let mut flush = self.window.begin_flush(Rank(1))?;
        for _ in 0..ROUNDS {
            if self.window.poll_sync(&mut flush)? {
                return Ok(());
            }
            self.step();
        }
        panic!("the flush does not end");
    }
}
