//! Window memory that is reached without its owner's code: the keys of this window's targets, and this process's own exposure.
//!
//! A key is asked for at the first operation that could be a transfer, and until it comes such operations are
//! packets. Keys are kept for targets in use, `RMA_REMOTE_KEYS` at most, and are forgotten in favour of
//! others. They hold for the life of the window: memory of a window that is not dynamic stays where it is.

use super::{Flavor, Held, OutOfRange, Pools, State, WindowState};
use crate::channel::{Channel, Exposure, RemoteKey, RemotePlace, TransferLimits, Withdrawal};
use crate::config::EngineConfig;
use crate::ids::{Peer, Rank, WindowId};
use crate::table::{OpArea, OpKind, Operation};
use crate::wire::ResponseKind;
use std::collections::BTreeMap;

/// What a window knows of memory that is reached without its owner.
#[derive(Default)]
pub(crate) struct RemoteAccess {
    /// Whether operations may be transfers at all.
    is_offered: bool,
    targets: BTreeMap<Rank, Known>,
    most: usize,
    /// Shortest transfer, if the program says it; 0 if the channel does.
    from: usize,
    own: Own,
}

/// What is known of a target.
enum Known {
    Asked(TransferLimits),
    /// It exposes nothing.
    Closed,
    Open(RemoteWindow),
}

/// The exposure of this process's memory.
#[derive(Default)]
enum Own {
    /// No peer has asked for a key.
    #[default]
    Unasked,
    Refused,
    Exposed(Exposure),
}

/// The window memory of a target that has sent its key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RemoteWindow {
    key: RemoteKey,
    size: u64,
    unit: u64,
    limits: TransferLimits,
}

/// What the epoch makes of puts that are packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Puts {
    Acknowledged,
    /// Those of fence and start: a transfer has to be waited for, a packet has not.
    Unacknowledged,
}

/// What a target has sent of its memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RemoteAnswer {
    pub(crate) key: RemoteKey,
    pub(crate) size: u64,
    pub(crate) unit: u64,
}

impl RemoteAccess {
    /// What a new window begins with.
    pub(crate) fn new(config: &EngineConfig, channel: &mut dyn Channel, flavor: Flavor) -> Self {
        let is_offered = flavor != Flavor::Dynamic && channel.remote_memory().is_some();
        let from = config.transfer_from as usize;
        Self { is_offered, most: config.remote_keys as usize, from, ..Self::default() }
    }

    /// Whether operations may be transfers at all.
    #[inline]
    pub(crate) fn is_offered(&self) -> bool {
        self.is_offered
    }

    /// The memory of a target, if its key is here.
    pub(crate) fn of(&self, rank: Rank) -> Option<&RemoteWindow> {
        match self.targets.get(&rank)? {
            Known::Open(window) => Some(window),
            Known::Asked(_) | Known::Closed => None,
        }
    }

    /// The limits of transfers to a target, as far as the program leaves them to the channel.
    pub(crate) fn limits(&self, channel: &dyn Channel, peer: Peer) -> Option<TransferLimits> {
        let limits = channel.transfers(peer)?;
        Some(match self.from {
            0 => limits,
            from => TransferLimits { write_from: from, unacknowledged_from: from, read_from: from, ..limits },
        })
    }

    /// Whether to ask a target for its key now.
    pub(crate) fn may_ask(&mut self, rank: Rank) -> bool {
        if self.targets.contains_key(&rank) {
            return false;
        }
        if self.targets.len() >= self.most {
            let is_known = |known: &Known| !matches!(known, Known::Asked(_));
            let other = self.targets.iter().find(|(_, known)| is_known(known)).map(|(rank, _)| *rank);
            other.and_then(|rank| self.targets.remove(&rank));
        }
        self.targets.len() < self.most
    }

    /// A target has been asked for its key.
    pub(crate) fn on_asked(&mut self, rank: Rank, limits: TransferLimits) {
        self.targets.insert(rank, Known::Asked(limits));
    }

    /// A target has answered.
    ///
    /// # Errors
    /// When it was not asked.
    pub(crate) fn on_answer(&mut self, rank: Rank, answer: RemoteAnswer) -> Result<(), &'static str> {
        let RemoteAnswer { key, size, unit } = answer;
        match self.targets.get_mut(&rank) {
            Some(known @ &mut Known::Asked(limits)) => {
                let window = RemoteWindow { key, size, unit, limits };
                *known = if size > 0 { Known::Open(window) } else { Known::Closed };
                Ok(())
            }
            _ => Err("a key that was not asked for"),
        }
    }

    /// A target exposes its memory no more.
    pub(crate) fn on_closed(&mut self, rank: Rank) {
        self.targets.insert(rank, Known::Closed);
    }
}

impl RemoteWindow {
    /// Whether an operation is worth being transfers, and lies within the memory: what does not is the target's to refuse.
    pub(crate) fn takes(&self, op: &Operation, puts: Puts) -> bool {
        is_worth(&self.limits, op, puts) && self.first(op).is_some()
    }

    /// Bytes of the memory before byte 0 of the operation's area, if all of that lies within.
    fn first(&self, op: &Operation) -> Option<u64> {
        let start = op.disp.0.checked_mul(self.unit)?;
        let (low, high) = match op.area() {
            OpArea::Run(offset) => (i128::from(offset), i128::from(offset) + i128::from(op.len)),
            OpArea::Shape(layout) => {
                let (low, high) = layout.bounds();
                (low.into(), high.into())
            }
        };
        let is_inside = i128::from(start) + low >= 0 && i128::from(start) + high <= self.size.into();
        is_inside.then_some(start)
    }

    /// Where the next bytes of the operation lie, and how many side by side; at most the longest transfer has.
    pub(crate) fn next_run(&self, op: &Operation) -> Option<(RemotePlace, u64)> {
        let start = self.first(op)?;
        let (offset, len) = match op.area() {
            OpArea::Run(offset) => (start + offset + op.sent, op.len - op.sent),
            OpArea::Shape(layout) => {
                let mut rest = layout.segments();
                rest.advance(op.sent);
                let run = rest.peek()?;
                (start.checked_add_signed(run.offset)?, run.len)
            }
        };
        Some((RemotePlace { key: self.key, offset }, len.min(self.limits.longest as u64)))
    }
}

/// Whether runs are long enough, on average at the target, the first one at the origin, to be worth a transfer each.
pub(crate) fn is_worth(limits: &TransferLimits, op: &Operation, puts: Puts) -> bool {
    let from = match op.kind {
        OpKind::Put => puts.from(limits),
        OpKind::Get => limits.read_from,
        _ => return false,
    };
    let runs = match op.area() {
        OpArea::Run(_) => 1,
        OpArea::Shape(layout) => layout.runs().max(1),
    };
    op.len / runs >= from as u64 && op.next_buffer_run() >= from as u64
}

impl Puts {
    /// Shortest put that is to be transfers.
    fn from(self, limits: &TransferLimits) -> usize {
        match self {
            Self::Acknowledged => limits.write_from,
            Self::Unacknowledged => limits.unacknowledged_from,
        }
    }
}

impl WindowState {
    /// Whether a contiguous store of so many bytes is to be a transfer.
    #[inline]
    pub(crate) fn transfers_store(&self, rank: Rank, len: usize) -> bool {
        let remote = &self.remote;
        remote.is_offered && remote.of(rank).is_some_and(|window| len >= self.puts().from(&window.limits))
    }

    /// Whether an operation is to be a transfer.
    #[inline]
    pub(crate) fn transfers(&self, rank: Rank, op: &Operation) -> bool {
        self.remote.is_offered && self.remote.of(rank).is_some_and(|window| window.takes(op, self.puts()))
    }

    /// What the open epoch makes of puts.
    pub(crate) fn puts(&self) -> Puts {
        let epoch = self.access().epoch();
        let is_active = epoch.is_fence_or_unset() || epoch.is_pscw();
        if is_active { Puts::Unacknowledged } else { Puts::Acknowledged }
    }

    /// The answer to a peer that asks for the key of this process's memory, which is exposed when the first
    /// one does.
    pub(crate) fn expose_to(&mut self, channel: &mut dyn Channel, peer: Peer) -> ResponseKind {
        let none = ResponseKind::Key { key: 0, base: 0, size: 0, unit: 0 };
        if self.check_memory().is_err() || !self.remote.is_offered {
            return none;
        }
        let (span, unit) = (self.shared.own().span, self.shared.own().scale.unit());
        let Some(memory) = channel.remote_memory() else { return none };
        if matches!(self.remote.own, Own::Unasked) {
            // SAFETY: the memory stays until the window ends or the program frees it; both withdraw it first,
            // and keep its holder until then ([`State::withdraw`]).
            let exposed = if span.is_empty() { None } else { unsafe { memory.expose(span) }.ok() };
            self.remote.own = exposed.map_or(Own::Refused, Own::Exposed);
        }
        let Own::Exposed(exposure) = self.remote.own else { return none };
        match memory.key(exposure, peer) {
            Some(RemoteKey { key, base }) => ResponseKind::Key { key, base, size: span.len() as u64, unit },
            None => none,
        }
    }

    /// Whether transfers read or write buffers of the program's.
    pub(crate) fn has_transfers(&self, pools: &Pools) -> bool {
        self.table.keys(&pools.targets).into_iter().any(|key| pools.targets[key].transfers > 0)
    }

    /// A transfer was refused: its target has freed the window since it sent the key.
    pub(crate) fn on_refused(&mut self, rank: Rank) {
        self.remote.on_closed(rank);
        self.note_error(OutOfRange::LEFT.into_error("flush", rank));
    }
}

impl State {
    /// Notes that the memory of a window is no more to be reached by peers: before the program has it back, or it is unmapped.
    pub(crate) fn withdraw(&mut self, window: &mut WindowState) {
        if let Own::Exposed(exposure) = std::mem::replace(&mut window.remote.own, Own::Refused) {
            let (window, is_idle, memory) = (window.shared.id, !window.has_left(), window.shared.hold());
            self.withdrawn.push(Withdrawn { exposure, window, is_idle, _memory: memory });
        }
    }

    /// Takes back from the channel what peers are to reach no more.
    #[inline]
    pub(crate) fn withdraw_all(&mut self, channel: &mut dyn Channel) {
        if !self.withdrawn.is_empty() {
            self.go_on_withdrawing(channel);
        }
    }

    #[cold]
    fn go_on_withdrawing(&mut self, channel: &mut dyn Channel) {
        let Some(memory) = channel.remote_memory() else { return self.withdrawn.clear() };
        self.withdrawn.retain(|of| memory.withdraw(of.exposure, of.is_idle) == Withdrawal::Pending);
    }

    /// Whether peers may reach memory that a window had: it is not yet the program's again.
    pub(crate) fn is_reached(&mut self, window: WindowId, channel: &mut dyn Channel) -> bool {
        self.withdraw_all(channel);
        self.is_withdrawing(window)
    }

    /// The same, as the last step has found it.
    pub(crate) fn is_withdrawing(&self, window: WindowId) -> bool {
        self.withdrawn.iter().any(|of| of.window == window)
    }
}

/// An exposure that is to end.
pub(crate) struct Withdrawn {
    exposure: Exposure,
    window: WindowId,
    /// Its ranks have left the window together: no transfer is under way.
    is_idle: bool,
    /// Keeps the memory until then.
    _memory: Held,
}
