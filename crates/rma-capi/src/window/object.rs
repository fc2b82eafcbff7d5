//! A window and its table.

use crate::abi::{MPI_Aint, MPI_Count, MPI_WIN_NULL, MPI_WIN_UNIFIED, MPI_Win};
use crate::attributes::Attributes;
use crate::errors::{Attached, Raiser, Subject};
use crate::handle::Table;
use crate::name::Name;
use rma::{Error, ErrorClass, Group, Result};
use rma_core::notify;
use rma_core::window::Window;
use std::ffi::c_int;
use std::sync::Arc;

/// A window of the program.
pub(crate) struct Win {
    pub(crate) inner: Window,
    pub(crate) handler: Arc<Attached>,
    /// The processes, in rank order.
    pub(crate) members: Group,
    pub(crate) name: Name,
    pub(crate) attributes: Attributes,
    pub(crate) facts: Facts,
    /// Windows over whose memory this one lies.
    memory_of: Vec<Window>,
}

/// What the predefined attributes tell. Programs get addresses of these values, which stay as long as the window.
pub(crate) struct Facts {
    pub(crate) base: usize,
    pub(crate) size: MPI_Aint,
    pub(crate) disp_unit: c_int,
    pub(crate) flavor: c_int,
    pub(crate) model: c_int,
    /// Counters of notification that the rank has room for.
    pub(crate) counters: c_int,
    /// What none of them exceeds.
    pub(crate) counter_limit: MPI_Count,
}

/// The lowest index of a window: no handle of index 0 is one, so a word of zeros is none ([`super::handle_cache`]).
pub(super) const FIRST_INDEX: u32 = 1;

pub(crate) static WINDOWS: Table<MPI_Win, Win> = Table::beginning_at(FIRST_INDEX);

impl Win {
    pub(super) fn new(
        inner: Window,
        members: Group,
        flavor: c_int,
        base: usize,
        size: MPI_Aint,
        disp_unit: u64,
        memory_of: Vec<Window>,
    ) -> Self {
        // Units that no `int` holds come from the call with large ones, whose programs do not ask for the attribute.
        let disp_unit = c_int::try_from(disp_unit).unwrap_or(c_int::MAX);
        let counters = c_int::try_from(notify::room_for_counters(&inner)).unwrap_or(c_int::MAX);
        let model = MPI_WIN_UNIFIED;
        let facts = Facts { base, size, disp_unit, flavor, model, counters, counter_limit: MPI_Count::MAX };
        Self {
            inner,
            members,
            handler: Arc::new(Attached::fatal()),
            name: Name::default(),
            attributes: Attributes::new(),
            facts,
            memory_of,
        }
    }

    /// What a window over this one's memory has to keep.
    pub(crate) fn memory(&self) -> Vec<Window> {
        let given = self.memory_of.iter();
        given.chain([&self.inner]).cloned().collect()
    }

    /// The handler for errors of what outlives a call; `handle` is this window's.
    pub(crate) fn raiser(&self, handle: MPI_Win) -> Raiser {
        Raiser::Known(Arc::clone(&self.handler), Subject::Win(handle))
    }
}

/// The window of a handle.
#[inline]
pub(crate) fn find(win: MPI_Win) -> Option<&'static Win> {
    // SAFETY: MPI forbids to free a window while another thread passes it to a call.
    unsafe { WINDOWS.get(win) }
}

/// As [`find`], or the error that says what is wrong with the handle.
#[inline]
pub(crate) fn get(win: MPI_Win) -> Result<&'static Win> {
    find(win).ok_or_else(|| unknown(win))
}

#[cold]
fn unknown(win: MPI_Win) -> Error {
    let cause = match win {
        MPI_WIN_NULL => "win is MPI_WIN_NULL".to_owned(),
        win => format!("win {:#x} is no window, or was freed", win.0),
    };
    Error::new(ErrorClass::Win, "", cause)
}
