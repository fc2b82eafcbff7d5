//! What the honest ranks own and know: guarded memory, and what their own window must hold.

use rma_core::datatype::{BasicType, Datatype};
use rma_core::error::Result;
use rma_core::ids::{Disp, Rank};
use rma_core::mem::{ReadSpan, WriteSpan};
use rma_core::notify::Notifying;
use rma_core::window::{Origin, TargetArea, Window};
use std::cell::UnsafeCell;

/// Bytes on either side that are never written.
const GUARD: usize = 4096;
const MARK: u8 = 0xa7;

/// Stores a 64-bit number, and raises a counter of the target's; `false` when there is no room for it now.
pub(super) fn try_put_notify(
    window: &Window,
    origin: ReadSpan,
    target: Rank,
    disp: Disp,
    counter: u32,
) -> Result<bool> {
    let ty = Datatype::basic(BasicType::U64);
    assert_eq!(origin.len(), 8);
    let origin = Origin { base: origin.as_ptr(), count: 1, ty: &ty };
    let area = TargetArea { disp, count: 1, ty: &ty };
    // SAFETY: the origin is a span of eight bytes.
    unsafe { Notifying::of(window, counter).try_put_typed(origin, target, area) }
}

/// Memory with guards around it.
#[derive(Debug)]
pub(super) struct Guarded {
    cells: Box<[UnsafeCell<u8>]>,
}

impl Guarded {
    /// `len` zero bytes between guards.
    pub(super) fn new(len: usize) -> Self {
        let byte = |at: usize| if (GUARD..GUARD + len).contains(&at) { 0 } else { MARK };
        Self { cells: (0..len + 2 * GUARD).map(|at| UnsafeCell::new(byte(at))).collect() }
    }

    fn all(&self) -> WriteSpan {
        // SAFETY: the cells may be written through a shared reference, live as long as this value, which outlives every
        // window and operation that its maker gives the memory to, and are read through spans only.
        unsafe { WriteSpan::new(UnsafeCell::raw_get(self.cells.as_ptr()), self.cells.len()) }
    }

    /// The bytes between the guards.
    pub(super) fn inner(&self) -> WriteSpan {
        self.all().part(GUARD, self.cells.len() - 2 * GUARD)
    }

    /// The bytes between the guards, to be read.
    pub(super) fn source(&self) -> ReadSpan {
        self.inner().as_read()
    }

    /// Stores 64-bit numbers from the first byte on.
    pub(super) fn store(&self, values: &[u64]) {
        for (at, value) in values.iter().enumerate() {
            self.inner().part(8 * at, 8).write(&value.to_ne_bytes());
        }
    }

    /// The 64-bit number at an index.
    pub(super) fn load(&self, at: usize) -> u64 {
        let mut bytes = [0; 8];
        self.inner().part(8 * at, 8).as_read().read(&mut bytes);
        u64::from_ne_bytes(bytes)
    }

    /// # Panics
    /// When a guard was written to.
    pub(super) fn check(&self) {
        let mut bytes = vec![0; self.cells.len()];
        self.all().as_read().read(&mut bytes);
        let inner = self.cells.len() - 2 * GUARD;
        let is_intact = |guard: &[u8]| guard.iter().all(|byte| *byte == MARK);
        assert!(is_intact(&bytes[..GUARD]), "bytes in front of memory were written");
        assert!(is_intact(&bytes[GUARD + inner..]), "bytes behind memory were written");
    }
}
