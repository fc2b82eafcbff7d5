//! What a synchronization call waits for: a sentence that explains why a rank does not go on.
//!
//! Read off the window's state when a wait has lasted long; nothing here is kept, and nothing decides by it.
//! Where a rank knows which ranks are missing the sentence names them; for a barrier of the host it names the
//! senders of the next message, which may be waiting themselves.

use crate::engine::Engine;
use crate::epoch::{Call, Caller, Epoch};
use crate::host::{Awaited, Group, Host};
use crate::ids::{Rank, WindowId};
use crate::progress::Core;
use crate::state::{Shared, WindowState, Windows};
use crate::sync::{InLine, absent, needs, needs_to_create, needs_to_free, unfinished};
use crate::trace::Observation;
use std::fmt::Write;

/// Most ranks that a sentence names.
const MOST_NAMED: usize = 8;

/// The ranks that have yet to come to a fence.
fn come(window: &WindowState) -> Option<String> {
    let absent = absent(window)?;
    (!absent.is_empty()).then(|| format!("{} to enter the fence", list(&absent)))
}

/// What a call that has begun on a window waits for.
pub(super) fn awaits(core: &Core, window: WindowId, call: Call, in_line: InLine, engine: &Engine) -> Awaited {
    let Core { state, windows, .. } = core;
    let name = engine.observation().describe_window(window);
    let Some(window) = windows.get(window) else { return name.into() };
    let text = format!("{} ({name})", waits_for(core, window, call, engine));
    let (needs, holds) = needs(state, windows, window, call, in_line, engine.observation());
    Awaited { text, needs, holds }
}

/// What a call that makes a window waits for, which was the process's `number`th.
pub(super) fn awaits_creation(core: &Core, group: &Group, number: u64, host: &dyn Host) -> Awaited {
    if core.windows.is_behind(number) {
        return "the creations of windows by other threads that come before this one".into();
    }
    let text = format!("all {} ranks to create a window{}", group.size(), behind(host));
    Awaited { text, needs: needs_to_create(group), holds: Vec::new() }
}

/// What a free call waits for.
pub(super) fn awaits_to_free(core: &Core, window: WindowId, engine: &Engine) -> Awaited {
    let name = engine.observation().describe_window(window);
    let window = core.windows.get(window);
    let text = format!("{} ({name})", waits_to_free(window, engine.host()));
    Awaited { text, needs: needs_to_free(window, engine.observation()), holds: Vec::new() }
}

/// The clause that fits behind "for".
fn waits_for(core: &Core, window: &WindowState, call: Call, engine: &Engine) -> String {
    let Core { state, windows, .. } = core;
    let shared = &window.shared;
    let unfinished = || unfinished(state, window);
    let answers = |ranks: Vec<Rank>| match ranks.is_empty() {
        true => None,
        false => Some(format!("{} to complete operations", list(&ranks))),
    };
    let what = match call {
        Call::Fence => answers(unfinished()).or_else(|| come(window)).unwrap_or_else(|| {
            format!("all {} ranks to enter the fence{}", shared.group.size(), behind(engine.host()))
        }),
        Call::Lock(rank) => {
            // The asking thread is the one that waits.
            let is_near = shared.near(rank).is_some();
            let earlier = window.epoch.ungranted_of(Caller::thread()).filter(|_| is_near).collect::<Vec<_>>();
            match earlier_elsewhere(windows, shared.id, engine.observation()) {
                _ if !earlier.is_empty() => {
                    format!("the locks of {} that were called for before", list(&earlier))
                }
                Some(elsewhere) => elsewhere,
                None => held_lock(shared, rank),
            }
        }
        Call::LockAll => shared
            .all_near()
            .find(|near| near.control.lock_state().owner().is_some())
            .map_or_else(|| "the locks of the ranks of this node".to_owned(), |m| held_lock(shared, m.rank)),
        Call::Unlock(rank) | Call::Flush(rank) => {
            let count = window.table.find(&state.pools.targets, rank).map_or(0, |key| {
                let target = &state.pools.targets[key];
                target.pending.len() + target.issued.len()
            });
            match window.epoch.lock(rank) {
                Some(lock) if lock.state != crate::epoch::LockState::Granted => {
                    let first = window.epoch.asked_before(rank);
                    let before = first.map_or_else(String::new, |first| {
                        format!("the lock of rank {first}, which was called for before ")
                    });
                    format!("{before}the lock of rank {rank}, and {count} operations behind it")
                }
                _ => format!("rank {rank} to complete {count} operations or acknowledge them"),
            }
        }
        Call::FlushAll | Call::UnlockAll => {
            answers(unfinished()).unwrap_or_else(|| "the ranks asked for their locks".to_owned())
        }
        Call::Start | Call::Complete => {
            let missing: Vec<_> = window.epoch.access.missing().collect();
            match missing.is_empty() {
                false => format!("the post of {}", list(&missing)),
                true => answers(unfinished()).unwrap_or_else(|| "operations to complete".to_owned()),
            }
        }
        Call::Wait => {
            let missing: Vec<_> = window.target.undone.iter().collect();
            format!("{} to call complete", list(&missing))
        }
        Call::Sync | Call::Post | Call::Operation(_) | Call::Free => "the engine".to_owned(),
    };
    let access = window.access();
    // Those that wait in line are counted, but open nothing yet.
    let has_lock = access.locks() > u64::from(window.in_line);
    let opened_by = match access.epoch() {
        Epoch::Unset => None,
        Epoch::PerTarget => has_lock.then_some("lock"),
        epoch => Some(epoch.opened_by()),
    };
    match opened_by.or_else(|| window.is_exposed().then_some("post")) {
        None => what,
        Some(call) => format!("{what}, in the epoch that {call} opened"),
    }
}

/// The locks that the thread called for before on other windows, which a lock call sees to first.
fn earlier_elsewhere(windows: &Windows, here: WindowId, observation: &Observation) -> Option<String> {
    let others = windows.promising().into_iter().filter(|id| *id != here);
    let elsewhere = others.filter_map(|id| windows.get(id));
    elsewhere
        .map(|window| (window, window.epoch.ungranted_of(Caller::thread()).collect::<Vec<_>>()))
        .find_map(|(window, earlier)| {
            (!earlier.is_empty()).then(|| {
                let window = observation.describe_window(window.shared.id);
                format!("the locks of {} on {window} that were called for before", list(&earlier))
            })
        })
}

/// A free call's clause.
fn waits_to_free(window: Option<&WindowState>, host: &dyn Host) -> String {
    let Some(window) = window else { return "the end of the window".to_owned() };
    let locks =
        if window.target.is_locked(&window.shared) { ", and the release of this rank's lock" } else { "" };
    format!("all {} ranks to free the window{}{locks}", window.shared.group.size(), behind(host))
}

/// What the host's collectives wait for next, if it knows, as the end of a sentence.
fn behind(host: &dyn Host) -> String {
    host.waits_for().map_or_else(String::new, |whom| format!(", next for {whom}"))
}

/// The lock of a rank of the node, with its holder where the lock word names one.
fn held_lock(shared: &Shared, rank: Rank) -> String {
    let lock = shared.near(rank).map(|near| near.control.lock_state());
    let owner = lock.and_then(|lock| lock.owner());
    match (owner.map(|peer| (peer, shared.group.rank(peer))), lock.map_or(0, |lock| lock.shared())) {
        (Some((_, Some(owner))), _) => format!("the lock of rank {rank}, which rank {owner} holds"),
        (Some((peer, None)), _) => format!("the lock of rank {rank}, which process {peer} holds"),
        (None, shared @ 1..) => format!("the lock of rank {rank}, which {shared} ranks share"),
        (None, 0) => format!("the lock of rank {rank}"),
    }
}

/// `rank 3`, or `ranks 1, 2 and 4`, or a few of many.
fn list(ranks: &[Rank]) -> String {
    let mut text = String::from(if ranks.len() == 1 { "rank " } else { "ranks " });
    let named = ranks.len().min(MOST_NAMED);
    for (at, rank) in ranks[..named].iter().enumerate() {
        let before = match at {
            0 => "",
            at if at + 1 == ranks.len() => " and ",
            _ => ", ",
        };
        let _ = write!(text, "{before}{rank}");
    }
    if ranks.len() > named {
        let _ = write!(text, " and {} more", ranks.len() - named);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_listed_as_in_a_sentence() {
        let list = |count: u32| list(&(0..count).map(Rank).collect::<Vec<_>>());
        assert_eq!(list(1), "rank 0");
        assert_eq!(list(2), "ranks 0 and 1");
        assert_eq!(list(3), "ranks 0, 1 and 2");
        assert_eq!(list(10), "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 2 more");
    }
}
