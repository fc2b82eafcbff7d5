//! A lone fetch: the one operation that waits for data, in a few words instead of an element of the pool.
//!
//! Most programs that fetch a value want it before they go on: they get, and flush. Nothing rides on the request but what it is, and
//! its reply says that it is complete. So where nothing has to be asked for besides, no lock and no release, the request leaves within
//! the call, and all that is left of the operation is where the reply goes. That stays with the window until the reply has come.
//!
//! So it is for ranks of the node whose lock is a word ([`crate::window`], `near.rs`). Elsewhere an operation is held back, so that the
//! release of the lock rides on it.
//!
//! Invariants: there is one in a window at most; its target has an element, which counts it among its requests for data
//! ([`Target::awaits`](crate::table::Target)) and stays until the reply has come or the target is lost; it is the newest operation that
//! has left when it leaves. Replies name it by [`REPLY_TO`], which no element has.

use super::send::{Outbox, Sent};
use crate::channel::{Lane, Source};
use crate::ids::{Disp, Rank, RequestId, Sequence};
use crate::mem::WriteSpan;
use crate::pool::PoolKey;
use crate::progress::{Core, Pools, State};
use crate::window::{Shared, WindowState};
use crate::wire::{Request, RequestFlags, RequestKind};

/// Whom replies to lone fetches name: generation 0 is never given out.
pub(crate) const REPLY_TO: RequestId = RequestId { index: 0, generation: 0 };

/// The fetch of a window that waits for its reply.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoneFetch {
    pub(super) target: PoolKey,
    pub(super) sequence: Sequence,
    /// Its place among the operations of its target.
    pub(super) order: u64,
    pub(super) result: WriteSpan,
    /// The channel is storing the reply.
    is_receiving: bool,
}

/// Sends a request for data, if nothing goes before it to its rank and nothing needs it to be an operation; says whether it has. `kind`
/// is that of the request, at `disp` and for [`REPLY_TO`].
pub(crate) fn send(
    core: &mut Core,
    shared: &Shared,
    (rank, disp): (Rank, Disp),
    result: WriteSpan,
    kind: RequestKind,
    data: &[u8],
) -> bool {
    let State { windows, pools, config, lost, by_channel, .. } = &mut core.state;
    if !lost.is_empty() || result.is_empty() || shared.start_of(disp, result.len()).is_none() {
        return false;
    }
    if matches!(kind, RequestKind::GetAccumulate { .. }) && result.len() as u64 > config.unit_bytes {
        return false;
    }
    let is_first =
        |window: &&mut WindowState| window.lone.is_none() && window.lone_fetch.is_none() && !window.dirty;
    let Some(window) = windows.calm(shared.id, rank).filter(is_first) else { return false };
    let Some(key) = window.table.find(&pools.targets, rank) else { return false };
    let target = &mut pools.targets[key];
    if !target.pending.is_empty() || target.fetching >= config.credits || !shared.may_send_to_neighbor(rank) {
        return false;
    }
    let sequence = Sequence(target.sent.0 + 1);
    let request = Request { window: shared.id, flags: RequestFlags::NONE, sequence, kind };
    let mut outbox = Outbox { channel: &mut *core.channel, counters: &mut window.counters, by_channel };
    if outbox.small(target.peer, Lane::Request, &request.emit(), Source::Bytes(data)) != Sent::Yes {
        return false;
    }
    let order = target.on_lone_fetch();
    window.counters.on_ops_queued(1);
    window.counters.on_ops_issued(1);
    window.lone_fetch = Some(LoneFetch { target: key, sequence, order, result, is_receiving: false });
    true
}

impl LoneFetch {
    /// Whether the fetch of a window waits for this reply, with this many bytes; those of an error are not known.
    ///
    /// # Errors
    /// A reason for a refusal.
    pub(super) fn of(
        window: &WindowState,
        target: PoolKey,
        sequence: Sequence,
        len: Option<u64>,
    ) -> Result<Self, &'static str> {
        let fetch = window.lone_fetch.filter(|fetch| fetch.target == target && fetch.sequence == sequence);
        let fetch = fetch.ok_or("data for an operation that does not wait for it")?;
        match len {
            _ if fetch.is_receiving => Err("data for an operation that is receiving its data"),
            Some(len) if len != fetch.result.len() as u64 => Err("data of another length than was asked for"),
            Some(_) | None => Ok(fetch),
        }
    }

    /// Where the channel is to store the reply; [`LoneFetch::on_stored`] follows.
    ///
    /// # Errors
    /// A reason for a refusal.
    pub(super) fn place(
        window: &mut WindowState,
        target: PoolKey,
        sequence: Sequence,
        len: u64,
    ) -> Result<WriteSpan, &'static str> {
        let fetch = Self::of(window, target, sequence, Some(len))?;
        window.lone_fetch = Some(Self { is_receiving: true, ..fetch });
        Ok(fetch.result)
    }

    /// The channel has stored the reply.
    pub(super) fn on_stored(window: &mut WindowState, pools: &mut Pools) {
        if let Some(fetch) = window.lone_fetch.filter(|fetch| fetch.is_receiving) {
            fetch.end(window, pools);
        }
    }

    /// Whether it waits for the target of this element.
    pub(super) fn is_to(&self, target: PoolKey) -> bool {
        self.target == target
    }

    /// Ends it: the reply has come.
    pub(super) fn end(self, window: &mut WindowState, pools: &mut Pools) {
        window.lone_fetch = None;
        pools.targets[self.target].on_lone_data(self.order);
    }

    /// Recomputes what holds for a lone fetch; for tests.
    ///
    /// # Errors
    /// A sentence about what does not.
    pub(crate) fn invariants(&self, pools: &Pools) -> Result<(), String> {
        let target = pools.targets.get(self.target);
        let is_it = |target: &&crate::table::Target| {
            target.awaits == Some(self.order)
                && self.sequence <= target.sent
                && self.order <= target.issued_to
        };
        match target.filter(is_it) {
            Some(_) => Ok(()),
            None => Err(format!("nobody knows of the lone fetch {self:?}")),
        }
    }
}
