//! Which epochs are open, as far as an observer knows: the difference to what a window says now is the next
//! event.
//!
//! Nothing in the protocols says "an epoch opens": they change states. So after every step of a
//! synchronization call this compares, and no protocol can forget to report. Invariant: every epoch reported
//! as opened is reported as ended, at the latest when its window goes.

use super::event::Event;
use crate::epoch::{Call, Epoch, RankLock};
use crate::ids::{Rank, WindowId};
use crate::state::WindowState;
use std::collections::{BTreeMap, HashMap};

/// The open epochs of all windows.
#[derive(Debug, Default)]
pub(super) struct Epochs {
    windows: HashMap<WindowId, Open>,
    /// Epochs reported so far.
    reported: u64,
}

/// The open epochs of one window.
#[derive(Debug, Default)]
struct Open {
    /// The epoch of fence, start or lock_all.
    access: Option<Reported>,
    /// The epoch of post.
    exposure: Option<Reported>,
    /// Single locks.
    locks: BTreeMap<Rank, u64>,
}

#[derive(Clone, Copy, Debug)]
struct Reported {
    id: u64,
    kind: &'static str,
    /// The window's number of the epoch instance.
    number: u64,
}

impl Epochs {
    /// Reports what has changed in a window since the last look, after a step of `call`.
    pub(super) fn look(&mut self, window: &WindowState, call: Call, report: &mut dyn FnMut(Event<'static>)) {
        let id = window.shared.id;
        let Self { windows, reported } = self;
        let open = windows.entry(id).or_default();
        let access = match window.access().epoch() {
            // Single locks are epochs of their own, one for each rank.
            Epoch::Unset | Epoch::PerTarget => None,
            epoch => Some((epoch.opened_by(), window.epoch.number())),
        };
        let exposure = window.is_exposed().then(|| ("post", window.shared.active.exposure.number()));
        for (known, now) in [(&mut open.access, access), (&mut open.exposure, exposure)] {
            if known.map(|known| known.number) == now.map(|(_, number)| number) {
                continue;
            }
            if let Some(Reported { id: epoch, kind, .. }) = known.take() {
                report(Event::EpochClose { id: epoch, window: id, kind, target: None });
            }
            *known = now.map(|(kind, number)| {
                *reported += 1;
                report(Event::EpochOpen { id: *reported, window: id, kind, target: None });
                Reported { id: *reported, kind, number }
            });
        }
        if let Call::Lock(rank) | Call::Unlock(rank) = call {
            let (kind, target) = ("lock", Some(rank));
            match (window.lock_for(call), open.locks.get(&rank).copied()) {
                (RankLock::Held, None) => {
                    *reported += 1;
                    open.locks.insert(rank, *reported);
                    report(Event::EpochOpen { id: *reported, window: id, kind, target });
                }
                (RankLock::No, Some(epoch)) => {
                    open.locks.remove(&rank);
                    report(Event::EpochClose { id: epoch, window: id, kind, target });
                }
                (RankLock::Held | RankLock::Changing, _) | (RankLock::No, None) => {}
            }
        }
    }

    /// Ends the epochs of a window that is gone.
    pub(super) fn forget(&mut self, window: WindowId, report: &mut dyn FnMut(Event<'static>)) {
        let Some(open) = self.windows.remove(&window) else { return };
        for Reported { id, kind, .. } in [open.access, open.exposure].into_iter().flatten() {
            report(Event::EpochClose { id, window, kind, target: None });
        }
        for (rank, id) in open.locks {
            report(Event::EpochClose { id, window, kind: "lock", target: Some(rank) });
        }
    }
}
