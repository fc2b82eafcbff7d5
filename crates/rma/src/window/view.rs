//! The view of window memory that this process can load from and store to.

use crate::elements::{Element, bytes_of, read_span, write_span};
use rma_core::ids::Rank;
use rma_core::mem::WriteSpan;
use rma_core::window::Window;
use std::fmt;
use std::marker::PhantomData;

/// Window memory as elements, without a reference to it: other processes may write it at any time (MPI 3.1
/// §11.4, unified model). Single elements of 1, 2, 4 or 8 bytes are read and written in one relaxed atomic
/// access; longer ones and ranges by a copy that may show a mix of old and new during a write.
pub struct View<'w, T> {
    span: WriteSpan,
    window: PhantomData<(&'w (), T)>,
}

impl<'w, T: Element> View<'w, T> {
    /// The memory that this rank exposes.
    pub(super) fn own(window: &'w Window) -> Self {
        // SAFETY: a typed window is freed by value, and the view borrows it.
        Self { span: unsafe { window.local() }, window: PhantomData }
    }

    /// The memory that `rank` exposes, when it is mapped in this process.
    pub(super) fn mapped(window: &'w Window, rank: Rank) -> Option<Self> {
        // SAFETY: as for `own`.
        let (span, _unit) = unsafe { window.mapped(rank) }?;
        Some(Self { span, window: PhantomData })
    }

    /// Memory that is attached.
    ///
    /// # Safety
    /// It stays attached for `'w`.
    pub(super) unsafe fn of(span: WriteSpan) -> Self {
        Self { span, window: PhantomData }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.span.len() / size_of::<T>().max(1)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Loads element `index`.
    ///
    /// # Panics
    /// When `index` is not below [`View::len`].
    pub fn get(&self, index: usize) -> T {
        let mut value = T::zeroed();
        self.read(index, std::slice::from_mut(&mut value));
        value
    }

    /// Stores element `index`.
    ///
    /// # Panics
    /// When `index` is not below [`View::len`].
    pub fn set(&self, index: usize, value: T) {
        self.part(index, 1).write(bytes_of(&value));
    }

    /// Copies elements from `index` on out of the window.
    ///
    /// # Panics
    /// When the range does not lie within the view.
    pub fn read(&self, index: usize, into: &mut [T]) {
        // SAFETY: the span is used only within this call, while `into` is borrowed.
        let into_span = unsafe { write_span(into) };
        into_span.write_from(self.part(index, into.len()).as_read());
    }

    /// Copies elements into the window from `index` on.
    ///
    /// # Panics
    /// When the range does not lie within the view.
    pub fn write(&self, index: usize, from: &[T]) {
        // SAFETY: the span is used only within this call, while `from` is borrowed.
        let from_span = unsafe { read_span(from) };
        self.part(index, from.len()).write_from(from_span);
    }

    /// All elements, copied.
    pub fn to_vec(&self) -> Vec<T> {
        let mut all = vec![T::zeroed(); self.len()];
        self.read(0, &mut all);
        all
    }

    /// Address of the first element, for code that knows what it does. Valid while the window lives.
    pub fn as_mut_ptr(&self) -> *mut T {
        self.span.as_mut_ptr().cast()
    }

    fn part(&self, index: usize, count: usize) -> WriteSpan {
        let len = self.len();
        assert!(
            index <= len && count <= len - index,
            "elements {index}..+{count} are not in a view of {len}"
        );
        self.span.part(index * size_of::<T>(), count * size_of::<T>())
    }
}

impl<T: Element> fmt::Debug for View<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "View of {} elements", self.len())
    }
}
