//! The process's windows by id, and the ids that are free.
//!
//! An id's index is the same on all ranks of the group, so a free one has to be agreed on: every rank offers the set of its
//! free indices as a bit mask, and the lowest bit that all offered is taken. Only one creation at a time offers this
//! process's set; others offer nothing and try again, so two creations can never take the same index.

use super::state::WindowState;
use crate::ids::{Rank, WindowId};
use smallvec::SmallVec;

/// Most windows of one process at a time.
pub(crate) const MAX_WINDOWS: usize = 2048;
const WORDS: usize = MAX_WINDOWS / 64;

/// What a rank offers when an id is agreed on: its free indices, then a word of ones if they are its real set.
pub(crate) type Offer = SmallVec<[u64; WORDS + 1]>;

/// What a reduction of offers came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agreement {
    Index(u16),
    /// A rank could not offer its set: ask again.
    Retry,
    /// Every set was real, and they have no index in common.
    UsedUp,
}

/// All windows of an engine.
pub(crate) struct Windows {
    entries: Vec<Entry>,
    free: [u64; WORDS],
    /// The creation whose offer is real, by its number.
    offering: Option<u64>,
    /// Creations so far, agreed on at each: the source of generations.
    created: u64,
    /// Windows in the table.
    live: usize,
    /// Indices of the windows that may have something to do, in the order in which that began: idle windows cost nothing.
    active: Vec<u16>,
    /// Indices of the windows with locks that have been called for and are not held yet. As long as there is one, lock calls
    /// take the long way in every window, since they may have to see to those locks first.
    promising: Vec<u16>,
    /// Indices of the windows whose latch may be open.
    unlatched: Vec<u16>,
}

#[derive(Default)]
struct Entry {
    generation: u16,
    /// It stands in the list of active windows.
    is_listed: bool,
    /// It stands in the list of windows with promised locks.
    is_promising: bool,
    /// It stands in the list of windows whose latch may be open.
    is_unlatched: bool,
    /// Away while a handler works on it together with the rest of the engine's state.
    window: Option<Box<WindowState>>,
}

impl Windows {
    pub(crate) fn new() -> Self {
        Self {
            entries: Vec::new(),
            free: [u64::MAX; WORDS],
            offering: None,
            created: 0,
            live: 0,
            active: Vec::new(),
            promising: Vec::new(),
            unlatched: Vec::new(),
        }
    }

    /// The offer of creation number `creation`: the real set if no other creation offers it now.
    pub(crate) fn offer(&mut self, creation: u64) -> Offer {
        let is_real = *self.offering.get_or_insert(creation) == creation;
        let mut offer = if is_real { Offer::from_slice(&self.free) } else { SmallVec::from_elem(0, WORDS) };
        offer.push(if is_real { u64::MAX } else { 0 });
        offer
    }

    /// Reads the combined offers (bitwise and), and takes the index they agree on.
    pub(crate) fn agree(&mut self, creation: u64, combined: &[u64]) -> Agreement {
        let (words, all_real) = (&combined[..WORDS], combined[WORDS] == u64::MAX);
        let found = words.iter().enumerate().find(|(_, word)| **word != 0);
        match found {
            _ if !all_real => {
                self.withdraw(creation);
                Agreement::Retry
            }
            None => {
                self.withdraw(creation);
                Agreement::UsedUp
            }
            Some((at, word)) => {
                let bit = word.trailing_zeros();
                self.free[at] &= !(1 << bit);
                self.withdraw(creation);
                Agreement::Index((at * 64) as u16 + bit as u16)
            }
        }
    }

    /// Ends a creation's claim to offer the real set.
    pub(crate) fn withdraw(&mut self, creation: u64) {
        if self.offering == Some(creation) {
            self.offering = None;
        }
    }

    /// Creations that this process knows of.
    pub(crate) fn created(&self) -> u64 {
        self.created
    }

    /// Notes the agreed number of a creation; its low bits are the generation.
    pub(crate) fn set_created(&mut self, number: u64) {
        self.created = self.created.max(number);
    }

    /// Gives an index back that was agreed on.
    pub(crate) fn give_back(&mut self, index: u16) {
        self.free[usize::from(index) / 64] |= 1 << (index % 64);
    }

    /// Enters a window under the id it was made with.
    pub(crate) fn insert(&mut self, window: WindowState) {
        let id = window.shared.id;
        let at = usize::from(id.index);
        if self.entries.len() <= at {
            self.entries.resize_with(at + 1, Entry::default);
        }
        // The index may still be listed for the window that had it before.
        self.set_latch(&window);
        window.shared.active.set_calls(window.quick_calls());
        self.entries[at].generation = id.generation;
        self.entries[at].window = Some(Box::new(window));
        self.live += 1;
    }

    /// Removes a window for good and frees its index.
    pub(crate) fn remove(&mut self, id: WindowId) -> Option<Box<WindowState>> {
        let window = self.take_out(id)?;
        debug_assert!(window.lone.is_none(), "a window is removed when nothing waits for its targets");
        self.note_promises(id.index, false);
        self.give_back(id.index);
        self.live -= 1;
        Some(window)
    }

    /// A window where it lies. Who changes it knows that its targets may have a lone store besides, and that
    /// [`Windows::note_active`] must follow when the engine has something to do for it now. Others take it.
    pub(crate) fn get_mut(&mut self, id: WindowId) -> Option<&mut WindowState> {
        self.entry(id)?.window.as_deref_mut()
    }

    /// A window, to look at.
    pub(crate) fn get(&self, id: WindowId) -> Option<&WindowState> {
        let entry =
            self.entries.get(usize::from(id.index)).filter(|entry| entry.generation == id.generation)?;
        entry.window.as_deref()
    }

    /// Takes a window out, for [`State::take_window`](crate::progress::State::take_window); [`Windows::put_back`] must follow.
    pub(crate) fn take_out(&mut self, id: WindowId) -> Option<Box<WindowState>> {
        self.entry(id)?.window.take()
    }

    pub(crate) fn put_back(&mut self, window: Box<WindowState>) {
        let index = window.shared.id.index;
        self.note_promises(index, window.epoch.promised() > 0);
        self.set_latch(&window);
        window.shared.active.set_calls(window.quick_calls());
        self.list(index, window.is_active());
        self.entries[usize::from(index)].window = Some(window);
    }

    /// A window in which calls towards `rank` may work where it lies ([`WindowState::is_calm`]). When they have given the engine
    /// something to do, [`Windows::note_active`] must follow.
    pub(crate) fn calm(&mut self, id: WindowId, rank: Rank) -> Option<&mut WindowState> {
        self.get_mut(id).filter(|window| window.is_calm(rank))
    }

    /// Notes that a window which was changed where it lies has something to do.
    pub(crate) fn note_active(&mut self, id: WindowId) {
        self.list(id.index, true);
    }

    fn list(&mut self, index: u16, is_active: bool) {
        let entry = &mut self.entries[usize::from(index)];
        if is_active && !entry.is_listed {
            entry.is_listed = true;
            self.active.push(index);
        } else if !is_active && entry.is_listed && self.active.last() == Some(&index) {
            // The rest leave the list with the next step; the last, mostly the only one, leaves it where that costs nothing.
            entry.is_listed = false;
            self.active.pop();
        }
    }

    /// Ids of the windows with locks that have been called for and are not held yet, but for those that are taken out.
    pub(crate) fn promising(&self) -> SmallVec<[WindowId; 4]> {
        let id = |index: &u16| Some(self.entries[usize::from(*index)].window.as_deref()?.shared.id);
        self.promising.iter().filter_map(id).collect()
    }

    fn note_promises(&mut self, index: u16, is_promising: bool) {
        let entry = &mut self.entries[usize::from(index)];
        if entry.is_promising == is_promising {
            return;
        }
        entry.is_promising = is_promising;
        if !is_promising {
            // The others' latches open again when they are put back.
            self.promising.retain(|promising| *promising != index);
            return;
        }
        self.promising.push(index);
        for index in self.unlatched.drain(..) {
            let entry = &mut self.entries[usize::from(index)];
            entry.is_unlatched = false;
            entry.window.iter().for_each(|window| window.shared.latch.close());
        }
    }

    /// Decides whether lock calls may go past the engine.
    fn set_latch(&mut self, window: &WindowState) {
        let is_long = !self.promising.is_empty() || window.needs_long_way();
        window.shared.latch.set_long_way(is_long);
        let index = window.shared.id.index;
        let entry = &mut self.entries[usize::from(index)];
        if !is_long && !std::mem::replace(&mut entry.is_unlatched, true) {
            self.unlatched.push(index);
        }
    }

    /// Number of live windows.
    pub(crate) fn len(&self) -> usize {
        self.live
    }

    /// Ids of the windows that a step of the engine has something to do for.
    pub(crate) fn active(&mut self) -> SmallVec<[WindowId; 16]> {
        let Self { entries, active, .. } = self;
        let mut ids = SmallVec::new();
        active.retain(|index| {
            let entry = &mut entries[usize::from(*index)];
            let window = entry.window.as_deref().filter(|window| window.is_active());
            ids.extend(window.map(|window| window.shared.id));
            entry.is_listed = window.is_some();
            entry.is_listed
        });
        ids
    }

    /// Whether a step may have something to do for a window.
    pub(crate) fn has_active(&self) -> bool {
        !self.active.is_empty()
    }

    /// All windows, by index.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &WindowState> {
        self.entries.iter().filter_map(|entry| entry.window.as_deref())
    }

    /// Ids of all windows.
    pub(crate) fn all(&self) -> SmallVec<[WindowId; 16]> {
        self.iter().map(|window| window.shared.id).collect()
    }

    /// Recounts what is counted; for tests.
    ///
    /// # Errors
    /// A sentence about what is wrong.
    pub(crate) fn invariants(&self) -> Result<(), String> {
        if self.iter().count() != self.live {
            return Err(format!("{} windows live, {} counted", self.iter().count(), self.live));
        }
        for (index, entry) in self.entries.iter().enumerate() {
            let listed = self.active.iter().filter(|listed| usize::from(**listed) == index).count();
            if listed != usize::from(entry.is_listed) {
                return Err(format!("window index {index} is listed {listed} times"));
            }
            let Some(window) = entry.window.as_deref() else { continue };
            if window.is_active() && listed == 0 {
                return Err(format!("window index {index} is active, but not listed"));
            }
            window.epoch.invariants()?;
            let is_promising = self.promising.contains(&(index as u16));
            if is_promising != (window.epoch.promised() > 0) || is_promising != entry.is_promising {
                return Err(format!("window index {index} has promised locks, or is listed, but not both"));
            }
            let may_be_open = self.promising.is_empty() && entry.is_unlatched;
            if !may_be_open && !window.shared.latch.is_long_way() {
                return Err(format!("the latch of window index {index} is open, and should not be"));
            }
        }
        Ok(())
    }

    fn entry(&mut self, id: WindowId) -> Option<&mut Entry> {
        self.entries.get_mut(usize::from(id.index)).filter(|entry| entry.generation == id.generation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn combine(offers: &[Offer]) -> Vec<u64> {
        (0..offers[0].len()).map(|i| offers.iter().fold(u64::MAX, |a, offer| a & offer[i])).collect()
    }

    #[test]
    fn ranks_agree_on_the_lowest_index_free_on_all() {
        let (mut a, mut b) = (Windows::new(), Windows::new());
        a.free[0] &= !0b0111;
        b.free[0] &= !0b1001;
        let combined = combine(&[a.offer(1), b.offer(1)]);
        assert_eq!(a.agree(1, &combined), Agreement::Index(4));
        assert_eq!(b.agree(1, &combined), Agreement::Index(4));
        assert_eq!((a.free[0] & 0b11111, b.free[0] & 0b11111), (0b01000, 0b00110));
    }

    #[test]
    fn a_second_creation_waits_for_the_first_to_decide() {
        let mut windows = Windows::new();
        let first = windows.offer(1);
        let second = windows.offer(2);
        assert_eq!(windows.agree(2, &combine(&[second])), Agreement::Retry);
        assert_eq!(windows.agree(1, &combine(&[first])), Agreement::Index(0));
        let second = windows.offer(2);
        assert_eq!(windows.agree(2, &combine(&[second])), Agreement::Index(1));
    }

    #[test]
    fn running_out_is_said() {
        let mut windows = Windows::new();
        for expected in 0..MAX_WINDOWS {
            let offer = windows.offer(7);
            assert_eq!(windows.agree(7, &offer), Agreement::Index(expected as u16));
        }
        let offer = windows.offer(7);
        assert_eq!(windows.agree(7, &offer), Agreement::UsedUp);
        windows.give_back(77);
        let offer = windows.offer(7);
        assert_eq!(windows.agree(7, &offer), Agreement::Index(77));
    }
}
