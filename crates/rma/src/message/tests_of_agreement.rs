//! Agreements of a few processes in one thread, in an order drawn from a seed, with deaths at any point: in the middle of what
//! a process tells the others, of which each then has a beginning.

use super::*;
use crate::testing::Dice;
use std::collections::VecDeque;

struct World {
    dice: Dice,
    ones: Vec<Agreement>,
    /// What each has told each, and has not been heard.
    under_way: Vec<Vec<VecDeque<Word>>>,
    is_dead: Vec<bool>,
    /// Of whose death each knows.
    knows: Vec<Vec<bool>>,
}

const SIZE: usize = 5;

impl World {
    fn new(seed: u64) -> Self {
        Self {
            dice: Dice::new(seed),
            ones: (0..SIZE).map(|_| Agreement::default()).collect(),
            under_way: (0..SIZE).map(|_| (0..SIZE).map(|_| VecDeque::new()).collect()).collect(),
            is_dead: vec![false; SIZE],
            knows: vec![vec![false; SIZE]; SIZE],
        }
    }

    fn vote(&mut self, me: usize) {
        let peers: Vec<_> = (0..SIZE as u32).map(Peer).collect();
        let group = Group::of(7, Rank(me as u32), &peers);
        let mut vote = Ballot::new(!(1 << me), me as u64);
        vote.floor = 3;
        vote.failed =
            (0..SIZE).filter(|other| self.knows[me][*other]).fold(0, |bits, other| bits | 1 << other);
        let (notified, proposed) = (None, None);
        let own = Own { group, first: 0, vote, notified, proposed, has_announced: false, is_taken: false };
        self.ones[me].own = Some(own);
        self.go(me, None);
    }

    fn go(&mut self, me: usize, heard: Option<(usize, Word)>) {
        let mut out = Vec::new();
        if let Some((from, word)) = heard {
            self.ones[me].hear(Peer(from as u32), word, &mut out);
        }
        let knows = self.knows[me].clone();
        self.ones[me].advance(&|peer| knows[peer.0 as usize], &mut out);
        for (to, word) in out {
            self.under_way[me][to.0 as usize].push_back(word);
        }
    }

    /// It dies having told each of the others a part of what it was about to.
    fn kill(&mut self, victim: usize) {
        self.is_dead[victim] = true;
        for to in 0..SIZE {
            let left = self.dice.below(self.under_way[victim][to].len() + 1);
            self.under_way[victim][to].truncate(left);
        }
    }

    /// Something that can happen now happens; says whether anything could.
    fn step(&mut self) -> bool {
        let mut can = Vec::new();
        for me in (0..SIZE).filter(|me| !self.is_dead[*me]) {
            if self.ones[me].own.is_none() {
                can.push((me, me));
            }
            for other in (0..SIZE).filter(|other| *other != me) {
                if !self.under_way[other][me].is_empty() || (self.is_dead[other] && !self.knows[me][other]) {
                    can.push((me, other));
                }
            }
        }
        if can.is_empty() {
            return false;
        }
        let (me, other) = can[self.dice.below(can.len())];
        if me == other {
            self.vote(me);
            return true;
        }
        // A death is reported before or after the last word of the dead.
        let hears_of_death = self.is_dead[other] && !self.knows[me][other] && self.dice.below(2) == 0;
        match self.under_way[other][me].front().copied().filter(|_| !hears_of_death) {
            Some(word) => {
                self.under_way[other][me].pop_front();
                self.go(me, Some((other, word)));
            }
            None => {
                self.knows[me][other] = true;
                if self.ones[me].is_open() {
                    self.go(me, None);
                }
            }
        }
        true
    }
}

#[test]
fn all_the_living_decide_and_none_has_decided_otherwise() {
    let (mut after_deaths, mut by_followers) = (0, 0);
    for seed in 0..20_000 {
        let mut world = World::new(seed);
        let deaths = world.dice.below(SIZE);
        let mut at: Vec<_> = (0..deaths).map(|_| world.dice.below(60)).collect();
        for step in 0.. {
            for _ in at.extract_if(.., |at| *at == step) {
                let victim = world.dice.below(SIZE);
                if world.is_dead.iter().filter(|is_dead| !**is_dead).count() > 1 {
                    world.kill(victim);
                }
            }
            if !world.step() && at.is_empty() {
                break;
            }
        }
        // Processes that died after they had decided count as well: their callers may have gone on.
        let decided: Vec<_> = world.ones.iter().filter_map(|one| one.decided).collect();
        let living: Vec<_> = (0..SIZE).filter(|me| !world.is_dead[*me]).collect();
        assert!(decided.iter().all(|ballot| *ballot == decided[0]), "seed {seed}: {decided:?}");
        for me in &living {
            let ballot = world.ones[*me].decided.unwrap_or_else(|| panic!("seed {seed}: rank {me} waits"));
            assert_eq!(
                (ballot.flags & 1 << me, ballot.floor),
                (0, 3),
                "seed {seed}: the vote of rank {me} counts"
            );
            assert_eq!(ballot.failed & 1 << me, 0, "seed {seed}: rank {me} lives");
        }
        after_deaths += usize::from(living.len() < SIZE);
        by_followers +=
            usize::from(world.is_dead[0] && living.iter().any(|me| world.ones[*me].votes.len() > 1));
    }
    assert!(after_deaths > 10_000 && by_followers > 1_000, "{after_deaths} {by_followers}");
}

#[test]
fn what_all_have_decided_is_forgotten_and_what_is_waited_for_is_not() {
    let mut agreements = Agreements::default();
    let name = |number| AgreementName { context: 1, number };
    for number in 0..4 {
        let decided = (number != 2).then(|| Ballot::new(0, 0));
        agreements.of.insert(name(number), Agreement { decided, ..Agreement::default() });
    }
    agreements.of.insert(AgreementName { context: 2, number: 0 }, Agreement::default());
    assert_eq!((agreements.floor(1, 4), agreements.floor(2, 0), agreements.floor(3, 9)), (2, 0, 9));
    agreements.forget(1, 3);
    let mut left: Vec<_> = agreements.of.keys().map(|name| (name.context, name.number)).collect();
    left.sort_unstable();
    assert_eq!(left, [(1, 2), (1, 3), (2, 0)]);
    assert!(agreements.is_forgotten(name(2)) && !agreements.is_forgotten(name(3)));
}
