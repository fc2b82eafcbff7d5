//! The process's windows by id, and the lists of those that need something.

use super::WindowState;
use super::indices::Indices;
use crate::ids::{Rank, WindowId};
use smallvec::SmallVec;

/// All windows of an engine.
pub(crate) struct Windows {
    entries: Vec<Entry>,
    pub(crate) indices: Indices,
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
    /// For so many windows at a time.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            entries: Vec::new(),
            indices: Indices::new(most),
            live: 0,
            active: Vec::new(),
            promising: Vec::new(),
            unlatched: Vec::new(),
        }
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
        self.note_promises(id.index, false);
        self.indices.give_back(id.index);
        self.live -= 1;
        Some(window)
    }

    /// A window where it lies. [`Windows::note_active`] must follow when the engine has something to do for it now. Others take it.
    pub(crate) fn get_mut(&mut self, id: WindowId) -> Option<&mut WindowState> {
        self.entry(id)?.window.as_deref_mut()
    }

    /// A window, to look at.
    pub(crate) fn get(&self, id: WindowId) -> Option<&WindowState> {
        let entry =
            self.entries.get(usize::from(id.index)).filter(|entry| entry.generation == id.generation)?;
        entry.window.as_deref()
    }

    /// Takes a window out, for [`State::take_window`](super::State::take_window); [`Windows::put_back`] must follow.
    pub(crate) fn take_out(&mut self, id: WindowId) -> Option<Box<WindowState>> {
        self.entry(id)?.window.take()
    }

    pub(crate) fn put_back(&mut self, window: Box<WindowState>) {
        let index = window.shared.id.index;
        self.note_promises(index, window.epoch.has_promises());
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

    /// Whether there was a window of this id, which is gone.
    pub(crate) fn has_been(&self, id: WindowId) -> bool {
        let entry = self.entries.get(usize::from(id.index));
        entry.is_some_and(|entry| entry.generation == id.generation && entry.window.is_none())
    }

    /// Whether windows are being made that have no index yet.
    pub(crate) fn is_making(&self) -> bool {
        self.indices.is_asked()
    }

    /// Whether the creation of this number waits for others of this process.
    pub(crate) fn is_behind(&self, creation: u64) -> bool {
        self.indices.is_behind(creation)
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
        self.indices.invariants(self.iter().map(|window| window.shared.id.index))?;
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
            if is_promising != window.epoch.has_promises() || is_promising != entry.is_promising {
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
