//! The indices of a process's windows: which are free, and which are promised to creations under way.
//!
//! Invariants: an index is free, promised to one creation, or in use by one window, and never two of these; the process's clock only
//! grows. How the ranks of a group come to the same index, and why they always do, stands in `window/agree.rs`.

use smallvec::SmallVec;

/// Words of as many windows as a process may have by default.
const WORDS: usize = 32;
/// Most indices promised to a creation that other ranks may not have begun: ranks whose windows differ by
/// fewer than these still have one in common.
const FEW: usize = 64;

/// A bit for each index; as many words as there are windows for, the same on all ranks.
type Set = SmallVec<[u64; WORDS]>;

/// What a rank offers when an index is agreed on: the indices it has promised, then a word of ones if it was its turn.
pub(crate) type Offer = SmallVec<[u64; WORDS + 1]>;

/// A place in the order of the creations that have not found an index at once: the time of their beginning,
/// by the ranks' common clock, then the communicator. All ranks of a creation know the same place, and no two
/// creations of a process have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CreationOrder {
    pub(crate) time: u64,
    pub(crate) context: u64,
}

/// How much of what is free a creation asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OfferedPart {
    /// The lower half: what another thread creates meanwhile finds the rest.
    Half,
    All,
}

/// What a reduction of offers came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agreement {
    Index(u16),
    /// It was not the creation's turn on every rank.
    Retry,
    /// No index was in all offers.
    Disjoint,
}

/// The indices of one process.
#[derive(Debug)]
pub(crate) struct Indices {
    most: usize,
    free: Set,
    claims: SmallVec<[Claim; 1]>,
    clock: u64,
    /// Something has ended that creations in line may have waited for.
    has_news: bool,
}

/// What a creation has that has no index yet.
#[derive(Debug)]
struct Claim {
    /// By the process's clock when it was begun.
    creation: u64,
    /// In the order of those that ask again; `None` before.
    place: Option<CreationOrder>,
    /// What it is promised while an offer is under way.
    promised: Option<Set>,
}

impl Indices {
    /// For so many windows.
    pub(crate) fn new(most: usize) -> Self {
        let of_word = |word: usize| match most - word * 64 {
            left @ 0..64 => (1 << left) - 1,
            _ => u64::MAX,
        };
        let free = (0..most.div_ceil(64)).map(of_word).collect();
        Self { most, free, claims: SmallVec::new(), clock: 0, has_news: false }
    }

    /// For how many windows there are indices.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// What the clock shows.
    pub(crate) fn clock(&self) -> u64 {
        self.clock
    }

    /// Begins a creation: its number in this process, and a first offer. Whether the other ranks have begun it is not known, so a
    /// part of what is free is promised, and others find the rest.
    pub(crate) fn begin(&mut self) -> (u64, Offer) {
        self.clock += 1;
        let creation = self.clock;
        let most = if self.has_free(2 * FEW) { FEW } else { self.count_free().div_ceil(2) };
        let promised = self.promise(most);
        let offer = offer(&promised, true);
        self.claims.push(Claim { creation, place: None, promised: Some(promised) });
        (creation, offer)
    }

    /// Notes the time of a creation that all of its ranks know.
    pub(crate) fn note_time(&mut self, time: u64) {
        self.clock = self.clock.max(time);
    }

    /// Gives a creation a place, after its first offer was in vain.
    pub(crate) fn line_up(&mut self, creation: u64, place: CreationOrder) {
        let at = self.find(creation);
        self.claims[at].place = Some(place);
    }

    /// Whether it is a creation's turn here: no other comes before it, and no other that had its turn is promised anything.
    pub(crate) fn has_turn(&self, creation: u64) -> bool {
        let mine = self.claims[self.find(creation)].place;
        let others = self.claims.iter().filter(|claim| claim.creation != creation);
        others
            .filter(|claim| claim.place.is_some())
            .all(|other| other.place > mine && other.promised.is_none())
    }

    /// Whether there is a creation that has no index.
    pub(crate) fn is_asked(&self) -> bool {
        !self.claims.is_empty()
    }

    /// Whether a creation has a place and others come before it.
    pub(crate) fn is_behind(&self, creation: u64) -> bool {
        let claim = self.claims.iter().find(|claim| claim.creation == creation);
        claim.is_some_and(|claim| claim.place.is_some()) && !self.has_turn(creation)
    }

    /// What a creation offers after all of its ranks had their turn: nothing if another has come before it meanwhile.
    pub(crate) fn offer(&mut self, creation: u64, reach: OfferedPart) -> Offer {
        let at = self.find(creation);
        if !self.has_turn(creation) {
            return offer(&Set::from_elem(0, self.free.len()), false);
        }
        let most = match reach {
            OfferedPart::Half => self.count_free().div_ceil(2),
            OfferedPart::All => self.most,
        };
        let promised = self.promise(most);
        let offer = offer(&promised, true);
        self.claims[at].promised = Some(promised);
        offer
    }

    /// Reads the combined offers (bitwise and). Takes the lowest index in all of them, and ends the creation's claim with it.
    pub(crate) fn agree(&mut self, creation: u64, combined: &[u64]) -> Agreement {
        let at = self.find(creation);
        self.take_back(at);
        self.has_news = self.in_line() > 0;
        let Some((turn, combined)) = combined.split_last() else { return Agreement::Retry };
        if *turn != u64::MAX {
            return Agreement::Retry;
        }
        let Some((word, found)) = combined.iter().enumerate().find(|(_, word)| **word != 0) else {
            return Agreement::Disjoint;
        };
        let bit = found.trailing_zeros();
        debug_assert!(self.free[word] >> bit & 1 != 0, "the ranks agree on what this one has offered");
        self.free[word] &= !(1 << bit);
        self.claims.swap_remove(at);
        Agreement::Index((word * 64) as u16 + bit as u16)
    }

    /// Ends what a creation asks for, if it still does.
    pub(crate) fn withdraw(&mut self, creation: u64) {
        if let Some(at) = self.claims.iter().position(|claim| claim.creation == creation) {
            self.take_back(at);
            self.claims.swap_remove(at);
            self.has_news = self.in_line() > 0;
        }
    }

    /// Whether creations in line have to look again; asked once for each time.
    pub(crate) fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.has_news)
    }

    /// Gives an index back that was agreed on.
    pub(crate) fn give_back(&mut self, index: u16) {
        self.free[usize::from(index) / 64] |= 1 << (index % 64);
    }

    /// Creations that have a place.
    fn in_line(&self) -> usize {
        self.claims.iter().filter(|claim| claim.place.is_some()).count()
    }

    /// Recounts; for tests. `in_use` are the indices of the windows in the table.
    ///
    /// # Errors
    /// A sentence about what is wrong.
    pub(crate) fn invariants(&self, in_use: impl Iterator<Item = u16>) -> Result<(), String> {
        let mut seen = self.free.clone();
        let promised = self.claims.iter().filter_map(|claim| claim.promised.as_ref());
        for (at, word) in promised.flat_map(|set| set.iter().enumerate()) {
            if seen[at] & word != 0 {
                return Err(format!(
                    "indices {:x} from {} on are promised twice, or free",
                    seen[at] & word,
                    at * 64
                ));
            }
            seen[at] |= word;
        }
        for index in in_use {
            if seen[usize::from(index) / 64] >> (index % 64) & 1 != 0 {
                return Err(format!("window index {index} is in use, and free or promised"));
            }
        }
        Ok(())
    }

    fn find(&self, creation: u64) -> usize {
        let at = self.claims.iter().position(|claim| claim.creation == creation);
        at.expect("a creation has a claim until it has an index or withdraws")
    }

    /// Whether so many are free; looks no further than it has to.
    fn has_free(&self, number: usize) -> bool {
        let mut found = 0;
        self.free.iter().any(|word| {
            found += word.count_ones() as usize;
            found >= number
        })
    }

    fn count_free(&self) -> usize {
        self.free.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The lowest free indices, which are not free from now on.
    fn promise(&mut self, most: usize) -> Set {
        let (mut set, mut left) = (Set::from_elem(0, self.free.len()), most);
        for (free, promised) in self.free.iter_mut().zip(set.iter_mut()) {
            if left == 0 {
                break;
            }
            let here = free.count_ones() as usize;
            if here <= left {
                *promised = std::mem::take(free);
                left -= here;
                continue;
            }
            while left > 0 {
                let lowest = *free & free.wrapping_neg();
                *free ^= lowest;
                *promised |= lowest;
                left -= 1;
            }
        }
        set
    }

    fn take_back(&mut self, at: usize) {
        if let Some(promised) = self.claims[at].promised.take() {
            self.free.iter_mut().zip(&promised).for_each(|(free, promised)| *free |= promised);
        }
    }
}

fn offer(promised: &Set, has_turn: bool) -> Offer {
    let mut offer = promised.iter().copied().collect::<Offer>();
    offer.push(if has_turn { u64::MAX } else { 0 });
    offer
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX_WINDOWS: usize = WORDS * 64;

    fn combine(offers: &[&Offer]) -> Vec<u64> {
        (0..offers[0].len()).map(|i| offers.iter().fold(u64::MAX, |all, offer| all & offer[i])).collect()
    }

    fn place(time: u64) -> CreationOrder {
        CreationOrder { time, context: 0 }
    }

    /// Creates as a group of one rank does.
    fn alone(indices: &mut Indices) -> Agreement {
        let (creation, offer) = indices.begin();
        let agreed = indices.agree(creation, &offer);
        indices.withdraw(creation);
        agreed
    }

    #[test]
    fn ranks_agree_on_the_lowest_index_free_on_all() {
        let (mut a, mut b) = (Indices::new(MAX_WINDOWS), Indices::new(MAX_WINDOWS));
        a.free[0] &= !0b0111;
        b.free[0] &= !0b1001;
        let ((first, mine), (second, theirs)) = (a.begin(), b.begin());
        let combined = combine(&[&mine, &theirs]);
        assert_eq!(a.agree(first, &combined), Agreement::Index(4));
        assert_eq!(b.agree(second, &combined), Agreement::Index(4));
        assert_eq!((a.free[0] & 0b11111, b.free[0] & 0b11111), (0b01000, 0b00110));
        assert_eq!((a.invariants([4].into_iter()), b.in_line()), (Ok(()), 0));
    }

    #[test]
    fn what_is_promised_to_one_creation_is_not_offered_by_another() {
        let mut indices = Indices::new(MAX_WINDOWS);
        let (first, mine) = indices.begin();
        let (second, theirs) = indices.begin();
        assert_eq!(combine(&[&mine, &theirs])[..WORDS], [0; WORDS]);
        assert_eq!(
            alone(&mut indices),
            Agreement::Index(2 * FEW as u16),
            "a group of one rank goes its own way"
        );
        assert_eq!(indices.agree(second, &theirs), Agreement::Index(FEW as u16));
        assert_eq!(indices.agree(first, &mine), Agreement::Index(0));
        assert_eq!(indices.invariants([0, FEW as u16, 2 * FEW as u16].into_iter()), Ok(()));
        assert!(indices.invariants([1].into_iter()).is_err());
    }

    #[test]
    fn the_first_in_the_order_has_its_turn_when_nothing_is_promised() {
        let mut indices = Indices::new(MAX_WINDOWS);
        let [(early, _), (late, _), (latest, _)] = [indices.begin(), indices.begin(), indices.begin()];
        let nothing = vec![0; WORDS].into_iter().chain([u64::MAX]).collect::<Vec<_>>();
        for (creation, time) in [(late, 8), (latest, 9)] {
            assert_eq!(indices.agree(creation, &nothing), Agreement::Disjoint);
            indices.line_up(creation, place(time));
        }
        assert!(indices.has_turn(late) && indices.is_behind(latest) && !indices.is_behind(early));
        let offer = indices.offer(late, OfferedPart::Half);
        assert_eq!(offer[WORDS], u64::MAX);
        // One that comes before it lines up: the offer stands, and the newcomer waits for its end.
        assert_eq!(indices.agree(early, &nothing), Agreement::Disjoint);
        indices.line_up(early, place(7));
        assert!(!indices.has_turn(early) && !indices.has_turn(late));
        let refused = combine(&[&offer, &indices.offer(latest, OfferedPart::Half)]);
        assert_eq!(indices.agree(late, &refused), Agreement::Retry);
        assert!(indices.has_turn(early) && !indices.has_turn(late));
        indices.withdraw(early);
        assert!(indices.has_turn(late));
        indices.withdraw(late);
        assert!(indices.has_turn(latest));
        indices.withdraw(latest);
        assert_eq!((indices.in_line(), indices.count_free()), (0, MAX_WINDOWS));
    }

    #[test]
    fn running_out_is_found_only_when_nothing_is_left() {
        let mut indices = Indices::new(MAX_WINDOWS);
        for expected in 0..MAX_WINDOWS {
            assert_eq!(alone(&mut indices), Agreement::Index(expected as u16));
        }
        assert_eq!(alone(&mut indices), Agreement::Disjoint);
        indices.give_back(77);
        assert_eq!(alone(&mut indices), Agreement::Index(77));
        indices.give_back(5);
        indices.give_back(1000);
        // The ranks' lower halves have nothing in common, but all that is free has.
        let (creation, _) = indices.begin();
        indices.agree(creation, &[0; WORDS + 1]);
        indices.line_up(creation, place(1));
        let half = indices.offer(creation, OfferedPart::Half);
        assert_eq!((half[0], half[1000 / 64]), (1 << 5, 0));
        indices.agree(creation, &[0; WORDS + 1]);
        let all = indices.offer(creation, OfferedPart::All);
        assert_eq!((all[0], all[1000 / 64]), (1 << 5, 1 << (1000 % 64)));
    }

    #[test]
    fn there_are_as_many_windows_as_were_asked_for() {
        for most in [1, 2, 63, 64, 65, 128, 5000] {
            let mut indices = Indices::new(most);
            for expected in 0..most {
                assert_eq!(alone(&mut indices), Agreement::Index(expected as u16));
            }
            assert_eq!(alone(&mut indices), Agreement::Disjoint, "of {most}");
            indices.give_back((most - 1) as u16);
            assert_eq!(alone(&mut indices), Agreement::Index((most - 1) as u16));
        }
    }
}
