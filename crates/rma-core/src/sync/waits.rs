//! What a synchronization call waits for, and the locks that this process holds.
//!
//! Read off the window's state on demand, once ([`Missing`]), and reported twice: as needs ([`Need`]), which are put
//! together for a whole job, and as a sentence that explains to users why a rank does not go on. Nothing here is
//! kept, and nothing decides by it. What is not known is left out, never guessed. A barrier of the host names those
//! whose message it waits for next, which may be waiting themselves.

use crate::control::{ControlBlock, LockKind};
use crate::epoch::{Call, Caller, Epoch, LockStage, Stage};
use crate::host::{Awaited, Group, HeldLock, Host, Instance, Need, Place, Way};
use crate::ids::{Peer, Rank, WindowId};
use crate::state::{FenceProtocol, Shared, Single, State, WindowState, Windows};
use crate::trace::Observation;
use std::fmt::Write;

/// Most ranks that a sentence names.
const MOST_NAMED: usize = 8;

/// What only the call knows that waits.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct InLine {
    /// The rank of the node in whose line it stands.
    pub(crate) rank: Option<Rank>,
    /// How a lock call asks.
    pub(crate) kind: Option<LockKind>,
}

/// What a call on a window waits for, and each has to come.
enum Missing<'a> {
    /// The end of operations on these ranks.
    Operations(Vec<Rank>),
    /// The same of one, which the call names.
    OperationsOn(Rank),
    /// That these enter the fence; `None` where it is not known which ranks have not.
    Fence(Option<Vec<Rank>>),
    /// Locks on a window that the thread called for before, which a lock call sees to first.
    Earlier(&'a WindowState, Vec<Rank>),
    /// The lock of a rank; how it is asked for if it is.
    Lock(Rank, Option<LockKind>),
    /// Some lock of a rank of the node.
    NodeLocks,
    Posts(Vec<Rank>),
    Completes(Vec<Rank>),
}

/// The waits of an engine, by its state.
pub(crate) struct Waits<'a> {
    pub(crate) state: &'a State,
    pub(crate) windows: &'a Windows,
    pub(crate) observation: &'a Observation,
    pub(crate) host: &'a dyn Host,
}

impl<'a> Waits<'a> {
    /// What a call that has begun on a window waits for.
    pub(crate) fn of_call(&self, id: WindowId, call: Call, in_line: InLine) -> Awaited {
        let name = self.observation.describe_window(id);
        let Some(window) = self.windows.get(id) else { return name.into() };
        let all = self.missing(window, call, in_line);
        let what = all.first().map_or_else(|| "the engine".to_owned(), |first| self.clause(window, first));
        let epoch = epoch_clause(window);
        let needs = all.into_iter().flat_map(|missing| self.needs(window, missing)).collect();
        let shared = &*window.shared;
        let is_taken = |rank: Rank| call == Call::LockAll && in_line.rank.is_some_and(|next| rank < next);
        let taken = shared.node_ranks().filter(|node_rank| is_taken(node_rank.rank));
        let holds = taken.map(|node_rank| self.held(shared, node_rank.rank, LockKind::Shared)).collect();
        Awaited { text: format!("{what}{epoch} ({name})"), needs, holds }
    }

    /// What a call that makes a window waits for, which was the process's `number`th.
    pub(crate) fn of_creation(&self, group: &Group, number: u64) -> Awaited {
        if self.windows.is_behind(number) {
            return "the creations of windows by other threads that come before this one".into();
        }
        let text = format!("all {} ranks to create a window{}", group.size(), self.behind());
        let place = Place { context: group.context(), window: None, name: String::new(), instance: None };
        Awaited { text, needs: vec![Need::Creation(place, others(group))], holds: Vec::new() }
    }

    /// What a free call waits for.
    pub(crate) fn of_free(&self, id: WindowId) -> Awaited {
        let name = self.observation.describe_window(id);
        if self.state.is_withdrawing(id) {
            return format!("the end of other ranks' transfers to or from the window's memory ({name})")
                .into();
        }
        let Some(window) = self.windows.get(id) else {
            return format!("the end of the window ({name})").into();
        };
        let shared = &*window.shared;
        let is_locked = window.target.is_locked(shared);
        let locks = if is_locked { ", and the release of this rank's lock" } else { "" };
        let (size, behind) = (shared.group.size(), self.behind());
        let text = format!("all {size} ranks to free the window{behind}{locks} ({name})");
        Awaited {
            text,
            needs: vec![Need::Free(self.place(shared), others(&shared.group))],
            holds: Vec::new(),
        }
    }

    /// What a call awaits, with what its operations need.
    pub(crate) fn of_operations(&self, mut awaited: Awaited) -> Awaited {
        let resolved = awaited.needs.into_iter().flat_map(|need| {
            let Need::Operation(window, rank) = need else { return vec![need] };
            let window = self.windows.get(window);
            window.map_or_else(Vec::new, |window| self.needs(window, Missing::OperationsOn(rank)))
        });
        awaited.needs = resolved.collect();
        awaited
    }

    fn missing(&self, window: &'a WindowState, call: Call, in_line: InLine) -> Vec<Missing<'a>> {
        let unfinished = || unfinished(self.state, window);
        let or_earlier =
            |earlier: Vec<Missing<'a>>, own| if earlier.is_empty() { vec![own] } else { earlier };
        match call {
            Call::Fence => match unfinished() {
                ranks if !ranks.is_empty() => vec![Missing::Operations(ranks)],
                _ => vec![Missing::Fence(absent(window).filter(|ranks| !ranks.is_empty()))],
            },
            Call::Lock(rank) => {
                let here = window.shared.node_rank(rank).map(|_| window);
                let kind = in_line.kind.filter(|_| in_line.rank == Some(rank));
                or_earlier(self.earlier(here, window.shared.id), Missing::Lock(rank, kind))
            }
            Call::LockAll => match in_line.rank {
                Some(rank) => vec![Missing::Lock(rank, Some(LockKind::Shared))],
                None => or_earlier(self.earlier(Some(window), window.shared.id), Missing::NodeLocks),
            },
            Call::Unlock(rank) | Call::Flush(rank) => vec![Missing::OperationsOn(rank)],
            Call::FlushAll | Call::UnlockAll => vec![Missing::Operations(unfinished())],
            Call::Start | Call::Complete => match window.epoch.access.missing().collect::<Vec<_>>() {
                missing if !missing.is_empty() => vec![Missing::Posts(missing)],
                _ => vec![Missing::Operations(unfinished())],
            },
            Call::Wait => vec![Missing::Completes(window.target.undone.iter().collect())],
            Call::Sync | Call::Post | Call::Operation(_) | Call::Free => Vec::new(),
        }
    }

    /// The locks that the thread, which waits itself and asks, called for before: on the window `id` if it is given, and on others.
    fn earlier(&self, here: Option<&'a WindowState>, id: WindowId) -> Vec<Missing<'a>> {
        let others = self.windows.promising().into_iter().filter(|other| *other != id);
        let in_order = here.into_iter().chain(others.filter_map(|id| self.windows.get(id)));
        let of_window = |window: &'a WindowState| {
            let ranks = window.epoch.ungranted_of(Caller::thread()).collect::<Vec<_>>();
            (!ranks.is_empty()).then_some(Missing::Earlier(window, ranks))
        };
        in_order.filter_map(of_window).collect()
    }

    /// As facts.
    fn needs(&self, window: &WindowState, missing: Missing<'_>) -> Vec<Need> {
        let shared = &*window.shared;
        let place = || self.place(shared);
        let peers =
            |ranks: Vec<Rank>| ranks.into_iter().map(|rank| shared.group.peer(rank)).collect::<Vec<_>>();
        let lock = |rank, kind| self.lock(window, rank, kind);
        match missing {
            Missing::Operations(ranks) => {
                let (locks, answers): (Vec<_>, Vec<_>) =
                    ranks.into_iter().partition(|rank| lock_before(window, *rank).is_some());
                let asked = locks.into_iter().filter_map(|rank| lock_before(window, rank));
                let answers = (!answers.is_empty()).then(|| Need::Answers(place(), peers(answers)));
                asked.map(|(rank, kind)| lock(rank, kind)).chain(answers).collect()
            }
            Missing::OperationsOn(rank) => vec![match lock_before(window, rank) {
                Some((rank, kind)) => lock(rank, kind),
                None => Need::Answers(place(), peers(vec![rank])),
            }],
            Missing::Fence(absent) => {
                let place = Place { instance: fence_of(window), ..place() };
                vec![Need::Fence(place, absent.map_or_else(|| others(&shared.group), peers))]
            }
            Missing::Earlier(of, ranks) => {
                let kind = |rank| of.epoch.lock(rank).map(|lock| lock.kind);
                ranks.into_iter().filter_map(|rank| Some(self.lock(of, rank, kind(rank)?))).collect()
            }
            Missing::Lock(rank, kind) => kind.map(|kind| lock(rank, kind)).into_iter().collect(),
            Missing::NodeLocks => Vec::new(),
            Missing::Posts(ranks) => vec![Need::Posts(place(), peers(ranks))],
            Missing::Completes(ranks) => vec![Need::Completes(place(), peers(ranks))],
        }
    }

    /// As the clause that fits behind "for".
    fn clause(&self, window: &WindowState, missing: &Missing<'_>) -> String {
        let shared = &*window.shared;
        match missing {
            Missing::Operations(ranks) if !ranks.is_empty() => {
                format!("{} to complete operations", list(ranks))
            }
            Missing::Operations(_) if window.access().epoch().is_lock_all() => {
                "the ranks asked for their locks".to_owned()
            }
            Missing::Operations(_) => "operations to complete".to_owned(),
            Missing::OperationsOn(rank) => {
                let element = window.table.find(&self.state.pools.targets, *rank);
                let element = element.map(|key| &self.state.pools.targets[key]);
                let count = element.map_or(0, |target| target.pending.len() + target.issued.len());
                match lock_before(window, *rank) {
                    None => format!("rank {rank} to complete {count} operations or acknowledge them"),
                    Some((first, _)) if first == *rank => {
                        format!("the lock of rank {rank}, and {count} operations behind it")
                    }
                    Some((first, _)) => format!(
                        "the lock of rank {first}, which was called for before the lock of rank {rank}, \
                         and {count} operations behind it"
                    ),
                }
            }
            Missing::Fence(Some(ranks)) => format!("{} to enter the fence", list(ranks)),
            Missing::Fence(None) => {
                format!("all {} ranks to enter the fence{}", shared.group.size(), self.behind())
            }
            Missing::Earlier(of, ranks) => {
                let elsewhere = of.shared.id != shared.id;
                let name = || format!(" on {}", self.observation.describe_window(of.shared.id));
                let place = elsewhere.then(name).unwrap_or_default();
                format!("the locks of {}{place} that were called for before", list(ranks))
            }
            Missing::Lock(rank, _) => held_lock(shared, *rank),
            Missing::NodeLocks => "the locks of the ranks of this node".to_owned(),
            Missing::Posts(ranks) => format!("the post of {}", list(ranks)),
            Missing::Completes(ranks) => format!("{} to call complete", list(ranks)),
        }
    }

    fn lock(&self, of: &WindowState, rank: Rank, kind: LockKind) -> Need {
        let shared = &*of.shared;
        Need::Lock { window: self.place(shared), target: shared.group.peer(rank), kind }
    }

    fn place(&self, shared: &Shared) -> Place {
        let name = self.observation.describe_window(shared.id);
        Place { context: shared.group.context(), window: Some(shared.id), name, instance: None }
    }

    /// The locks that this process holds and those that others hold of its own parts, as far as they are known;
    /// `most` at most, and whether that is all.
    pub(crate) fn held_locks(&self, most: usize) -> (Vec<HeldLock>, bool) {
        let mut all = Vec::new();
        for window in self.windows.iter() {
            self.held_locks_of(window, &mut all);
            if all.len() > most {
                all.truncate(most);
                return (all, false);
            }
        }
        (all, true)
    }

    fn held_locks_of(&self, window: &WindowState, all: &mut Vec<HeldLock>) {
        let (shared, epoch, access) = (&*window.shared, &window.epoch, window.access());
        let holds_all =
            access.epoch().is_lock_all() && access.stage() != Stage::Opening && !access.is_unchecked();
        for node_rank in shared.node_ranks() {
            let kind = match node_rank.gate.single() {
                Single::Held(kind) => kind,
                Single::No | Single::Changing => holds_all.then_some(LockKind::Shared),
            };
            all.extend(kind.map(|kind| self.held(shared, node_rank.rank, kind)));
        }
        let is_far = |rank: &Rank| shared.node_rank(*rank).is_none();
        if access.epoch() == Epoch::LockAllGranted && !access.is_unchecked() {
            let far = (0..shared.group.size()).map(Rank).filter(is_far);
            all.extend(far.map(|rank| self.held(shared, rank, LockKind::Shared)));
        }
        let granted = epoch.locks().filter(|(_, lock)| lock.state == LockStage::Granted && !lock.no_check);
        all.extend(granted.map(|(rank, lock)| self.held(shared, rank, lock.kind)));
        let target = shared.group.peer(shared.group.me());
        let by = |holder: Peer, kind| HeldLock { window: self.place(shared), target, holder, kind };
        let owner = shared.own().control.lock_state().owner();
        all.extend(owner.map(|owner| by(owner, LockKind::Exclusive)));
        all.extend(window.target.sharing().map(|holder| by(holder, LockKind::Shared)));
    }

    fn held(&self, shared: &Shared, target: Rank, kind: LockKind) -> HeldLock {
        let (target, holder) = (shared.group.peer(target), shared.group.peer(shared.group.me()));
        HeldLock { window: self.place(shared), target, holder, kind }
    }

    /// What the host's collectives wait for next, if it knows, as the end of a sentence.
    fn behind(&self) -> String {
        self.host.waits_for().map_or_else(String::new, |whom| format!(", next for {whom}"))
    }
}

/// The lock that has to be held before operations on a rank leave, if it is not: its own, or one that was called for before.
fn lock_before(window: &WindowState, rank: Rank) -> Option<(Rank, LockKind)> {
    let asked = window.epoch.lock(rank).filter(|lock| lock.state != LockStage::Granted)?;
    let first =
        window.epoch.asked_before(rank).and_then(|first| Some((first, window.epoch.lock(first)?.kind)));
    first.or(Some((rank, asked.kind)))
}

/// The epoch that a call waits in, as the end of a sentence.
fn epoch_clause(window: &WindowState) -> String {
    window.opened_by().map_or_else(String::new, |call| format!(", in the epoch that {call} opened"))
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

fn others(group: &Group) -> Vec<Peer> {
    let others = (0..group.size()).map(Rank).filter(|rank| *rank != group.me());
    others.map(|rank| group.peer(rank)).collect()
}

/// Ranks with operations that are not complete.
fn unfinished(state: &State, window: &WindowState) -> Vec<Rank> {
    let keys = window.table.keys(&state.pools.targets);
    let targets = keys.iter().map(|key| &state.pools.targets[*key]).filter(|target| !target.is_idle());
    let mut ranks: Vec<_> = targets.map(|target| target.rank).collect();
    ranks.sort_unstable();
    ranks
}

/// The ranks that are not in the fence that this rank is in, where that is known.
fn absent(window: &WindowState) -> Option<Vec<Rank>> {
    let shared = &window.shared;
    match &window.target.arrivals {
        Some(arrivals) => Some(arrivals.missing().collect()),
        None if window.fence_protocol() == FenceProtocol::Barrier => None,
        None => {
            let number = shared.own().control.meeting().last();
            let has_come = |control: &ControlBlock| control.meeting().has_come(number);
            let absent = shared.mapped.iter().filter(|mapped| !has_come(&mapped.control));
            Some(absent.map(|mapped| mapped.rank).collect())
        }
    }
}

/// The lock of a rank of the node, with its holder where the lock word names one.
fn held_lock(shared: &Shared, rank: Rank) -> String {
    let lock = shared.node_rank(rank).map(|node_rank| node_rank.control.lock_state());
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
