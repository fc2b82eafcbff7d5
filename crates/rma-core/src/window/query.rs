//! What a window says of itself and of the memory it maps, and the hints that it was given.

use super::calls::Window;
use crate::error::{Error, ErrorClass, Result};
use crate::host::Group;
use crate::ids::Rank;
use crate::mem::WriteSpan;
use crate::state::{Flavor, Hints, WindowState};
use crate::stats::{Counters, Elements};

impl Window {
    /// The window's processes.
    pub fn group(&self) -> &Group {
        &self.shared().group
    }

    /// `MPI_Win_shared_query` (MPI 4.1 §12.2.3): memory and displacement unit of a rank, for loads and stores. `None` asks
    /// for the lowest rank that is mapped here and has memory, and so does [`Rank::NULL`]. Memory that is not mapped here is
    /// empty.
    ///
    /// # Errors
    /// `MPI_ERR_RANK`; `MPI_ERR_RMA_FLAVOR` for dynamic windows.
    ///
    /// # Safety
    /// As for [`Window::local`].
    pub unsafe fn shared_query(&self, rank: Option<Rank>) -> Result<(WriteSpan, u64)> {
        const CALL: &str = "win_shared_query";
        let shared = self.shared();
        if shared.flavor == Flavor::Dynamic {
            let cause = "the window is dynamic, and its memory is no segment of a size";
            return Err(Error::new(ErrorClass::RmaFlavor, CALL, cause));
        }
        let mapped = match rank {
            Some(rank) if rank != Rank::NULL => {
                shared.check_rank(rank, CALL)?;
                shared.mapped(rank)
            }
            Some(_) | None => shared.mapped.iter().find(|mapped| !mapped.span.is_empty()),
        };
        Ok(match mapped {
            Some(mapped) => (mapped.span, mapped.scale.unit()),
            None => (WriteSpan::EMPTY, shared.uniform.map_or(1, |(_, unit)| unit)),
        })
    }

    /// What the engine has done for this window; zeros when it has been freed. Operations in mapped memory are counted
    /// in a process that keeps statistics.
    pub fn counters(&self) -> Counters {
        self.engine().with(|core| {
            core.windows.get_mut(self.id()).map(|window| window.all_counters()).unwrap_or_default()
        })
    }

    /// The window's elements; none when it has been freed.
    pub fn elements(&self) -> Elements {
        let elements = |window: &mut WindowState| Elements {
            ops: window.op_share.in_use(),
            most_ops: window.op_share.most(),
            targets: window.target_share.in_use(),
            most_targets: window.target_share.most(),
        };
        self.engine().with(|core| core.windows.get_mut(self.id()).map(elements).unwrap_or_default())
    }

    /// The call that has opened the epoch that this rank is in, `lock` for example: one that a call of the program has to end, so
    /// none of fences.
    pub fn open_epoch(&self) -> Option<&'static str> {
        let opened = self.engine().with(|core| core.windows.get_mut(self.id())?.opened_by());
        opened.filter(|call| *call != "fence")
    }

    /// The hints in force: key and value (`MPI_Win_get_info`).
    pub fn hints(&self) -> Vec<(&'static str, String)> {
        self.shared().hints.lock().report(self.flavor())
    }

    /// Whether the program has said that it never locks the window.
    pub fn has_no_locks(&self) -> bool {
        self.shared().hints.lock().no_locks()
    }

    /// Takes over hints, but for those that only a creation can follow (`MPI_Win_set_info`, collective in the
    /// standard; here each rank has its own).
    pub fn set_hints(&self, hints: &Hints) {
        self.shared().hints.lock().update(hints);
    }
}
