//! Agreements among the living processes of a communicator, whichever of them die meanwhile.
//!
//! Each process gives a vote when it calls. The *leader* is the lowest rank that lives, as far as a process
//! knows. It gathers the votes of all living ranks, makes one value of them, has all living ranks store it,
//! and only then says that it is decided:
//!
//! ```text
//!   leader                                        another rank
//!            ◀─────────────────────────── vote ── when it has called, and to each new leader
//!   all votes of the living are here:
//!   value    ── propose ────────────────────────▶ stores the value, unless it has one of a later leader
//!            ◀───────────────────────── accept ──
//!   all the living have it:
//!   decided  ── decided ────────────────────────▶ decided
//! ```
//!
//! A leader that dies is followed by the next rank that lives. If that one has a value stored, it proposes
//! that one again; otherwise it gathers the votes. So all decide alike: a value that any process has decided
//! is stored by all that lived then. The next leader is one of them, and proposes nothing else. That rests on
//! channels and launcher: a process that is reported dead sends nothing any more. One that has ended its part
//! in order counts as dead.
//!
//! A process that has decided and returned still answers ([`MessengerState::on_word`] needs no call of the program),
//! and one that hears of the decision tells it to the processes whose votes it holds: these take it for the
//! leader, and the process that has decided may have died before it told them. This goes on until all are
//! known to have decided: each vote carries the lowest number that is not decided at its process (*floor*),
//! and what is below all floors is forgotten. Of communicators on which no further agreement is made, the
//! last ones stay, a few hundred bytes each.
//!
//! Invariant: a decided ballot never changes, and is the same at all processes.

use super::messenger::Messenger;
use super::notice::NoticePacket;
use super::state::MessengerState;
use rma_core::host::Group;
use rma_core::ids::{Peer, Rank};
use rustc_hash::{FxHashMap, FxHashSet};

/// Which agreement: the communicator's context, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct AgreementName {
    pub(super) context: u64,
    pub(super) number: u64,
}

/// What a process says, and what is agreed upon: of each field what all votes make of it together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ballot {
    /// Flags that all give.
    pub(crate) flags: u32,
    /// Failures that all have acknowledged, among 64 ranks: a bit for each.
    pub(crate) acknowledged: u64,
    /// Failures that any process knows, of the same ranks.
    pub(crate) failed: u64,
    /// The highest of the contexts that they have named.
    pub(crate) context: u64,
    /// The lowest number of an agreement that some process has not decided.
    pub(super) floor: u64,
}

/// What processes tell each other about an agreement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Vote(Ballot),
    /// The value of the leader of this rank.
    Propose {
        leader: u32,
        ballot: Ballot,
    },
    /// It is stored.
    Accept {
        leader: u32,
    },
    Decided(Ballot),
}

/// All agreements of a process that others may ask about.
#[derive(Debug, Default)]
pub(super) struct Agreements {
    of: FxHashMap<AgreementName, Agreement>,
    /// Of each context the number below which all have decided.
    floors: FxHashMap<u64, u64>,
}

#[derive(Debug, Default)]
struct Agreement {
    /// This process's part, once it has called.
    own: Option<Own>,
    /// Votes of others.
    votes: FxHashMap<Peer, Ballot>,
    /// The value of the last leader that has proposed one.
    stored: Option<(u32, Ballot)>,
    /// Processes that have stored the value of this one.
    accepted: FxHashSet<Peer>,
    decided: Option<Ballot>,
}

#[derive(Debug)]
struct Own {
    group: Group,
    /// The first of the ranks that the bits are of.
    first: u32,
    vote: Ballot,
    /// The leader that has the vote.
    notified: Option<Rank>,
    /// What this process has proposed as the leader.
    proposed: Option<Ballot>,
    /// Whether it has, as the leader, told all what is decided.
    has_announced: bool,
    /// Whether its caller has the result.
    is_taken: bool,
}

impl Ballot {
    /// Ranks in a ballot.
    pub(crate) const RANKS: u32 = 64;

    /// A vote; the floor is filled in where it is given.
    pub(crate) fn new(flags: u32, context: u64) -> Self {
        Self { flags, acknowledged: 0, failed: 0, context, floor: 0 }
    }

    fn with(self, other: &Self) -> Self {
        Self {
            flags: self.flags & other.flags,
            acknowledged: self.acknowledged & other.acknowledged,
            failed: self.failed | other.failed,
            context: self.context.max(other.context),
            floor: self.floor.min(other.floor),
        }
    }
}

impl Agreement {
    /// Does what can be done now; `is_gone` says which peers take no part any more, and `out` takes the words
    /// to send. Says whether this process is the leader.
    fn advance(&mut self, is_gone: &dyn Fn(Peer) -> bool, out: &mut Vec<(Peer, Word)>) -> bool {
        let Self { own: Some(own), votes, stored, accepted, decided } = self else { return false };
        let me = own.group.me();
        let lives = |rank: Rank| rank == me || !is_gone(own.group.peer(rank));
        let leader = (0..me.0).map(Rank).find(|rank| lives(*rank)).unwrap_or(me);
        if leader != me {
            if decided.is_none() && own.notified != Some(leader) {
                own.notified = Some(leader);
                out.push((own.group.peer(leader), Word::Vote(own.vote)));
            }
            return false;
        }
        let ranks = (0..own.group.size()).map(Rank).filter(|rank| *rank != me && lives(*rank));
        let others: Vec<_> = ranks.map(|rank| own.group.peer(rank)).collect();
        if decided.is_none() && own.proposed.is_none() {
            let ballot = match stored {
                Some((_, ballot)) => *ballot,
                None if !others.iter().all(|peer| votes.contains_key(peer)) => return true,
                None => {
                    let mut ballot = votes.values().fold(own.vote, |ballot, vote| ballot.with(vote));
                    ballot.failed |= bits(&own.group, own.first, is_gone);
                    ballot
                }
            };
            own.proposed = Some(ballot);
            *stored = Some((me.0, ballot));
            out.extend(others.iter().map(|peer| (*peer, Word::Propose { leader: me.0, ballot })));
        }
        if decided.is_none() && others.iter().all(|peer| accepted.contains(peer)) {
            *decided = own.proposed;
        }
        if let Some(ballot) = *decided
            && !std::mem::replace(&mut own.has_announced, true)
        {
            out.extend(others.iter().map(|peer| (*peer, Word::Decided(ballot))));
        }
        true
    }

    /// Takes what another process says.
    fn hear(&mut self, from: Peer, word: Word, out: &mut Vec<(Peer, Word)>) {
        match (word, self.decided) {
            (Word::Vote(_) | Word::Propose { .. }, Some(ballot)) => out.push((from, Word::Decided(ballot))),
            (Word::Vote(vote), None) => {
                self.votes.insert(from, vote);
            }
            (Word::Propose { leader, ballot }, None) => {
                if self.stored.is_none_or(|(before, _)| before <= leader) {
                    self.stored = Some((leader, ballot));
                    out.push((from, Word::Accept { leader }));
                }
            }
            (Word::Accept { leader }, _) => {
                let is_own = |own: &Own| own.proposed.is_some() && own.group.me().0 == leader;
                if self.own.as_ref().is_some_and(is_own) {
                    self.accepted.insert(from);
                }
            }
            (Word::Decided(ballot), None) => {
                self.decided = Some(ballot);
                out.extend(self.votes.keys().map(|peer| (*peer, Word::Decided(ballot))));
            }
            (Word::Decided(_), Some(_)) => {}
        }
    }

    /// Whether the end of a process may bring it forward.
    fn is_open(&self) -> bool {
        self.own.is_some() && self.decided.is_none()
    }

    /// Whether no call of this process waits for it.
    fn is_over(&self) -> bool {
        self.decided.is_some() && self.own.as_ref().is_none_or(|own| own.is_taken)
    }
}

impl Agreements {
    /// The lowest number that this process has not decided, of those that it has begun or heard of; `number` if there is none
    /// below.
    fn floor(&self, context: u64, number: u64) -> u64 {
        let open = self.of.iter().filter(|(name, one)| name.context == context && one.decided.is_none());
        open.map(|(name, _)| name.number).min().map_or(number, |lowest| lowest.min(number))
    }

    fn is_forgotten(&self, name: AgreementName) -> bool {
        self.floors.get(&name.context).is_some_and(|floor| name.number < *floor)
    }

    /// Forgets what all have decided.
    fn forget(&mut self, context: u64, floor: u64) {
        let known = self.floors.entry(context).or_default();
        if *known < floor {
            *known = floor;
            self.of.retain(|name, one| name.context != context || name.number >= floor || !one.is_over());
        }
    }
}

impl MessengerState {
    /// Whether a process takes no part in agreements any more: it has died, is lost, or has ended its part in order.
    pub(super) fn is_gone(&self, peer: Peer) -> bool {
        let is_away = |peer: &super::state::PeerState| peer.lost.is_some() || peer.has_left;
        self.deaths.is_known(peer) || self.peers.get(&peer).is_some_and(is_away)
    }

    /// As [`MessengerState::is_gone`], of a communicator, which it may not have.
    fn is_gone_from(&self, context: u64, peer: Peer) -> bool {
        self.is_gone(peer) || self.absences.has(context, peer)
    }

    /// Brings an agreement as far as it comes, and tells what there is to tell.
    fn advance_agreement(&mut self, name: AgreementName, heard: Option<(Peer, Word)>) {
        let mut one = self.agreements.of.remove(&name).unwrap_or_default();
        let (was_open, mut out) = (one.decided.is_none(), Vec::new());
        if let Some((from, word)) = heard {
            one.hear(from, word, &mut out);
        }
        let leads = one.advance(&|peer| self.is_gone_from(name.context, peer), &mut out);
        // One that has died unnoticed, and was never in contact, is found by contact.
        let awaited: Vec<_> = match &one.own {
            Some(own) if leads && one.decided.is_none() => {
                let peers = (0..own.group.size()).map(|rank| own.group.peer(Rank(rank)));
                peers.filter(|peer| *peer != self.me && !one.votes.contains_key(peer)).collect()
            }
            _ => Vec::new(),
        };
        let decided = one.decided.filter(|_| was_open);
        self.agreements.of.insert(name, one);
        if let Some(ballot) = decided {
            self.agreements.forget(name.context, ballot.floor);
            // A wait for it looks again.
            self.note_event();
        }
        awaited.into_iter().for_each(|peer| self.ask_after(peer));
        for (peer, word) in out {
            self.tell(peer, NoticePacket::Agreement { name, word });
        }
    }

    /// Another process says something about an agreement, which this one may not have come to yet.
    pub(super) fn on_word(&mut self, from: Peer, name: AgreementName, word: Word) {
        if !self.agreements.is_forgotten(name) {
            self.advance_agreement(name, Some((from, word)));
        }
    }

    /// Some peer takes no part any more.
    pub(super) fn review_agreements(&mut self) {
        let open = self.agreements.of.iter().filter(|(_, one)| one.is_open());
        let names: Vec<_> = open.map(|(name, _)| *name).collect();
        names.into_iter().for_each(|name| self.advance_agreement(name, None));
    }
}

impl Messenger {
    /// Gives this process's vote in an agreement of a group, about 64 of its ranks from `first` on. What the vote says of
    /// failures, and how far this process has come, is filled in here. The engine is to be stepped afterwards.
    pub(crate) fn vote(&self, group: &Group, number: u64, first: u32, vote: Ballot) {
        let mut state = self.lock();
        let name = AgreementName { context: group.context(), number };
        let vote = Ballot {
            acknowledged: bits(group, first, &|peer| state.has_acknowledged(group, peer)),
            failed: bits(group, first, &|peer| state.is_gone_from(name.context, peer)),
            floor: state.agreements.floor(name.context, number),
            ..vote
        };
        let (notified, proposed) = (None, None);
        let own = Own {
            group: group.clone(),
            first,
            vote,
            notified,
            proposed,
            has_announced: false,
            is_taken: false,
        };
        state.agreements.of.entry(name).or_default().own = Some(own);
        state.advance_agreement(name, None);
    }

    /// What was agreed upon, once, when it is decided.
    pub(crate) fn take_agreed(&self, context: u64, number: u64) -> Option<Ballot> {
        let agreements = &mut self.lock().agreements;
        let name = AgreementName { context, number };
        let one = agreements.of.get_mut(&name)?;
        let ballot = one.decided?;
        if let Some(own) = &mut one.own {
            own.is_taken = true;
        }
        if agreements.is_forgotten(name) {
            agreements.of.remove(&name);
        }
        Some(ballot)
    }
}

/// The bits of those of 64 ranks of which something is true.
fn bits(group: &Group, first: u32, is_true: &dyn Fn(Peer) -> bool) -> u64 {
    let ranks = (first..group.size()).take(Ballot::RANKS as usize).map(Rank);
    let set = ranks.filter(|rank| *rank != group.me() && is_true(group.peer(*rank)));
    set.fold(0, |bits, rank| bits | 1 << (rank.0 - first))
}

#[cfg(test)]
#[path = "tests_of_agreement.rs"]
mod tests;
