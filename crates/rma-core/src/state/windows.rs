//! The process's windows by id, and the lists of those that need something.
//!
//! A change of a window borrows it together with the rest of the engine's state ([`Windows::borrow`]). When
//! the borrow ends, what others know of the window (which lists it stands in, which calls may bypass the
//! engine) is compared with what it is now. Where a protocol changes nothing but operations, it has the
//! window alone ([`Windows::get_mut`]).

use super::indices::Indices;
use super::{Shared, State, WindowState};
use crate::ids::WindowId;
use smallvec::SmallVec;
use std::sync::Arc;

/// All windows of an engine.
pub(crate) struct Windows {
    entries: Vec<WindowEntry>,
    lists: Lists,
    pub(crate) indices: Indices,
    /// Windows in the table.
    live: usize,
}

#[derive(Default)]
struct WindowEntry {
    /// Of the window, or of the last one that was here.
    generation: Option<u16>,
    window: Option<Box<WindowState>>,
}

/// What is known of windows without looking at them.
#[derive(Default)]
struct Lists {
    /// In which of the lists a window stands, by its index.
    places: Vec<ListsOfWindow>,
    /// Indices of the windows that may have something to do, in the order in which that began: idle windows cost nothing.
    active: Vec<u16>,
    /// Windows with locks that have been called for and are not held yet. As long as there is one, lock calls take the slow path in
    /// every window, since they may have to see to those locks first.
    promising: Vec<WindowId>,
    /// The windows whose access state may be left to calls.
    left: Vec<Arc<Shared>>,
}

#[derive(Clone, Copy, Default)]
struct ListsOfWindow {
    is_active: bool,
    is_promising: bool,
    is_left: bool,
}

/// A window borrowed together with the state that all windows share.
pub(crate) struct WindowContext<'a> {
    pub(crate) window: &'a mut WindowState,
    pub(crate) state: &'a mut State,
    lists: &'a mut Lists,
}

impl WindowContext<'_> {
    /// Both parts.
    #[inline]
    pub(crate) fn split(&mut self) -> (&mut State, &mut WindowState) {
        (self.state, self.window)
    }
}

impl Drop for WindowContext<'_> {
    fn drop(&mut self) {
        self.lists.note(self.window);
    }
}

impl Lists {
    /// Takes note of what has become of a window.
    fn note(&mut self, window: &WindowState) {
        let id = window.shared.id;
        self.note_promises(id, window.epoch.has_promises());
        self.set_owner(window);
        window.shared.active.set_calls(window.fast_calls());
        self.set_active(id.index, window.is_active());
    }

    #[inline]
    fn set_active(&mut self, index: u16, is_active: bool) {
        let places = &mut self.places[usize::from(index)];
        if is_active && !places.is_active {
            places.is_active = true;
            self.active.push(index);
        } else if !is_active && places.is_active && self.active.last() == Some(&index) {
            // The rest leave the list with the next step; the last, mostly the only one, leaves it where that costs nothing.
            places.is_active = false;
            self.active.pop();
        }
    }

    fn note_promises(&mut self, id: WindowId, is_promising: bool) {
        let places = &mut self.places[usize::from(id.index)];
        if places.is_promising == is_promising {
            return;
        }
        places.is_promising = is_promising;
        if !is_promising {
            // The others are left to calls again when they are changed next.
            self.promising.retain(|promising| promising.index != id.index);
            return;
        }
        self.promising.push(id);
        for shared in self.left.drain(..) {
            self.places[usize::from(shared.id.index)].is_left = false;
            shared.access.own();
        }
    }

    /// Decides whether lock calls may go past the engine.
    #[inline]
    fn set_owner(&mut self, window: &WindowState) {
        let is_owned = !self.promising.is_empty() || window.needs_owner();
        window.shared.access.set_owned(is_owned);
        let places = &mut self.places[usize::from(window.shared.id.index)];
        if !is_owned && !std::mem::replace(&mut places.is_left, true) {
            self.left.push(Arc::clone(&window.shared));
        }
    }

    /// A window is gone.
    fn forget(&mut self, id: WindowId) {
        self.note_promises(id, false);
        if std::mem::take(&mut self.places[usize::from(id.index)].is_left) {
            self.left.retain(|shared| shared.id.index != id.index);
        }
    }
}

impl Windows {
    /// For so many windows at a time.
    pub(crate) fn new(most: usize) -> Self {
        Self { entries: Vec::new(), lists: Lists::default(), indices: Indices::new(most), live: 0 }
    }

    /// Enters a window under the id it was made with.
    pub(crate) fn insert(&mut self, window: WindowState) {
        let id = window.shared.id;
        let at = usize::from(id.index);
        if self.entries.len() <= at {
            self.entries.resize_with(at + 1, WindowEntry::default);
            self.lists.places.resize(at + 1, ListsOfWindow::default());
        }
        // The index may still be listed as active for the window that had it before.
        self.lists.set_owner(&window);
        window.shared.active.set_calls(window.fast_calls());
        self.entries[at] = WindowEntry { generation: Some(id.generation), window: Some(Box::new(window)) };
        self.live += 1;
    }

    /// Removes a window for good and frees its index.
    pub(crate) fn remove(&mut self, id: WindowId) -> Option<Box<WindowState>> {
        let window = self.entry(id)?.window.take()?;
        self.lists.forget(id);
        self.indices.give_back(id.index);
        self.live -= 1;
        Some(window)
    }

    /// A window with the rest of the state, to be changed.
    #[inline]
    pub(crate) fn borrow<'a>(&'a mut self, state: &'a mut State, id: WindowId) -> Option<WindowContext<'a>> {
        let entry = self.entries.get_mut(usize::from(id.index)).filter(|entry| entry.is_of(id))?;
        let window = entry.window.as_deref_mut()?;
        Some(WindowContext { window, state, lists: &mut self.lists })
    }

    /// Changes nothing but the operations of a window, and lists it when the engine has something to do for it then.
    #[inline]
    pub(crate) fn operate<T>(
        &mut self,
        id: WindowId,
        change: impl FnOnce(&mut WindowState) -> Option<T>,
    ) -> Option<T> {
        let window = self.get_mut(id)?;
        let changed = change(window)?;
        // What else keeps a window active does not come about by operations.
        if window.needs_issue {
            self.note_active(id);
        }
        Some(changed)
    }

    /// A window of which nothing changes but its operations. [`Windows::note_active`] must follow when the engine has something to do for
    /// it now: [`Windows::operate`] does both.
    #[inline]
    pub(crate) fn get_mut(&mut self, id: WindowId) -> Option<&mut WindowState> {
        self.entry(id)?.window.as_deref_mut()
    }

    /// A window, to look at.
    pub(crate) fn get(&self, id: WindowId) -> Option<&WindowState> {
        self.entries.get(usize::from(id.index)).filter(|entry| entry.is_of(id))?.window.as_deref()
    }

    /// Notes that a window has something to do.
    #[inline]
    pub(crate) fn note_active(&mut self, id: WindowId) {
        self.lists.set_active(id.index, true);
    }

    /// Ids of the windows with locks that have been called for and are not held yet.
    pub(crate) fn promising(&self) -> SmallVec<[WindowId; 4]> {
        self.lists.promising.iter().copied().collect()
    }

    /// Whether there may have been a window of this id, which is gone. Another one may have its index by now: of two, the one that was
    /// begun after the other's end has the later generation.
    pub(crate) fn has_been(&self, id: WindowId) -> bool {
        let entry = self.entries.get(usize::from(id.index));
        entry.is_some_and(|entry| match entry.generation {
            None => false,
            Some(latest) if latest == id.generation => entry.window.is_none(),
            Some(latest) => is_before(id.generation, latest),
        })
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
        let Self { entries, lists: Lists { active, places, .. }, .. } = self;
        let mut ids = SmallVec::new();
        active.retain(|index| {
            let index = usize::from(*index);
            let window = entries[index].window.as_deref().filter(|window| window.is_active());
            ids.extend(window.map(|window| window.shared.id));
            places[index].is_active = window.is_some();
            window.is_some()
        });
        ids
    }

    /// Whether a step may have something to do for a window.
    pub(crate) fn has_active(&self) -> bool {
        !self.lists.active.is_empty()
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
        let Lists { places, active, promising, .. } = &self.lists;
        for (index, (entry, places)) in self.entries.iter().zip(places).enumerate() {
            let listed = active.iter().filter(|listed| usize::from(**listed) == index).count();
            if listed != usize::from(places.is_active) {
                return Err(format!("window index {index} is listed {listed} times"));
            }
            let Some(window) = entry.window.as_deref() else { continue };
            if window.is_active() && listed == 0 {
                return Err(format!("window index {index} is active, but not listed"));
            }
            window.epoch.invariants()?;
            let is_promising = promising.contains(&window.shared.id);
            if is_promising != window.epoch.has_promises() || is_promising != places.is_promising {
                return Err(format!("window index {index} has promised locks, or is listed, but not both"));
            }
            let may_be_open = promising.is_empty() && places.is_left;
            if !may_be_open && !window.shared.access.is_owned() {
                return Err(format!(
                    "the access state of window index {index} is left to calls, and should not be"
                ));
            }
        }
        Ok(())
    }

    fn entry(&mut self, id: WindowId) -> Option<&mut WindowEntry> {
        self.entries.get_mut(usize::from(id.index)).filter(|entry| entry.is_of(id))
    }
}

impl WindowEntry {
    #[inline]
    fn is_of(&self, id: WindowId) -> bool {
        self.generation == Some(id.generation)
    }
}

/// Whether a generation is one of the 2¹⁵ before another.
fn is_before(generation: u16, other: u16) -> bool {
    (generation.wrapping_sub(other) as i16) < 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generations_are_in_a_circle() {
        for (earlier, later) in [(0, 1), (7, 9), (u16::MAX, 0), (65_000, 30_000)] {
            assert!(is_before(earlier, later) && !is_before(later, earlier), "{earlier} and {later}");
        }
        assert!(!is_before(5, 5));
    }

    #[test]
    fn an_index_that_no_window_had_has_been_none() {
        let mut windows = Windows::new(4);
        windows.entries.resize_with(2, WindowEntry::default);
        for id in [(0, 0), (1, u16::MAX), (3, 0)].map(|(index, generation)| WindowId { index, generation }) {
            assert!(!windows.has_been(id) && windows.get(id).is_none(), "{id}");
        }
    }
}
