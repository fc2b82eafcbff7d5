//! A synchronization call as a value, begun and not yet over; how calls are begun, polled and waited for.
//!
//! The fast path and the slow path differ in one thing: a call that only uses an open epoch ([`WindowState::only_uses`]) is legal, and
//! changes nothing that others know of the window, so both checks are left out.

use super::Window;
use super::dropped::GiveUpGuard;
use crate::channel::Channel;
use crate::epoch::Call;
use crate::error::Result;
use crate::ids::Rank;
use crate::progress::Core;
use crate::state::{State, WindowState, gone};
use crate::sync::{InLine, SyncStep, parting};
use std::cell::Cell;

/// A synchronization call under way: what `begin_…` gives and [`Window::poll_sync`](crate::window::Window::poll_sync) advances.
///
/// Dropped before it is over, a call that opens an epoch is undone, and one that ends an epoch, or a fence,
/// goes on by itself (`window/dropped.rs`). [`Sync::is_over`] says which of the two applies: a call that had
/// nothing to wait for is over when it is begun, and dropping it undoes nothing.
#[derive(Debug)]
#[must_use = "a synchronization call happens only while it is polled"]
pub struct Sync(pub(crate) SyncStep, pub(crate) Call, pub(crate) Option<GiveUpGuard>);

impl Sync {
    /// Whether the call is over.
    pub fn is_over(&self) -> bool {
        matches!(self.0, SyncStep::Held | SyncStep::Done)
    }

    /// Whether the call opens an access epoch.
    pub(crate) fn opens(&self) -> bool {
        matches!(self.0, SyncStep::Lock(_) | SyncStep::LockAll(_) | SyncStep::Start(_) | SyncStep::Held)
    }

    /// Whether what is waited for mostly comes in packets, and not in memory that is shared.
    pub(crate) fn waits_for_packets(&self) -> bool {
        use SyncStep::{Complete, Fence, Flush, FlushAll, Promised, Unlock, UnlockAll};
        match &self.0 {
            Fence(fence) => fence.is_by_packets(),
            Complete(complete) => complete.waits_for_post(),
            step => matches!(step, Flush(_) | FlushAll(_) | Promised(_) | Unlock(_) | UnlockAll(_)),
        }
    }
}

/// What a call is begun with.
pub(super) struct CallContext<'a> {
    pub(super) channel: &'a mut dyn Channel,
    pub(super) state: &'a mut State,
    pub(super) window: &'a mut WindowState,
    /// The call only uses an open epoch.
    pub(super) only_uses: bool,
}

pub(super) fn begin(
    handle: &Window,
    call: Call,
    name: &'static str,
    start: impl FnOnce(CallContext<'_>) -> Result<SyncStep>,
) -> Result<Sync> {
    handle.engine().with(|core| begin_in(handle, core, call, name, start))
}

/// Begins a call for locks, which first sees to those that were called for on other windows.
pub(super) fn begin_and_poll(
    handle: &Window,
    call: Call,
    name: &'static str,
    start: impl FnOnce(&mut State, &mut WindowState) -> Result<SyncStep>,
) -> Result<Sync> {
    handle.engine().with(|core| {
        let mut sync =
            begin_in(handle, core, call, name, |CallContext { state, window, .. }| start(state, window))?;
        advance(handle, core, &mut sync, name)?;
        Ok(sync)
    })
}

fn begin_in(
    handle: &Window,
    core: &mut Core,
    call: Call,
    name: &'static str,
    start: impl FnOnce(CallContext<'_>) -> Result<SyncStep>,
) -> Result<Sync> {
    let Core { channel, state, windows, .. } = core;
    // The fast path: in an epoch that the call can only use it is legal, and nothing changes but operations.
    if let Some(window) = windows.get_mut(handle.id()).filter(|window| window.only_uses(call)) {
        let step = start(CallContext { channel: &mut **channel, state, window, only_uses: true })?;
        handle.engine().observation().look_at_epochs(window, call);
        if window.is_active() {
            windows.note_active(handle.id());
        }
        return Ok(Sync(step, call, None));
    }
    state.needs_step = true;
    let Some(mut context) = windows.borrow(state, handle.id()) else { return Err(gone(name)) };
    let (state, window) = context.split();
    // Until the borrow ends no lock call slips in between the check and what follows.
    window.shared.access.own_settled();
    if window.is_revoked() && window.has_transfers(&state.pools) {
        // The call fails when the channel has given the caller's buffers back.
        return Ok(Sync(SyncStep::Revoked, call, None));
    }
    let started = window
        .check_open(name)
        .and_then(|()| window.check_dropped(name))
        .and_then(|()| window.check(&state.pools, call, name))
        .and_then(|()| start(CallContext { channel: &mut **channel, state, window, only_uses: false }));
    handle.engine().observation().look_at_epochs(window, call);
    started.map(|step| Sync(step, call, None))
}

pub(super) fn advance(handle: &Window, core: &mut Core, sync: &mut Sync, name: &'static str) -> Result<bool> {
    match look(handle, core, sync) {
        Some(is_over) => Ok(is_over),
        None => poll_step(handle, core, sync, name),
    }
}

/// Whether a call is over, by a look alone; `None` where it takes a poll, or something is to be raised.
#[inline]
fn look(handle: &Window, core: &Core, sync: &mut Sync) -> Option<bool> {
    let window = core.windows.get(handle.id())?;
    let is_over = sync.0.look(&core.state, window)?;
    if is_over {
        sync.0 = SyncStep::Done;
        handle.engine().observation().look_at_epochs(window, sync.1);
    }
    Some(is_over)
}

fn poll_step(handle: &Window, core: &mut Core, sync: &mut Sync, name: &'static str) -> Result<bool> {
    if sync.1.rank() == Some(Rank::NULL) {
        // No rank's errors either: those of other ranks stay for a call that is about them.
        return Ok(true);
    }
    let Core { channel, state, windows, .. } = core;
    sync.0.ask_elsewhere(windows, state, handle.id());
    let notifies_at_once = sync.0.notifies_at_once();
    // The fast path, as where a call begins.
    let is_over = if let Some(window) = windows.get_mut(handle.id()).filter(|window| sync.0.keeps(window)) {
        let is_over = poll_on(handle, &mut **channel, state, window, sync, name)?;
        if window.is_active() {
            windows.note_active(handle.id());
        }
        is_over
    } else {
        let Some(mut context) = windows.borrow(state, handle.id()) else { return Err(gone(name)) };
        let (state, window) = context.split();
        if matches!(sync.0, SyncStep::Lock(_)) {
            // It may have waited for other locks with this window open: no call slips in between.
            window.shared.access.own_settled();
        }
        if window.is_revoked() {
            if window.has_transfers(&state.pools) {
                return Ok(false);
            }
            parting::give_up(std::mem::replace(&mut sync.0, SyncStep::Done), state, window);
            state.needs_step = true;
            return window.check_open(name).map(|()| true);
        }
        poll_on(handle, &mut **channel, state, window, sync, name)?
    };
    // No step may follow: the caller computes, and others wait for the word of this call.
    if is_over && notifies_at_once && core.channel.keeps_packets() && !core.channel.is_quiet() {
        // What comes meanwhile may be what another thread waits for.
        core.state.must_notify |= core.flush();
    }
    Ok(is_over)
}

fn poll_on(
    handle: &Window,
    channel: &mut dyn Channel,
    state: &mut State,
    window: &mut WindowState,
    sync: &mut Sync,
    name: &'static str,
) -> Result<bool> {
    let needed_issue = std::mem::replace(&mut window.needs_issue, false);
    let over = sync.0.poll(channel, state, window, handle.engine().host());
    let over = match over {
        // Opening calls have raised what went wrong before they began.
        Ok(true) if sync.opens() => Ok(true),
        Ok(true) => window.raise(name).map(|()| true),
        other => other.map_err(|error| error.in_call(name)),
    };
    state.needs_step |= window.needs_issue;
    window.needs_issue |= needed_issue;
    if !matches!(over, Ok(false)) {
        sync.0 = SyncStep::Done;
    }
    handle.engine().observation().look_at_epochs(window, sync.1);
    over
}

/// Drives the engine until a synchronization call is over.
pub(super) fn finish(handle: &Window, name: &'static str, sync: &mut Sync) -> Result<()> {
    let (engine, id, call) = (handle.engine(), handle.id(), sync.1);
    let in_line = Cell::new(InLine::default());
    let describe = |core: &Core| engine.waits(core).of_call(id, call, in_line.get());
    let is_for_packets = sync.waits_for_packets();
    engine.wait_for(name, is_for_packets, &describe, &mut |core| {
        let is_over = advance(handle, core, sync, name)?;
        if !is_over && matches!(sync.0, SyncStep::Lock(_) | SyncStep::LockAll(_)) {
            in_line.set(sync.0.in_line());
        }
        Ok(is_over.then_some(()))
    })
}
