//! Decides in virtual time which runnable rank steps next, and how long packets are under way.
//!
//! Even draws reach every order in the end, but most of them are alike: each rank gets its share, and packets overtake each
//! other by little. An adversary keeps to one kind of unfairness for a whole run, which reaches orders that even draws hardly
//! ever make.
//!
//! Invariants: every decision follows from the seed; packets of one lane of a pair stay in order (the caller's `earliest`);
//! whatever the adversary, each runnable rank steps at least about every [`EVENLY_EVERY`] steps times the number of ranks, so
//! that a rank that spins for another does not spin for ever.

use crate::dice::{Dice, Moment};
use rma_core::channel::Lane;
use rma_core::ids::Peer;
use std::ops::RangeInclusive;

/// A kind of schedule in virtual time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Adversary {
    /// All is drawn evenly.
    #[default]
    Even,
    /// For some hundred steps at a time one rank, or none, steps only when no other can, and all that goes to
    /// it or comes from it takes 4 or 16 times as long.
    Starve,
    /// The rank that was woken last steps first, and of the packets of some time the newest arrives first.
    NewestFirst,
    /// Ranks have priorities, and the highest that can steps; links have fixed delays of their own. Both are drawn anew at few
    /// points, each at about twice the steps of the one before (Burckhardt et al., A Randomized Scheduler with Probabilistic
    /// Guarantees of Finding Bugs, 2010).
    Priorities,
}

/// Where a packet or notice goes, with sender and lane if it is a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub(crate) from: Option<(Peer, Lane)>,
    pub(crate) to: Peer,
}

/// Steps after which one is drawn evenly, whatever the adversary.
const EVENLY_EVERY: u64 = 256;
/// By how much the delays that an adversary chooses exceed even ones, in one half of the runs and in the other: orders of packets need
/// long ones, races with what ranks do step by step need short ones.
const FACTORS: [u64; 2] = [1, 4];
/// Steps before priorities change first, and most steps in which the same rank starves.
const FIRST_CHANGE: u64 = 64;
const STARVED_STEPS: u64 = 512;

/// The decisions of one run.
#[derive(Debug)]
pub(crate) struct Picker {
    mood: Mood,
    steps: u64,
    next_change: u64,
}

/// What is decided for some time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mood {
    adversary: Adversary,
    ranks: u32,
    /// One of [`FACTORS`].
    factor: u64,
    /// What priorities, delays and the starved rank follow from.
    salt: u64,
}

impl Picker {
    pub(crate) fn new(adversary: Adversary, ranks: u32, seed: u64) -> Self {
        let salt = mix(seed);
        let mood = Mood { adversary, ranks, factor: FACTORS[(salt % 2) as usize], salt };
        Self { mood, steps: 0, next_change: FIRST_CHANGE }
    }

    /// What is decided now.
    pub(crate) fn mood(&self) -> Mood {
        self.mood
    }

    /// Counts a step; answers whether the mood changes with it.
    pub(crate) fn advance(&mut self, dice: &mut Dice) -> bool {
        self.steps += 1;
        let lasts = match self.mood.adversary {
            Adversary::Even | Adversary::NewestFirst => return false,
            _ if self.steps < self.next_change => return false,
            Adversary::Starve => STARVED_STEPS,
            Adversary::Priorities => 2 * self.steps,
        };
        self.next_change = self.steps + 1 + dice.roll() % lasts;
        self.mood.salt = mix(self.mood.salt);
        true
    }

    /// The index of the one of the runnable ranks, at least one, that steps. The last of them became so last.
    pub(crate) fn pick(&self, dice: &mut Dice, runnable: &[Peer]) -> usize {
        if self.steps.is_multiple_of(EVENLY_EVERY) {
            return dice.below(runnable.len());
        }
        match self.mood.adversary {
            Adversary::Even => dice.below(runnable.len()),
            Adversary::Starve => {
                let is_starved = |rank: &Peer| Some(*rank) == self.mood.starved();
                let others = runnable.iter().filter(|rank| !is_starved(rank)).count();
                let nth = dice.below(others.max(1));
                let mut others = (0..runnable.len()).filter(|place| !is_starved(&runnable[*place]));
                others.nth(nth).unwrap_or(0)
            }
            Adversary::NewestFirst => runnable.len() - 1,
            Adversary::Priorities => {
                let priority = |place: &usize| mix(self.mood.salt ^ u64::from(runnable[*place].0));
                (0..runnable.len()).max_by_key(priority).unwrap_or(0)
            }
        }
    }
}

impl Mood {
    /// The decisions of even draws.
    pub(crate) fn even() -> Self {
        Self { adversary: Adversary::Even, ranks: 0, factor: 1, salt: 0 }
    }

    fn starved(self) -> Option<Peer> {
        let drawn = (mix(self.salt) % (u64::from(self.ranks) + 1)) as u32;
        (drawn < self.ranks).then_some(Peer(drawn))
    }

    /// When something that is sent now arrives; `latency` is what is drawn from, in nanoseconds.
    pub(crate) fn arrival(
        self,
        dice: &mut Dice,
        latency: &RangeInclusive<u64>,
        now: Moment,
        link: Link,
    ) -> Moment {
        let after = match self.adversary {
            Adversary::Even => dice.within(latency),
            Adversary::Starve => {
                let ends = [Some(link.to), link.from.map(|(from, _)| from)];
                let is_starved = self.starved().is_some_and(|rank| ends.contains(&Some(rank)));
                dice.within(latency).saturating_mul(if is_starved { 4 * self.factor } else { 1 })
            }
            Adversary::NewestFirst => {
                // Time is cut into pieces; what is sent in one arrives soon after its end, in reverse order.
                let piece = latency.end().saturating_mul(self.factor).saturating_add(8);
                let left = piece - now.0 % piece;
                left + left / 8
            }
            Adversary::Priorities => {
                let none = (u64::from(u32::MAX), 2);
                let (from, lane) = link.from.map_or(none, |(from, lane)| (u64::from(from.0), lane as u64));
                let name = from << 34 ^ u64::from(link.to.0) << 2 ^ lane;
                Dice::new(name ^ self.salt).within(latency).saturating_mul(self.factor)
            }
        };
        Moment(now.0.saturating_add(after))
    }
}

/// A number that looks random and follows from this one.
fn mix(number: u64) -> u64 {
    Dice::new(number).roll()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picks(adversary: Adversary, runnable: &[u32], count: usize) -> Vec<u32> {
        let runnable = runnable.iter().copied().map(Peer).collect::<Vec<_>>();
        let (mut picker, mut dice) = (Picker::new(adversary, 8, 7), Dice::new(1));
        let pick = |_| {
            picker.advance(&mut dice);
            runnable[picker.pick(&mut dice, &runnable)].0
        };
        (0..count).map(pick).collect()
    }

    fn packet(from: u32, to: u32) -> Link {
        Link { from: Some((Peer(from), Lane::Request)), to: Peer(to) }
    }

    fn arrivals(mood: Mood, sent: &[(u64, Link)]) -> Vec<u64> {
        let mut dice = Dice::new(3);
        let arrival =
            |(now, link): &(u64, Link)| mood.arrival(&mut dice, &(100..=200), Moment(*now), *link).0;
        sent.iter().map(arrival).collect()
    }

    #[test]
    fn a_starved_rank_steps_seldom_and_what_concerns_it_takes_long() {
        let (mut picker, mut dice) = (Picker::new(Adversary::Starve, 4, 7), Dice::new(1));
        while picker.mood().starved() != Some(Peer(2)) {
            picker.advance(&mut dice);
        }
        picker.steps = 1;
        let runnable = [0, 1, 2, 3].map(Peer);
        let picked = (0..300).map(|_| picker.pick(&mut dice, &runnable)).collect::<Vec<_>>();
        let of = |rank| picked.iter().filter(|place| **place == rank).count();
        assert!(of(2) == 0 && [0, 1, 3].into_iter().all(|rank| of(rank) > 50), "the others share evenly");
        assert_eq!(picker.pick(&mut dice, &[Peer(2)]), 0);

        let sent = [(0, packet(0, 1)), (0, packet(2, 1)), (0, packet(1, 2))];
        let [usual, from, to] = arrivals(picker.mood(), &sent)[..] else { unreachable!() };
        assert!((100..=200).contains(&usual) && from >= 400 && to >= 400, "{usual} {from} {to}");
    }

    #[test]
    fn each_rank_starves_at_some_time_and_at_some_time_none() {
        let (mut picker, mut dice) = (Picker::new(Adversary::Starve, 4, 1), Dice::new(1));
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..100_000 {
            picker.advance(&mut dice);
            seen.insert(picker.mood().starved());
        }
        assert_eq!(seen.len(), 5, "{seen:?}");
    }

    #[test]
    fn the_newest_comes_first() {
        assert_eq!(picks(Adversary::NewestFirst, &[3, 0, 1], 2), [1, 1]);
        let sent = [(0, packet(0, 1)), (10, packet(2, 1)), (207, packet(3, 1)), (208, packet(0, 1))];
        let mood = Mood { factor: 1, ..Picker::new(Adversary::NewestFirst, 4, 1).mood() };
        let arrived = arrivals(mood, &sent);
        assert!(arrived[0] > arrived[1] && arrived[1] > arrived[2] && arrived[2] < arrived[3], "{arrived:?}");
        assert!(sent.iter().zip(&arrived).all(|((now, _), at)| at > now));
    }

    #[test]
    fn priorities_are_kept_and_change_at_few_points() {
        let steps = picks(Adversary::Priorities, &[0, 1, 2, 3, 4, 5, 6, 7], 100_000);
        let changes = steps.windows(2).filter(|pair| pair[0] != pair[1]).count();
        let drawn_evenly = 2 * (100_000 / EVENLY_EVERY as usize + 1);
        assert!(changes <= drawn_evenly + 40, "{changes} changes, {drawn_evenly} of them for even draws");
        let kinds = steps.iter().collect::<std::collections::BTreeSet<_>>();
        assert_eq!(kinds.len(), 8, "no rank is left out for ever");
        let sent = [(0, packet(0, 1)), (5, packet(0, 1))];
        let mood = Picker::new(Adversary::Priorities, 4, 1).mood();
        let [first, second] = arrivals(mood, &sent)[..] else { unreachable!() };
        assert_eq!(second, first + 5, "a link has one delay");
    }

    #[test]
    fn even_draws_are_those_of_the_dice_alone() {
        let runnable = [Peer(4), Peer(5), Peer(6)];
        let (mut dice, mut same) = (Dice::new(9), Dice::new(9));
        let mut picker = Picker::new(Adversary::Even, 3, 1);
        for _ in 0..1000 {
            assert!(!picker.advance(&mut dice));
            assert_eq!(picker.pick(&mut dice, &runnable), same.below(3));
        }
    }
}
