//! Windows that their ranks do not leave together: those whose release has failed because a rank is dead, and revoked ones.
//!
//! A rank that has left such a window keeps a *ghost* of it in the table: the window without the program. It goes on as a target, since
//! ranks that have not left may still send to it: locks are granted and passed on, memory of the library is read and written, everything
//! is answered. Memory of the program may be gone, and an access to it gets an error. Calls of the program find no window.
//!
//! A ghost ends when no rank that lives can use the window any more. The lowest rank that lives gathers that:
//!
//! ```text
//!   rank 0: has left                  rank 1: has left          rank 2: is in the window     rank 3: is dead
//!            ◀──────────────── left ──
//!            ── left ───────────────▶
//!            ── left ─────────────────────────────────────────▶ notes that rank 0 has left
//!            ◀────────────────────────────────────────── left ── leaves the window
//!   all that live have left: the ghost ends
//!            ── over ───────────────▶ ends
//!            ── over ─────────────────────────────────────────▶ ends
//! ```
//!
//! A rank that has no such window any more answers "left" with "over": either all ranks came to the meeting in which it has freed the
//! window, or all that live had left before, or it could not make its part, and no rank has got the window. One that dies is not waited
//! for, and the next rank gathers in its place. So until it is over nothing is kept but the ranks that have said "left": two packets to
//! each rank. An index is not free for other windows before its ghost has ended.
//!
//! Answers, and requests without an answer, may come to a rank where the window is over, and another has its
//! index: they went another way than "over", and nothing waits for them ([`Windows::has_been`](crate::state::Windows::has_been)).
//!
//! **Revoked**: a rank that learns of it notifies all others first, then ends its operations, but for those
//! whose buffers a channel has in hand. All calls fail from then on; locks that are held stay so until the window is freed, which is
//! local: they go back, behind the word of the revocation, and so do those that are granted later. A call without the engine's lock that
//! is under way when the word comes may open its epoch still; the call that ends that epoch fails.

use super::{StartSync, SyncStep};
use crate::channel::{Channel, Failure, Lane, Source};
use crate::control::{LockKind, Sleep};
use crate::epoch::{Epoch, LockStage, Stage};
use crate::error::{Error, Result};
use crate::ids::{Peer, Rank, Sequence, WindowId};
use crate::origin::lost::abandon_all;
use crate::state::{
    Lock, Opening, Outbox, Parting, Replies, Reply, ReplyBody, Rounds, Sent, Shared, Single, State,
    WindowState, Windows, gone, revoked,
};
use crate::target::locks;
use crate::wire::{Request, RequestFlags, RequestKind, Response, ResponseFlags, ResponseKind};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Most words about windows that may be being made here.
const MOST_EARLY: usize = 1 << 16;

/// What a step has come to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Came {
    /// Packets have left.
    pub(crate) moved: bool,
    /// No rank uses the window any more.
    pub(crate) is_over: bool,
}

impl State {
    /// The program has freed the window, but not together with all ranks. Gives the error not yet raised.
    pub(crate) fn leave_window(&mut self, windows: &mut Windows, id: WindowId) -> Option<Error> {
        let mut context = windows.borrow(self, id)?;
        let (state, window) = context.split();
        // Revocation is no error to the call that frees the window.
        let late = window.error.take().filter(|_| !window.is_revoked());
        window.close(gone("window"));
        window.parting.get_or_insert_default().has_left = true;
        if window.check_memory().is_err() {
            state.withdraw(window);
        }
        state.needs_step = true;
        late
    }

    /// A ghost ends: the ranks that have said "left" get "over", but for the one that has sent it.
    pub(crate) fn end_ghost(&mut self, windows: &mut Windows, id: WindowId, by: Option<Peer>) {
        self.notify_parting(windows, id, by);
        let _ = self.remove_window(windows, id);
    }

    /// Sends "over" to the ranks that have said "left".
    pub(crate) fn notify_parting(&mut self, windows: &mut Windows, id: WindowId, by: Option<Peer>) {
        let Some(window) = windows.get_mut(id) else { return };
        let Some(parting) = &mut window.parting else { return };
        let peers = std::mem::take(&mut parting.left).into_iter().map(|rank| window.shared.group.peer(rank));
        let living = peers.filter(|peer| !self.lost.contains_key(peer) && Some(*peer) != by);
        living.for_each(|peer| push_over(&mut self.replies, peer, id));
        self.needs_step = true;
    }

    /// A process says that it has left a window.
    ///
    /// # Errors
    /// When it is not in the window's group.
    pub(crate) fn on_left(
        &mut self,
        windows: &mut Windows,
        from: Peer,
        id: WindowId,
    ) -> Result<(), &'static str> {
        if let Some(window) = windows.get_mut(id) {
            let rank =
                window.shared.group.rank(from).ok_or("word of a process outside the window's group")?;
            window.on_left(rank);
            windows.note_active(id);
        } else if !windows.is_making() {
            push_over(&mut self.replies, from, id);
        } else if !self.early.contains(&(id, from)) {
            if self.early.len() >= MOST_EARLY {
                return Err("more words about the ends of windows than ranks make windows");
            }
            // It may be one that is being made here.
            self.early.push((id, from));
        }
        self.needs_step = true;
        Ok(())
    }

    /// Hears again what came while windows were being made.
    pub(crate) fn hear_early(&mut self, windows: &mut Windows) {
        for (id, from) in std::mem::take(&mut self.early) {
            let _refusal = self.on_left(windows, from, id);
        }
    }

    /// A process says that all have left a window.
    ///
    /// # Errors
    /// When this one has not.
    pub(crate) fn on_over(
        &mut self,
        windows: &mut Windows,
        from: Peer,
        id: WindowId,
    ) -> Result<(), &'static str> {
        match windows.get(id) {
            None => {}
            Some(window) if window.shared.group.rank(from).is_none() => {
                return Err("word of a process outside the window's group");
            }
            Some(window) if window.has_left() => self.end_ghost(windows, id, Some(from)),
            Some(_) => return Err("says that a window is over that is in use"),
        }
        Ok(())
    }

    /// The window was revoked, as the program or another process says.
    pub(crate) fn revoke(&mut self, window: &mut WindowState) {
        if window.is_revoked() {
            return;
        }
        let host = Arc::clone(&self.host);
        window.close(revoked("window"));
        window.parting.get_or_insert_default().is_revoked = true;
        for step in window.dropped.take_steps() {
            step.end(self, window);
        }
        window.shared.has_dropped.store(false, Relaxed);
        if let Some(Opening::Barrier(request)) = window.opening.take() {
            host.abandon(request);
        }
        window.rounds = Rounds::default();
        // Calls that wait on the window look again.
        (self.must_notify, self.needs_step) = (true, true);
    }

    /// Frees a revoked window as far as that can be done now; says whether it is a ghost.
    pub(crate) fn leave_revoked(&mut self, windows: &mut Windows, id: WindowId) -> bool {
        let Some(mut context) = windows.borrow(self, id) else { return true };
        let (state, window) = context.split();
        let are_ended = end_operations(state, window);
        let is_free = are_ended && window.target.receiving == 0 && !state.replies.owes(id, &state.bulks);
        if is_free {
            give_locks_back(state, window);
            window.close_exposure();
        }
        drop(context);
        if is_free {
            let _notified = self.leave_window(windows, id);
        }
        is_free
    }
}

/// Sends a process the word that all ranks have left a window.
pub(crate) fn push_over(replies: &mut Replies, to: Peer, window: WindowId) {
    let (flags, kind) = (ResponseFlags::NOTE, ResponseKind::Over);
    let over = Response { window, flags, sequence: Sequence(0), kind };
    replies.push(to, Reply::Packet(over, ReplyBody::None));
}

/// Ends the operations whose buffers no channel has in hand; answers whether none is left.
fn end_operations(state: &mut State, window: &mut WindowState) -> bool {
    let id = window.shared.id;
    !state.is_receiving_data(id) && abandon_all(window, &mut state.pools, &|| revoked("request"))
}

/// Gives up a call on a revoked window that is under way. What it has of a lock is given back with the others, or is the
/// engine's from here on.
pub(crate) fn give_up(step: SyncStep, state: &mut State, window: &mut WindowState) {
    let control = &window.shared.own().control;
    [Sleep::Fence, Sleep::Start, Sleep::Wait].into_iter().for_each(|call| control.set_awake(call));
    match step {
        SyncStep::Done
        | SyncStep::Revoked
        | SyncStep::Held
        | SyncStep::Flush(_)
        | SyncStep::FlushAll(_)
        | SyncStep::UnlockAll(_)
        | SyncStep::Complete(_)
        | SyncStep::Promised(_)
        | SyncStep::Wait(_) => {}
        SyncStep::Fence(fence) => fence.abandon(&*Arc::clone(&state.host)),
        SyncStep::Lock(lock) => lock.give_up(window),
        SyncStep::LockAll(mut lock) => lock.give_up(state, window),
        SyncStep::Unlock(mut unlock) => unlock.give_up(state, window),
        SyncStep::Start(_) => StartSync::give_up(window),
    }
}

/// Gives all locks back, at once on the node, and by packets elsewhere; those that are granted later follow.
fn give_locks_back(state: &mut State, window: &mut WindowState) {
    window.shared.access.own_settled();
    let shared = Arc::clone(&window.shared);
    for node_rank in shared.node_ranks() {
        let wake = shared.unlock(node_rank).flatten();
        locks::wake(&mut state.wake_ups, &mut state.counters, &shared, wake);
    }
    let (epoch, stage, is_unchecked) =
        (window.access().epoch(), window.access().stage(), window.access().is_unchecked());
    if epoch.is_lock_all() && stage == Stage::Opening {
        // The call that opens it gives up what it has when it looks again.
        return;
    }
    let is_checked = epoch.is_lock_all() && !is_unchecked;
    if is_checked {
        // The call that closes it began with the mapped targets.
        let has = |rank| stage == Stage::Open || shared.mapped(rank).is_none();
        for node_rank in shared.node_ranks().filter(|node_rank| has(node_rank.rank)) {
            let wake = node_rank.release(LockKind::Shared, shared.holder).ok().flatten();
            locks::wake(&mut state.wake_ups, &mut state.counters, &shared, wake);
        }
    }
    let mut releases: Vec<_> = match epoch {
        Epoch::LockAllGranted if is_checked => (0..shared.group.size()).map(Rank).collect(),
        _ => {
            let is_held = |lock: &Lock| lock.state == LockStage::Granted && !lock.no_check;
            window.epoch.locks().filter(|(_, lock)| is_held(lock)).map(|(rank, _)| rank).collect()
        }
    };
    releases.retain(|rank| shared.node_rank(*rank).is_none());
    window.parting.get_or_insert_default().releases.append(&mut releases);
    window.end_epoch();
}

/// Goes on with what a closed window has to do.
pub(crate) fn advance(state: &mut State, window: &mut WindowState, channel: &mut dyn Channel) -> Came {
    let Some(mut parting) = window.parting.take() else { return Came::default() };
    let is_ended = end_operations(state, window);
    let shared = Arc::clone(&window.shared);
    let mut outbox = Outbox { channel, counters: &mut window.counters, by_channel: &mut state.by_channel };
    let mut came = Came::default();
    let is_full = !parting.say_all(&shared, &state.lost, &mut outbox, &mut came);
    // A lock call that was under way may have come through.
    let is_changing = shared.node_ranks().any(|node_rank| node_rank.gate.single() == Single::Changing);
    shared.node_ranks().for_each(|node_rank| shared.access.bar(&node_rank.gate));
    window.needs_issue = is_full || (is_changing && !parting.has_left);
    came.is_over &= is_ended;
    window.parting = Some(parting);
    came
}

impl Parting {
    /// Says what there is to say, in the order in which it has to arrive; `false` when a channel has no room.
    fn say_all(
        &mut self,
        shared: &Shared,
        lost: &HashMap<Peer, Failure>,
        outbox: &mut Outbox<'_>,
        came: &mut Came,
    ) -> bool {
        let mut say = |rank: Rank, flags, kind| {
            let peer = shared.group.peer(rank);
            if rank == shared.group.me() || lost.contains_key(&peer) {
                return Sent::Lost;
            }
            let request = Request { window: shared.id, flags, sequence: Sequence(1), kind };
            let sent = outbox.small(peer, Lane::Request, &request.emit(), Source::Bytes(&[]));
            came.moved |= sent == Sent::Yes;
            sent
        };
        let size = shared.group.size();
        while self.is_revoked && self.next_to_warn < size {
            if say(Rank(self.next_to_warn), RequestFlags::NONE, RequestKind::Revoked) == Sent::Full {
                return false;
            }
            self.next_to_warn += 1;
        }
        while let Some(rank) = self.releases.last() {
            if say(*rank, RequestFlags::UNLOCK, RequestKind::Sync) == Sent::Full {
                return false;
            }
            self.releases.pop();
        }
        if !self.has_left {
            return true;
        }
        let me = shared.group.me();
        loop {
            let lives =
                |rank: &Rank| !self.away.contains(rank) && !lost.contains_key(&shared.group.peer(*rank));
            let Some(first) = (0..me.0).map(Rank).find(lives) else { break };
            if self.notified == Some(first) {
                return true;
            }
            match say(first, RequestFlags::NONE, RequestKind::Left) {
                Sent::Yes => self.notified = Some(first),
                Sent::Full => return false,
                Sent::Lost => {
                    self.away.insert(first);
                }
            }
        }
        while self.next_to_tell < size {
            let rank = Rank(self.next_to_tell);
            if !self.left.contains(&rank) && rank != me {
                match say(rank, RequestFlags::NONE, RequestKind::Left) {
                    Sent::Yes => {}
                    Sent::Full => return false,
                    Sent::Lost => {
                        self.away.insert(rank);
                    }
                }
            }
            self.next_to_tell += 1;
        }
        came.is_over = self.missing(shared, lost) == 0;
        true
    }

    /// How many ranks that live have not said that they have left.
    fn missing(&self, shared: &Shared, lost: &HashMap<Peer, Failure>) -> usize {
        let dead = lost.keys().filter_map(|peer| shared.group.rank(*peer));
        let away = self.away.iter().copied().filter(|rank| !lost.contains_key(&shared.group.peer(*rank)));
        let others = dead.chain(away).filter(|rank| !self.left.contains(rank)).count();
        shared.group.size() as usize - 1 - self.left.len() - others
    }
}
