//! One window's side of a pool: what is reserved for it, and what it uses.
//!
//! Invariant: `own_used <= reserved`. The numbers change only in the methods `charge`, `charge_extra`
//! and `credit`.

/// A window's reserved elements in one pool, made by [`super::GlobalPool::open_share`] and given back by
/// [`super::GlobalPool::close_share`]. Holds numbers only; the elements live in the pool.
#[derive(Debug)]
pub struct LocalShare {
    id: u32,
    reserved: u32,
    own_used: u32,
    borrowed: u32,
    extra: u32,
    most: u32,
}

/// Which level an element is counted at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    Window,
    Global,
    /// At none: beyond what there is.
    Extra,
}

impl LocalShare {
    pub(super) fn new(id: u32, reserved: u32) -> Self {
        Self { id, reserved, own_used: 0, borrowed: 0, extra: 0, most: 0 }
    }

    /// Elements that only this window may use.
    pub fn reserved(&self) -> u32 {
        self.reserved
    }

    /// Elements the window holds, its own, borrowed and extra ones.
    pub fn in_use(&self) -> u32 {
        self.own_used + self.borrowed + self.extra
    }

    /// Elements the window holds beyond its own.
    pub fn borrowed(&self) -> u32 {
        self.borrowed
    }

    /// Most elements that the window has held at once.
    pub fn most(&self) -> u32 {
        self.most
    }

    pub(super) fn id(&self) -> u32 {
        self.id
    }

    pub(super) fn own_used(&self) -> u32 {
        self.own_used
    }

    /// Whether the next element comes from the window's own.
    #[inline]
    pub fn has_own(&self) -> bool {
        self.own_used < self.reserved
    }

    /// Counts one more element, the window's own first. The caller has room at the global level when there is none.
    #[inline]
    pub(super) fn charge(&mut self) -> Level {
        let level = if self.has_own() {
            self.own_used += 1;
            Level::Window
        } else {
            self.borrowed += 1;
            Level::Global
        };
        self.most = self.most.max(self.in_use());
        level
    }

    /// Counts one element more, which no other share loses.
    pub(super) fn charge_extra(&mut self) {
        self.extra += 1;
        self.most = self.most.max(self.in_use());
    }

    /// Counts one element less: an extra one first, then the window's own, until the window has all of its own back.
    #[inline]
    pub(super) fn credit(&mut self) -> Level {
        if self.extra > 0 {
            self.extra -= 1;
            Level::Extra
        } else if self.own_used > 0 {
            self.own_used -= 1;
            Level::Window
        } else {
            self.borrowed -= 1;
            Level::Global
        }
    }
}
