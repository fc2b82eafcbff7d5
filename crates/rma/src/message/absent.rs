//! Communicators whose making has failed on some of their ranks, and not on others.
//!
//! A rank whose part in the making of a communicator fails, mostly because another one has died, does not get
//! the communicator, though others may have it by then. It will never join what they begin there, and they
//! cannot see that by themselves. So it tells the members, which mark it as *absent* on that communicator:
//! agreements and shrinking go on without it, as without a dead rank; collectives, and messages to and from
//! it, end in error. The same holds on every communicator made of that one, as a rank without the parent
//! cannot have the child.
//!
//! ```text
//!   rank whose making fails                    rank that has the communicator, or will
//!            ── absent: making, peer ─────────▶ looks for what it has made then; else keeps the word until it has
//! ```
//!
//! Two groups that make a communicator between them do so in a making of each group, and a rank that fails in
//! one may not know the other group. So each rank that has the communicator passes the notice on to all of
//! its ranks. A death there may have kept a group from hearing of the other one; so a rank that learns of one
//! asks:
//!
//! ```text
//!   rank that has it                           rank of the other group
//!            ── ask: making of that group ────▶ has failed in it: absent. Has it too: asks likewise. Else answers when it fails
//! ```
//!
//! Invariants: a making has the same name on all ranks: the parent's context, and the number of the
//! collective there, or what stands for it where only some of the parent's ranks take part; an absent rank
//! stays absent. What is kept of a communicator goes with it and all that was made of it.

use super::messenger::Messenger;
use super::notice::NoticePacket;
use super::state::MessengerState;
use rma_core::host::Group;
use rma_core::ids::{Peer, Rank};
use rma_core::{Error, ErrorClass};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use std::hash::Hasher;
use std::sync::atomic::Ordering::Relaxed;

/// The making of a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Making {
    pub(crate) parent: u64,
    /// Of the collective on the parent; or the tag, and how many makings of the same group had that tag before.
    pub(crate) number: u64,
    /// Which ranks of the parent alone make it, as a number drawn from them; 0 is all.
    pub(crate) part: u64,
}

#[derive(Debug, Default)]
pub(super) struct Absences {
    /// What this process has made, by the making and by the context.
    made: FxHashMap<Making, u64>,
    communicators: FxHashMap<u64, MadeCommunicator>,
    /// Ranks that have failed in makings that this process has not ended.
    failed_elsewhere: FxHashMap<Making, Vec<Peer>>,
    /// The makings in which this process has failed. They are few, and others may ask for long.
    failed_here: FxHashSet<Making>,
    /// Ranks that have asked after a making that this process has not ended.
    askers: FxHashMap<Making, Vec<Peer>>,
    /// Absent ranks of a communicator.
    of: FxHashMap<u64, Vec<Peer>>,
    /// How many makings of parts of a parent's ranks there were with a tag.
    counts: FxHashMap<u64, FxHashMap<(u32, u64), u32>>,
}

/// A communicator that this process has made.
#[derive(Debug)]
struct MadeCommunicator {
    /// Of this process's group, and of the other one if there are two.
    makings: (Making, Option<Making>),
    members: Group,
    /// The ranks of the other group.
    remote: Vec<Peer>,
    /// Whether they were asked.
    has_asked: bool,
    /// Whether no handle is left; it stays for those that were made of it.
    is_closed: bool,
    /// Those that were made of it.
    children: usize,
}

impl Absences {
    pub(super) fn has(&self, context: u64, peer: Peer) -> bool {
        !self.of.is_empty() && self.of.get(&context).is_some_and(|absent| absent.contains(&peer))
    }

    /// A communicator is not in use any more.
    pub(super) fn forget(&mut self, context: u64) {
        self.counts.remove(&context);
        match self.communicators.get_mut(&context) {
            Some(made) => made.is_closed = true,
            None => return self.drop_words(context),
        }
        let mut last = Some(context);
        while let Some(context) = last.take()
            && self.communicators.get(&context).is_some_and(|made| made.is_closed && made.children == 0)
        {
            let Some(MadeCommunicator { makings: (making, other), .. }) = self.communicators.remove(&context)
            else {
                return;
            };
            self.made.remove(&making);
            other.map(|other| self.made.remove(&other));
            self.drop_words(context);
            if let Some(parent) = self.communicators.get_mut(&making.parent) {
                parent.children -= 1;
                last = Some(making.parent);
            }
        }
    }

    fn drop_words(&mut self, context: u64) {
        self.of.remove(&context);
        self.failed_elsewhere.retain(|making, _| making.parent != context);
        self.askers.retain(|making, _| making.parent != context);
    }
}

impl MessengerState {
    /// A peer has failed in a making.
    pub(super) fn on_absent(&mut self, peer: Peer, making: Making) {
        if peer == self.me || self.absences.failed_here.contains(&making) {
            return;
        }
        match self.absences.made.get(&making).copied() {
            Some(context) => self.note_absent(context, &[peer]),
            None => {
                let failed = self.absences.failed_elsewhere.entry(making).or_default();
                if !failed.contains(&peer) {
                    failed.push(peer);
                }
            }
        }
    }

    /// A peer has the communicator of a making, and doubts that this process has it.
    pub(super) fn on_ask(&mut self, from: Peer, making: Making) {
        if self.absences.failed_here.contains(&making) {
            self.tell(from, NoticePacket::Absent { making, peer: self.me });
        } else if let Some(context) = self.absences.made.get(&making).copied() {
            self.ask_other_group(context);
        } else {
            let askers = self.absences.askers.entry(making).or_default();
            if !askers.contains(&from) {
                askers.push(from);
            }
        }
    }

    /// One collective may make several communicators: an absent rank that is no member was in the making of
    /// another one.
    fn note_absent(&mut self, context: u64, absent: &[Peer]) {
        let Some(made) = self.absences.communicators.get(&context) else { return };
        let known = self.absences.of.entry(context).or_default();
        let is_news = |peer: &&Peer| made.members.rank(**peer).is_some() && !known.contains(peer);
        let news: Vec<_> = absent.iter().filter(is_news).copied().collect();
        if news.is_empty() {
            return;
        }
        known.extend(&news);
        let (making, members) = (made.makings.0, made.members.clone());
        if made.makings.1.is_some() {
            for peer in &news {
                self.tell_all(&members, NoticePacket::Absent { making, peer: *peer });
            }
            self.ask_other_group(context);
        }
        self.signs.has_losses.store(true, Relaxed);
        self.move_lent(&|pattern, _| pattern.scope.context == context);
        self.review_agreements();
        // Waits there look again.
        self.note_event();
        let is_child = |(_, made): &(&u64, &MadeCommunicator)| made.makings.0.parent == context;
        let children: Vec<_> =
            self.absences.communicators.iter().filter(is_child).map(|(context, _)| *context).collect();
        children.into_iter().for_each(|child| self.note_absent(child, &news));
    }

    /// Asks the other group of a communicator, once, which of its ranks have not got it.
    fn ask_other_group(&mut self, context: u64) {
        let Some(made) = self.absences.communicators.get_mut(&context) else { return };
        let (_, Some(making)) = made.makings else { return };
        if !std::mem::replace(&mut made.has_asked, true) {
            let remote = made.remote.clone();
            remote.into_iter().for_each(|peer| self.tell(peer, NoticePacket::Ask(making)));
        }
    }

    /// A rank that died may have kept others from getting a communicator.
    pub(super) fn ask_groups_of(&mut self, dead: Peer) {
        let made = self.absences.communicators.iter();
        let of_it = made.filter(|(_, made)| made.makings.1.is_some() && made.members.rank(dead).is_some());
        let of_it: Vec<_> = of_it.map(|(context, _)| *context).collect();
        of_it.into_iter().for_each(|context| self.ask_other_group(context));
    }

    fn tell_all(&mut self, members: &Group, notice: NoticePacket) {
        (0..members.size()).for_each(|rank| self.tell(members.peer(Rank(rank)), notice));
    }

    /// Why collectives of these processes of a communicator fail, if one of them is absent there.
    pub(super) fn absence_in(&self, circle: &Group) -> Option<Error> {
        let mut absent = self.absences.of.get(&circle.context())?.iter();
        let first = absent.find(|peer| circle.rank(**peer).is_some())?;
        Some(absent_error("collective", *first))
    }

    /// Why messages to or from a peer fail on a communicator, if it is absent there.
    pub(super) fn absence_of(&self, context: u64, peer: Peer) -> Option<Error> {
        self.absences.has(context, peer).then(|| absent_error("message", peer))
    }
}

impl Messenger {
    /// The name of the next making of this part of a communicator's ranks with a tag: the same on all of
    /// them, as they make such communicators in the same order.
    pub(crate) fn next_making(&self, parts: &Group, tag: u32) -> Making {
        let mut hasher = FxHasher::default();
        (0..parts.size()).for_each(|rank| hasher.write_u32(parts.peer(Rank(rank)).0));
        let (parent, part) = (parts.context(), hasher.finish() | 1);
        let count = &mut self.lock().absences.counts;
        let count = count.entry(parent).or_default().entry((tag, part)).or_default();
        *count = count.wrapping_add(1);
        Making { parent, number: u64::from(tag) << 32 | u64::from(*count), part }
    }

    /// This process's part in a making has failed; these may have what is made. The engine is to be stepped afterwards.
    pub(crate) fn fail_making(&self, making: Making, members: impl Iterator<Item = Peer>) {
        let mut state = self.lock();
        let Absences { failed_here, askers, failed_elsewhere, .. } = &mut state.absences;
        failed_here.insert(making);
        failed_elsewhere.remove(&making);
        let askers = askers.remove(&making).unwrap_or_default();
        let (me, mut notified) = (state.me, FxHashSet::default());
        for peer in members.chain(askers) {
            if notified.insert(peer) {
                state.tell(peer, NoticePacket::Absent { making, peer: me });
            }
        }
    }

    /// This process has ended its part in a making, and is not to get what is made.
    pub(crate) fn leave_making(&self, making: Making) {
        let mut state = self.lock();
        state.absences.failed_elsewhere.remove(&making);
        state.absences.askers.remove(&making);
    }

    /// This process has made the communicator of this context, which is open by now; between two groups there is also the making of
    /// the other one, with its ranks.
    pub(crate) fn note_made(&self, making: Making, other: Option<(Making, Vec<Peer>)>, context: u64) {
        let mut state = self.lock();
        let Some(members) = state.deaths.circle(context).cloned() else { return };
        let (other, remote) = other.map_or_else(Default::default, |(making, remote)| (Some(making), remote));
        let has_dead = state.dead_in(&members).is_some();
        let absences = &mut state.absences;
        let mut absent = absences.of.get(&making.parent).cloned().unwrap_or_default();
        let mut has_asker = absences.askers.remove(&making).is_some();
        absences.made.insert(making, context);
        absent.extend(absences.failed_elsewhere.remove(&making).unwrap_or_default());
        if let Some(other) = other {
            absences.made.insert(other, context);
            absent.extend(absences.failed_elsewhere.remove(&other).unwrap_or_default());
            has_asker |= absences.askers.remove(&other).is_some();
        }
        if let Some(parent) = absences.communicators.get_mut(&making.parent) {
            parent.children += 1;
        }
        let makings = (making, other);
        let made =
            MadeCommunicator { makings, members, remote, has_asked: false, is_closed: false, children: 0 };
        absences.communicators.insert(context, made);
        state.note_absent(context, &absent);
        if has_dead || has_asker {
            state.ask_other_group(context);
        }
    }

    /// This process has made the communicator of this context, and lets go of it: it counts as absent there.
    pub(crate) fn disown(&self, context: u64) {
        let made = {
            let state = self.lock();
            state.absences.communicators.get(&context).map(|made| (made.makings.0, made.members.clone()))
        };
        if let Some((making, members)) = made {
            self.fail_making(making, (0..members.size()).map(|rank| members.peer(Rank(rank))));
        }
    }
}

#[cfg(test)]
impl Messenger {
    /// Whether nothing is kept of communicators.
    pub(super) fn has_forgotten_makings(&self) -> bool {
        let absences = &self.lock().absences;
        absences.made.is_empty() && absences.communicators.is_empty() && absences.of.is_empty()
    }
}

fn absent_error(call: &'static str, peer: Peer) -> Error {
    let cause = format!("process {peer} has not got this communicator: its part in the making has failed");
    Error::new(ErrorClass::ProcFailed, call, cause)
}
