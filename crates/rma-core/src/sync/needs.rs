//! The needs of synchronization calls, and the locks that this process holds ([`crate::host::Need`]).
//!
//! The twin of `window/waits.rs`, which says the same to users. Read off the window's state on demand;
//! nothing here is kept, and nothing decides by it. What is not known is left out, never guessed.

use crate::control::{ControlBlock, LockKind};
use crate::epoch::{Call, Caller, Epoch, LockState, Stage};
use crate::host::{Awaited, Group, HeldLock, Instance, Need, Place, Way};
use crate::ids::{Peer, Rank, WindowId};
use crate::state::{FenceProtocol, Shared, Single, State, WindowState, Windows};
use crate::trace::Observation;

/// What only the call knows that waits.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct InLine {
    /// The rank of the node in whose line it stands.
    pub(crate) rank: Option<Rank>,
    /// How a lock call asks.
    pub(crate) kind: Option<LockKind>,
}

/// What a call that has begun on a window needs, and the locks that it holds already and nothing else shows.
pub(crate) fn needs(
    state: &State,
    windows: &Windows,
    window: &WindowState,
    call: Call,
    in_line: InLine,
    observation: &Observation,
) -> (Vec<Need>, Vec<HeldLock>) {
    let shared = &*window.shared;
    let place = || place(shared, observation);
    let peers = |ranks: Vec<Rank>| ranks.into_iter().map(|rank| shared.group.peer(rank)).collect::<Vec<_>>();
    let lock = |rank: Rank, kind| Need::Lock { window: place(), target: shared.group.peer(rank), kind };
    let mut holds = Vec::new();
    let needs = match call {
        Call::Fence => match unfinished(state, window) {
            ranks if !ranks.is_empty() => vec![Need::Answers(place(), peers(ranks))],
            _ => {
                let place = Place { instance: fence_of(window), ..place() };
                vec![Need::Fence(place, absent(window).map_or_else(|| others(&shared.group), peers))]
            }
        },
        Call::Lock(rank) => {
            let here = shared.near(rank).map(|_| window);
            let earlier = earlier(windows, here, shared.id, observation);
            let asked = in_line.kind.filter(|_| earlier.is_empty() && in_line.rank == Some(rank));
            earlier.into_iter().chain(asked.map(|kind| lock(rank, kind))).collect()
        }
        Call::LockAll => match in_line.rank {
            None => earlier(windows, Some(window), shared.id, observation),
            Some(rank) => {
                let taken = shared.all_near().filter(|near| near.rank < rank);
                let held = taken.map(|near| held(shared, near.rank, LockKind::Shared, observation));
                holds.extend(held);
                vec![lock(rank, LockKind::Shared)]
            }
        },
        Call::Unlock(rank) | Call::Flush(rank) => vec![asked_or_answer(window, rank, &lock, &place)],
        Call::FlushAll | Call::UnlockAll => {
            let ranks = unfinished(state, window);
            ranks.into_iter().map(|rank| asked_or_answer(window, rank, &lock, &place)).collect()
        }
        Call::Start | Call::Complete => match window.epoch.access.missing().collect::<Vec<_>>() {
            missing if !missing.is_empty() => vec![Need::Posts(place(), peers(missing))],
            _ => vec![Need::Answers(place(), peers(unfinished(state, window)))],
        },
        Call::Wait => vec![Need::Completes(place(), peers(window.target.undone.iter().collect()))],
        Call::Sync | Call::Post | Call::Operation(_) | Call::Free => Vec::new(),
    };
    (needs, holds)
}

/// What a call awaits, with what its operations need.
pub(crate) fn with_operations(windows: &Windows, observation: &Observation, mut awaited: Awaited) -> Awaited {
    let resolved = awaited.needs.into_iter().filter_map(|need| {
        let Need::Operation(window, rank) = need else { return Some(need) };
        let window = windows.get(window)?;
        let shared = &*window.shared;
        let place = || place(shared, observation);
        let lock = |rank: Rank, kind| Need::Lock { window: place(), target: shared.group.peer(rank), kind };
        Some(asked_or_answer(window, rank, &lock, &place))
    });
    awaited.needs = resolved.collect();
    awaited
}

/// Which fence this rank is in, where its number means the same to all that meet this way.
fn fence_of(window: &WindowState) -> Option<Instance> {
    let shared = &window.shared;
    match &window.target.arrivals {
        Some(arrivals) => Some(Instance { way: Way::Packets, number: arrivals.entered() }),
        None if window.fence_protocol() == FenceProtocol::Barrier => None,
        None => Some(Instance { way: Way::Memory, number: shared.own().control.meeting().last() }),
    }
}

/// The lock of a rank that operations wait for, or their answers.
fn asked_or_answer(
    window: &WindowState,
    rank: Rank,
    lock: &dyn Fn(Rank, LockKind) -> Need,
    place: &dyn Fn() -> Place,
) -> Need {
    match window.epoch.lock(rank) {
        Some(asked) if asked.state != LockState::Granted => {
            let first = window.epoch.asked_before(rank).and_then(|first| {
                let kind = window.epoch.lock(first)?.kind;
                Some(lock(first, kind))
            });
            first.unwrap_or_else(|| lock(rank, asked.kind))
        }
        _ => Need::Answers(place(), vec![window.shared.group.peer(rank)]),
    }
}

/// The locks that the thread called for before, on the window `id` if it is given and on others, which a lock call sees to first.
fn earlier(
    windows: &Windows,
    here: Option<&WindowState>,
    id: WindowId,
    observation: &Observation,
) -> Vec<Need> {
    let caller = Caller::thread();
    let others = windows.promising().into_iter().filter(|other| *other != id);
    let in_order = here.into_iter().chain(others.filter_map(|id| windows.get(id)));
    let of_window = |window: &WindowState| {
        let shared = &*window.shared;
        let kind = |rank| window.epoch.lock(rank).map(|lock| lock.kind);
        let ungranted = window.epoch.ungranted_of(caller);
        let needs = ungranted.filter_map(|rank| {
            Some(Need::Lock {
                window: place(shared, observation),
                target: shared.group.peer(rank),
                kind: kind(rank)?,
            })
        });
        needs.collect::<Vec<_>>()
    };
    in_order.flat_map(of_window).collect()
}

/// What a call that frees a window needs.
pub(crate) fn needs_to_free(window: Option<&WindowState>, observation: &Observation) -> Vec<Need> {
    let free =
        |window: &WindowState| Need::Free(place(&window.shared, observation), others(&window.shared.group));
    window.map(free).into_iter().collect()
}

/// What a call that makes a window over a group needs.
pub(crate) fn needs_to_create(group: &Group) -> Vec<Need> {
    let place = Place { context: group.context(), window: None, name: String::new(), instance: None };
    vec![Need::Creation(place, others(group))]
}

/// The locks that this process holds and those that others hold of its own parts, as far as they are known;
/// `most` at most, and whether that is all.
pub(crate) fn held_locks(windows: &Windows, observation: &Observation, most: usize) -> (Vec<HeldLock>, bool) {
    let mut all = Vec::new();
    for window in windows.iter() {
        of_window(window, observation, &mut all);
        if all.len() > most {
            all.truncate(most);
            return (all, false);
        }
    }
    (all, true)
}

fn of_window(window: &WindowState, observation: &Observation, all: &mut Vec<HeldLock>) {
    let (shared, epoch, access) = (&*window.shared, &window.epoch, window.access());
    let holds_all =
        access.epoch().is_lock_all() && access.stage() != Stage::Opening && !access.is_unchecked();
    for near in shared.all_near() {
        let kind = match near.gate.single() {
            Single::Held(kind) => kind,
            Single::No | Single::Changing => holds_all.then_some(LockKind::Shared),
        };
        all.extend(kind.map(|kind| held(shared, near.rank, kind, observation)));
    }
    let is_far = |rank: &Rank| shared.near(*rank).is_none();
    if access.epoch() == Epoch::LockAllGranted && !access.is_unchecked() {
        let far = (0..shared.group.size()).map(Rank).filter(is_far);
        all.extend(far.map(|rank| held(shared, rank, LockKind::Shared, observation)));
    }
    let granted = epoch.locks().filter(|(_, lock)| lock.state == LockState::Granted && !lock.no_check);
    all.extend(granted.map(|(rank, lock)| held(shared, rank, lock.kind, observation)));
    let target = shared.group.peer(shared.group.me());
    let by = |holder: Peer, kind| HeldLock { window: place(shared, observation), target, holder, kind };
    let owner = shared.own().control.lock_state().owner();
    all.extend(owner.map(|owner| by(owner, LockKind::Exclusive)));
    all.extend(window.target.sharing().map(|holder| by(holder, LockKind::Shared)));
}

fn held(shared: &Shared, target: Rank, kind: LockKind, observation: &Observation) -> HeldLock {
    let (target, holder) = (shared.group.peer(target), shared.group.peer(shared.group.me()));
    HeldLock { window: place(shared, observation), target, holder, kind }
}

fn place(shared: &Shared, observation: &Observation) -> Place {
    let name = observation.describe_window(shared.id);
    Place { context: shared.group.context(), window: Some(shared.id), name, instance: None }
}

fn others(group: &Group) -> Vec<Peer> {
    let others = (0..group.size()).map(Rank).filter(|rank| *rank != group.me());
    others.map(|rank| group.peer(rank)).collect()
}

/// Ranks with operations that are not complete.
pub(crate) fn unfinished(state: &State, window: &WindowState) -> Vec<Rank> {
    let keys = window.table.keys(&state.pools.targets);
    let targets = keys.iter().map(|key| &state.pools.targets[*key]).filter(|target| !target.is_idle());
    let mut ranks: Vec<_> = targets.map(|target| target.rank).collect();
    ranks.sort_unstable();
    ranks
}

/// The ranks that are not in the fence that this rank is in, where that is known.
pub(crate) fn absent(window: &WindowState) -> Option<Vec<Rank>> {
    let shared = &window.shared;
    match &window.target.arrivals {
        Some(arrivals) => Some(arrivals.missing().collect()),
        None if window.fence_protocol() == FenceProtocol::Barrier => None,
        None => {
            let number = shared.own().control.meeting().last();
            let has_come = |control: &ControlBlock| control.meeting().has_come(number);
            let absent = shared.members.iter().filter(|member| !has_come(&member.control));
            Some(absent.map(|member| member.rank).collect())
        }
    }
}
