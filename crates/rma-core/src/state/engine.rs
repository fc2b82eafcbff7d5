//! The engine's state under its lock: parts with owners of their own, put side by side.

use super::{ByChannel, Incoming, Replies, ReplyBody, Withdrawn};
use crate::channel::{Failure, Lane};
use crate::config::EngineConfig;
use crate::host::Host;
use crate::ids::{Peer, WindowId};
use crate::pool::{GlobalPool, PoolKey};
use crate::stats::Counters;
use crate::table::{OpPool, TargetPool};
use crate::wire::Response;
use slab::Slab;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// Everything that the engine's lock protects, but for the windows, the channel and the protocol above.
pub(crate) struct State {
    pub(crate) config: EngineConfig,
    pub(crate) host: Arc<dyn Host>,
    pub(crate) pools: Pools,
    pub(crate) replies: Replies,
    /// Bulk bodies being received: at most one per peer and lane (clause C1).
    pub(crate) receiving: HashMap<(Peer, Lane), Receiving>,
    /// Bulk bodies being sent, by token.
    pub(crate) bulks: Bulks,
    /// Processes to be woken to look at a lock again.
    pub(crate) wake_ups: Vec<Peer>,
    pub(crate) lost: HashMap<Peer, Failure>,
    /// Processes that seem to have ended.
    pub(crate) suspicion: Suspicion,
    /// What was done for no window, and for windows that are gone; live windows have theirs.
    pub(crate) counters: Counters,
    pub(crate) by_channel: ByChannel,
    /// When a request beside the line of a lock is to be tried again, at the earliest; see [`State::look_again_by`].
    pub(crate) look_at: Option<Duration>,
    /// The process's part in the job is over: nothing comes any more.
    pub(crate) has_left: bool,
    /// The asking thread looks again before it sleeps, so it need not be woken yet.
    pub(crate) is_spinning: bool,
    /// Since a step has sent, a call has begun something, or a poll has notified a thread that may have
    /// something to send.
    pub(crate) needs_step: bool,
    /// A pack has been followed by another: it takes no more stores, and may leave at once.
    pub(crate) is_pack_full: bool,
    /// A call has done what other threads of this process may wait for, and no step will notify them.
    pub(crate) must_notify: bool,
    /// Exposed memory that peers are to reach no more.
    pub(crate) withdrawn: Vec<Withdrawn>,
    /// Ranks that have left windows that may be being made here.
    pub(crate) early: Vec<(WindowId, Peer)>,
}

/// Which processes seem to have ended.
#[derive(Debug, Default)]
pub(crate) struct Suspicion {
    /// Those that have ended, and that no channel has been asked about.
    pub(crate) suspects: Vec<Peer>,
    /// It was woken since it asked last.
    pub(crate) was_woken: bool,
    pub(crate) asked: Option<Duration>,
}

impl Suspicion {
    /// Another process has woken this one.
    pub(crate) fn on_woken(&mut self) {
        self.was_woken = true;
    }
}

/// The two element pools of the design note.
pub(crate) struct Pools {
    pub(crate) ops: OpPool,
    pub(crate) targets: TargetPool,
}

/// Bulk bodies being sent: the token is the key.
pub(crate) type Bulks = Slab<BulkOwner>;

/// What waits for a bulk body to have left.
pub(crate) enum BulkOwner {
    /// An operation of the origin.
    Operation { window: WindowId, target: PoolKey, op: PoolKey },
    /// An operation of the origin, of which this is no body but a transfer.
    Transfer { window: WindowId, target: PoolKey, op: PoolKey },
    /// A reply of the target, which keeps its memory.
    Reply { window: WindowId, to: Peer, memory: ReplyBody },
}

/// Whose bulk body is being received.
pub(crate) enum Receiving {
    /// A request's; the target's memory or a staging buffer.
    Request(Box<Incoming>),
    /// A response's; the user's buffer of an operation.
    Data { response: Response, op: PoolKey },
    /// One of the protocol above.
    Upper,
}

impl State {
    /// Whether the body of an answer to an operation of the window is being received.
    pub(crate) fn is_receiving_data(&self, id: WindowId) -> bool {
        let is_of = |receiving: &Receiving| match receiving {
            Receiving::Data { response, .. } => response.window == id,
            _ => false,
        };
        self.receiving.values().any(is_of)
    }

    /// No waiting thread sleeps past this time of the host: something has to be tried again then, without a
    /// wake.
    pub(crate) fn look_again_by(&mut self, at: Option<Duration>) {
        self.look_at = [self.look_at, at].into_iter().flatten().min();
    }

    /// Forgets the time if it has come; a request that is not served then sets another.
    pub(crate) fn forget_past(&mut self) {
        self.look_at = self.look_at.filter(|at| self.host.now() < *at);
    }

    pub(crate) fn new(config: EngineConfig, host: Arc<dyn Host>) -> Self {
        Self {
            host,
            pools: Pools {
                ops: GlobalPool::new(config.op_pool_global as u32),
                targets: GlobalPool::new(config.target_pool_global as u32),
            },
            replies: Replies::default(),
            receiving: HashMap::new(),
            bulks: Slab::new(),
            wake_ups: Vec::new(),
            look_at: None,
            lost: HashMap::new(),
            suspicion: Suspicion::default(),
            counters: Counters::default(),
            by_channel: ByChannel::default(),
            has_left: false,
            is_spinning: false,
            must_notify: false,
            needs_step: false,
            is_pack_full: false,
            early: Vec::new(),
            withdrawn: Vec::new(),
            config,
        }
    }
}
