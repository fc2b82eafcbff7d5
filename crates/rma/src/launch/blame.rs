//! Which rank's failure a job has ended with, when several fail because of the first.
//!
//! A rank that finds another one lost, or waits for one that has left, says so before any of its calls answers
//! ([`super::Client::tell_lost`], [`super::Client::tell_left`]), so whatever it does then, abort, exit or crash, comes behind that note.
//! Notes of several ranks come in any order. The failure to name is found by following the notes from the first
//! failure that is known: a rank that has lost another one is not the cause as long as that one may be. The end of a process
//! that others have noticed can come to the launcher later than what they do about it, so it is waited for, within a bound.
//!
//! Knows no process, descriptor or clock: [`super::job`] tells what happens, and when.

use super::outcome::Failure;
use std::time::{Duration, Instant};

/// How long a failure of no known cause waits for one that may be its cause.
const SETTLE: Duration = Duration::from_millis(100);
/// How long a rank that another one has found lost, and that shows no sign of its end, may take to end.
const SUSPECT_LIMIT: Duration = Duration::from_secs(1);
/// How long a rank that has closed its connection without finalizing may take to end: its process is going.
const DYING_LIMIT: Duration = Duration::from_secs(4);

/// What is known of the failures of a job.
#[derive(Debug)]
pub(super) struct Blame {
    ranks: Vec<RankRecord>,
    /// Ranks that wait for another one that has left, and that one.
    left: Vec<(usize, usize)>,
    /// Ranks that have failed, the first one first.
    order: Vec<usize>,
    /// When the first failure became known.
    since: Option<Instant>,
}

/// What is known of one rank.
#[derive(Clone, Debug, Default)]
struct RankRecord {
    /// The ranks that it has found lost, in order.
    lost: Vec<usize>,
    failure: Option<Failure>,
    /// Whether it has said that it fails because of itself and has not ended yet: how it ends is the better message.
    is_about_to_end: bool,
    /// Whether it has said that it fails because of a loss.
    follows_a_loss: bool,
    /// Whether its process is over.
    is_over: bool,
}

/// Whose failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// No rank has failed.
    NoFailure,
    /// It is found out at this moment at the latest.
    Later(Instant),
    /// This rank's.
    Rank(usize),
}

impl Blame {
    pub(super) fn new(ranks: u32) -> Self {
        Self {
            ranks: vec![RankRecord::default(); ranks as usize],
            left: Vec::new(),
            order: Vec::new(),
            since: None,
        }
    }

    /// A rank waits for another one that has left.
    pub(super) fn left(&mut self, rank: usize, other: usize) {
        if other < self.ranks.len() {
            self.left.push((rank, other));
            self.lost(rank, other);
        }
    }

    /// A rank has found another one lost. One that fails because of this rank itself is no cause of it.
    pub(super) fn lost(&mut self, rank: usize, other: usize) {
        if rank == other || other >= self.ranks.len() || self.ranks[rank].lost.contains(&other) {
            return;
        }
        self.ranks[rank].lost.push(other);
        self.forget_later_losses();
        if self.follows_from(other, rank) {
            self.ranks[rank].lost.retain(|lost| *lost != other);
        }
    }

    /// What a rank that has left has lost because of one that waits for it, it has lost afterwards, in whatever order the launcher hears
    /// of it.
    fn forget_later_losses(&mut self) {
        for (waits, other) in self.left.clone() {
            let lost = self.ranks[other].lost.iter().copied();
            self.ranks[other].lost = lost.filter(|lost| !self.follows_from(*lost, waits)).collect();
        }
    }

    /// Whether a rank is another one, or has found it lost, or one that has, and so on.
    fn follows_from(&self, rank: usize, other: usize) -> bool {
        let mut seen = vec![rank];
        let mut at = 0;
        while let Some(next) = seen.get(at) {
            let lost = self.ranks[*next].lost.iter().copied();
            let new: Vec<_> = lost.filter(|lost| !seen.contains(lost)).collect();
            seen.extend(new);
            at += 1;
        }
        seen.contains(&other)
    }

    /// A rank asks for the end of the job, and knows of no failure before its own except those it has noted; with
    /// `follows_a_loss` it says that there is one.
    pub(super) fn aborted(&mut self, rank: usize, failure: Failure, follows_a_loss: bool, now: Instant) {
        self.ranks[rank].follows_a_loss |= follows_a_loss;
        self.failed(rank, failure, now);
    }

    /// A rank is about to fail because of this rank, perhaps itself.
    pub(super) fn is_failing(&mut self, rank: usize, failure: Failure, because: usize, now: Instant) {
        self.lost(rank, because);
        self.ranks[rank].is_about_to_end = true;
        self.failed(rank, failure, now);
    }

    /// A rank has sent what no rank sends.
    pub(super) fn failed(&mut self, rank: usize, failure: Failure, now: Instant) {
        if self.ranks[rank].failure.is_none() {
            self.ranks[rank].failure = Some(failure);
            self.order.push(rank);
            self.since.get_or_insert(now);
        }
    }

    /// A rank's process is over.
    pub(super) fn ended(&mut self, rank: usize, failure: Option<Failure>, now: Instant) {
        let record = &mut self.ranks[rank];
        record.is_over = true;
        match failure {
            Some(failure) if std::mem::take(&mut record.is_about_to_end) => record.failure = Some(failure),
            Some(failure) => self.failed(rank, failure, now),
            None => {}
        }
    }

    /// Why a rank has failed.
    pub(super) fn failure(&self, rank: usize) -> Option<&Failure> {
        self.ranks[rank].failure.as_ref()
    }

    /// Ranks that have failed, the first that is known first.
    pub(super) fn failed_ranks(&self) -> &[usize] {
        &self.order
    }

    /// One line about a job that has gone on: the ranks that failed, `first` before the others, and how many
    /// ranks have not.
    pub(super) fn summary(&self, first: usize) -> String {
        /// A line names no more ranks than these.
        const NAMED: usize = 8;
        let others = self.order.iter().copied().filter(|rank| *rank != first);
        let failed: Vec<_> = std::iter::once(first).chain(others).collect();
        let named = failed.iter().take(NAMED);
        let named = named.filter_map(|rank| Some(format!("rank {rank} {}", self.failure(*rank)?)));
        let mut line = named.collect::<Vec<_>>().join(", ");
        if failed.len() > NAMED {
            line += &format!(", and {} more ranks have failed", failed.len() - NAMED);
        }
        match self.ranks.len() - failed.len() {
            0 => line + "; no rank went on to the end",
            1 => line + "; the other rank went on to the end",
            left => line + &format!("; the other {left} ranks went on to the end"),
        }
    }

    /// Whose failure it is as far as is known now. `is_dying` says whether a rank has closed its connection, did not finalize
    /// and is still there.
    pub(super) fn verdict(&self, now: Instant, is_dying: &mut dyn FnMut(usize) -> bool) -> Verdict {
        let (Some(first), Some(since)) = (self.order.first(), self.since) else { return Verdict::NoFailure };
        let mut seen = vec![*first];
        loop {
            let rank = *seen.last().expect("it starts with one");
            let suspects = self.suspects(rank).filter(|rank| !seen.contains(rank));
            // A rank that has ended well has caused nothing.
            let known = suspects.clone().find(|rank| self.ranks[**rank].failure.is_some());
            if let Some(next) = known {
                seen.push(*next);
                continue;
            }
            for suspect in suspects.filter(|rank| !self.ranks[**rank].is_over) {
                let limit = if is_dying(*suspect) { DYING_LIMIT } else { SUSPECT_LIMIT };
                if now < since + limit {
                    return Verdict::Later(since + limit);
                }
            }
            return self.without_suspects(rank, since, now, is_dying);
        }
    }

    /// The ranks that a rank has found lost; if it cannot name any, those that others have found lost.
    fn suspects(&self, rank: usize) -> impl Iterator<Item = &usize> + Clone {
        let RankRecord { lost, follows_a_loss, .. } = &self.ranks[rank];
        let of_others = if lost.is_empty() && *follows_a_loss { &self.ranks[..] } else { &[] };
        lost.iter()
            .chain(of_others.iter().flat_map(|record| &record.lost))
            .filter(move |other| **other != rank)
    }

    /// The verdict on a rank that has named no other as a possible cause.
    fn without_suspects(
        &self,
        rank: usize,
        since: Instant,
        now: Instant,
        is_dying: &mut dyn FnMut(usize) -> bool,
    ) -> Verdict {
        let record = &self.ranks[rank];
        let Some(failure) = &record.failure else { return Verdict::Rank(rank) };
        if failure.is_cause() && !record.is_about_to_end && !record.follows_a_loss {
            return Verdict::Rank(rank);
        }
        // It may not have heard of the death that has failed it.
        let is_better = |other: &&usize| {
            let is_enough = self.failure(**other).is_some_and(|f| f.is_cause() || record.follows_a_loss);
            let RankRecord { lost, follows_a_loss, .. } = &self.ranks[**other];
            **other != rank && is_enough && lost.is_empty() && !follows_a_loss
        };
        if let Some(other) = self.order.iter().find(is_better) {
            let is_about_to_end = self.ranks[*other].is_about_to_end && now < since + SUSPECT_LIMIT;
            return if is_about_to_end {
                Verdict::Later(since + SUSPECT_LIMIT)
            } else {
                Verdict::Rank(*other)
            };
        }
        let is_another_dying = (0..self.ranks.len()).any(|other| other != rank && is_dying(other));
        let limit = match record {
            _ if is_another_dying => DYING_LIMIT,
            RankRecord { is_about_to_end: true, .. } | RankRecord { follows_a_loss: true, .. } => {
                SUSPECT_LIMIT
            }
            _ => SETTLE,
        };
        if now < since + limit { Verdict::Later(since + limit) } else { Verdict::Rank(rank) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KILLED: Failure = Failure::Killed { signal: 9, core: false };
    const ASSERTED: Failure = Failure::Killed { signal: libc::SIGABRT, core: false };

    fn at_once(blame: &Blame, now: Instant) -> Verdict {
        blame.verdict(now, &mut |_| false)
    }

    /// Rank 1 leaves, rank 2 waits for it and ends, rank 0 waits for rank 2 and ends, and rank 1 loses rank 0 then.
    #[test]
    fn a_rank_that_loses_what_it_has_failed_itself_is_the_cause() {
        let now = Instant::now();
        let mut blame = Blame::new(3);
        let (failing, ended) = (Failure::Aborted(1), Failure::Exited(1));
        blame.is_failing(2, failing.clone(), 1, now);
        blame.is_failing(0, failing.clone(), 2, now);
        blame.ended(2, Some(ended.clone()), now);
        blame.ended(0, Some(ended.clone()), now);
        assert!(matches!(at_once(&blame, now), Verdict::Later(_)));
        blame.is_failing(1, failing, 0, now);
        assert_eq!(
            at_once(&blame, now),
            Verdict::Later(now + SUSPECT_LIMIT),
            "how it ends is the better message"
        );
        blame.ended(1, Some(ended), now);
        assert_eq!(at_once(&blame, now + SETTLE), Verdict::Rank(1));
    }

    /// Rank 1 leaves, rank 0 waits for it and ends, and rank 1 loses rank 0 then, which is read first.
    #[test]
    fn a_rank_that_has_left_is_the_cause_of_what_it_loses_by_that() {
        let now = Instant::now();
        let ended = || Some(Failure::Exited(1));
        let mut blame = Blame::new(2);
        blame.lost(1, 0);
        blame.is_failing(1, Failure::Aborted(1), 0, now);
        blame.left(0, 1);
        blame.ended(0, ended(), now);
        assert!(matches!(at_once(&blame, now), Verdict::Later(_)));
        blame.ended(1, ended(), now);
        assert_eq!(at_once(&blame, now + SETTLE), Verdict::Rank(1));
        // Rank 2, which is why rank 1 leaves, is the cause of all of that.
        let mut blame = Blame::new(3);
        blame.lost(1, 2);
        blame.lost(1, 0);
        blame.left(0, 1);
        blame.ended(0, ended(), now);
        blame.ended(1, ended(), now);
        blame.ended(2, Some(KILLED), now);
        assert_eq!(at_once(&blame, now + SETTLE), Verdict::Rank(2));
    }

    /// Rank 3 waits for rank 1, which has left; 0 and 2 lose 3 by that, and 1 loses 0.
    #[test]
    fn the_order_in_which_the_launcher_hears_of_losses_changes_no_verdict() {
        let now = Instant::now();
        for at in 0..256 {
            let order = [at & 3, at >> 2 & 3, at >> 4 & 3, at >> 6];
            if (0..4).any(|note| !order.contains(&note)) {
                continue;
            }
            let mut blame = Blame::new(4);
            for note in order {
                match note {
                    0 => blame.left(3, 1),
                    1 => blame.lost(1, 0),
                    2 => blame.lost(0, 3),
                    _ => blame.lost(2, 3),
                }
            }
            for rank in [2, 0, 3, 1] {
                blame.ended(rank, Some(Failure::Exited(1)), now);
            }
            assert_eq!(at_once(&blame, now + SETTLE), Verdict::Rank(1), "{order:?}");
        }
    }

    /// Of two that are about to end neither is named before it has.
    #[test]
    fn a_rank_that_is_about_to_end_has_time_for_its_message() {
        let now = Instant::now();
        let mut blame = Blame::new(2);
        for rank in 0..2 {
            blame.is_failing(rank, KILLED, rank, now);
            assert_eq!(at_once(&blame, now), Verdict::Later(now + SUSPECT_LIMIT));
        }
        assert!(matches!(at_once(&blame, now + SUSPECT_LIMIT), Verdict::Rank(_)));
    }

    /// However the two messages come: rank 1 is named.
    #[test]
    fn a_rank_that_has_lost_another_one_is_not_the_cause() {
        let now = Instant::now();
        for end in [Failure::Exited(3), ASSERTED, Failure::Vanished, KILLED] {
            for survivor in [Failure::Aborted(58), Failure::Exited(1), KILLED] {
                let mut blame = Blame::new(3);
                blame.lost(0, 1);
                blame.aborted(0, survivor.clone(), false, now);
                assert!(matches!(at_once(&blame, now), Verdict::Later(_)), "{end:?} {survivor:?}");
                blame.ended(1, Some(end.clone()), now);
                let named = blame.verdict(now + SETTLE, &mut |_| false);
                assert_eq!(named, Verdict::Rank(1), "{end:?} {survivor:?}");
                let mut blame = Blame::new(3);
                blame.ended(1, Some(end.clone()), now);
                blame.lost(0, 1);
                blame.aborted(0, survivor, false, now);
                assert_eq!(blame.verdict(now + SETTLE, &mut |_| false), Verdict::Rank(1));
            }
        }
    }

    #[test]
    fn notes_are_followed_to_their_end() {
        let now = Instant::now();
        let mut blame = Blame::new(4);
        blame.lost(3, 2);
        blame.lost(2, 1);
        blame.ended(3, Some(Failure::Exited(1)), now);
        assert!(matches!(at_once(&blame, now), Verdict::Later(_)));
        blame.aborted(2, Failure::Aborted(58), false, now);
        assert!(matches!(at_once(&blame, now), Verdict::Later(_)));
        blame.ended(1, Some(KILLED), now);
        assert_eq!(at_once(&blame, now), Verdict::Rank(1));
        // Two that have lost each other: the first that is known.
        let mut blame = Blame::new(2);
        blame.lost(0, 1);
        blame.lost(1, 0);
        blame.ended(1, Some(KILLED), now);
        blame.ended(0, Some(KILLED), now);
        assert!(matches!(at_once(&blame, now), Verdict::Rank(_)));
    }

    #[test]
    fn a_suspect_is_waited_for_within_a_bound() {
        let now = Instant::now();
        let mut blame = Blame::new(2);
        blame.lost(0, 1);
        blame.aborted(0, Failure::Aborted(58), false, now);
        assert_eq!(at_once(&blame, now), Verdict::Later(now + SUSPECT_LIMIT));
        assert_eq!(blame.verdict(now, &mut |rank| rank == 1), Verdict::Later(now + DYING_LIMIT));
        assert_eq!(at_once(&blame, now + SUSPECT_LIMIT), Verdict::Rank(0));
        // One that has ended well is no suspect.
        blame.ended(1, None, now);
        assert_eq!(at_once(&blame, now), Verdict::Rank(0));
    }

    #[test]
    fn what_comes_from_outside_is_named_at_once_and_an_exit_settles() {
        let now = Instant::now();
        let mut blame = Blame::new(3);
        assert_eq!(at_once(&blame, now), Verdict::NoFailure);
        blame.ended(1, Some(Failure::Exited(3)), now);
        assert_eq!(at_once(&blame, now), Verdict::Later(now + SETTLE));
        assert_eq!(at_once(&blame, now + SETTLE), Verdict::Rank(1));
        blame.ended(2, Some(KILLED), now);
        assert_eq!(at_once(&blame, now), Verdict::Rank(2));
        let mut blame = Blame::new(1);
        blame.ended(0, Some(KILLED), now);
        assert_eq!(at_once(&blame, now), Verdict::Rank(0));
        let mut blame = Blame::new(1);
        blame.aborted(0, Failure::Aborted(7), false, now);
        assert_eq!(at_once(&blame, now), Verdict::Rank(0));
    }

    #[test]
    fn a_rank_that_fails_after_a_loss_it_cannot_name_waits_for_it() {
        let now = Instant::now();
        let mut blame = Blame::new(2);
        blame.aborted(0, Failure::Aborted(58), true, now);
        assert_eq!(at_once(&blame, now), Verdict::Later(now + SUSPECT_LIMIT));
        blame.ended(1, Some(Failure::Exited(3)), now);
        assert_eq!(at_once(&blame, now), Verdict::Rank(1));
        // Of many that cannot name it, none is the cause, and one that can helps all.
        let mut blame = Blame::new(4);
        blame.aborted(0, Failure::Aborted(58), true, now);
        blame.aborted(3, Failure::Aborted(58), true, now);
        assert!(matches!(at_once(&blame, now), Verdict::Later(_)));
        blame.lost(2, 1);
        blame.aborted(2, Failure::Aborted(58), true, now);
        assert!(matches!(at_once(&blame, now), Verdict::Later(_)));
        blame.ended(1, Some(ASSERTED), now);
        assert_eq!(at_once(&blame, now + SETTLE), Verdict::Rank(1));
    }

    #[test]
    fn a_job_that_went_on_is_summed_up() {
        let now = Instant::now();
        let mut blame = Blame::new(4);
        blame.ended(2, Some(KILLED), now);
        let line = "rank 2 was killed by signal 9 (SIGKILL); the other 3 ranks went on to the end";
        assert_eq!(blame.summary(2), line);
        blame.ended(0, Some(Failure::Exited(1)), now);
        blame.ended(3, Some(Failure::Vanished), now);
        let line = blame.summary(0);
        assert!(line.starts_with("rank 0 exited with status 1, rank 2 was killed"), "{line}");
        assert!(line.ends_with("without finalizing; the other rank went on to the end"), "{line}");
    }

    #[test]
    fn how_a_rank_ends_is_the_better_message() {
        let now = Instant::now();
        let mut blame = Blame::new(2);
        blame.is_failing(0, Failure::Aborted(101), 0, now);
        assert_eq!(at_once(&blame, now + SETTLE), Verdict::Later(now + SUSPECT_LIMIT));
        blame.ended(0, Some(Failure::Exited(101)), now);
        assert_eq!(blame.failure(0), Some(&Failure::Exited(101)));
        assert_eq!(at_once(&blame, now + SETTLE), Verdict::Rank(0));
        assert_eq!(blame.verdict(now + SETTLE, &mut |rank| rank == 1), Verdict::Later(now + DYING_LIMIT));
    }
}
