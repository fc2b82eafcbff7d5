//! The hints of a window, as info objects (MPI 5.0 §12.2.7). What they are and mean, the engine knows.

use super::get;
use crate::abi::*;
use crate::arguments::Out;
use crate::entry::entry;
use crate::errors::Raiser;
use crate::info::{self, Info, failure};
use rma::Result;
use rma_core::window::Hints;

entry! {
    /// `MPI_Win_set_info` (§12.2.7).
    fn MPI_Win_set_info(win: MPI_Win, info: MPI_Info) raises Raiser::Win(win); |_| {
        let window = get(win)?;
        info::get(info)?;
        window.inner.set_hints(&hints(info)?);
        Ok(())
    }

    /// `MPI_Win_get_info` (§12.2.7).
    fn MPI_Win_get_info(win: MPI_Win, info_used: Out<MPI_Info>) raises Raiser::Win(win); |process| {
        let window = get(win)?;
        info_used.check("info_used")?;
        let known = failure::tell(process, Info::of(window.inner.hints()));
        info_used.set("info_used", info::enter(known)?)
    }
}

/// What an info object has to say of a window.
pub(super) fn hints(info: MPI_Info) -> Result<Hints> {
    let mut hints = Hints::default();
    if let Some(info) = info::get_optional(info)? {
        failure::heed(info)?;
        for key in Hints::keys() {
            if let Some(value) = info.text(key) {
                // A value that says nothing is ignored, like an unknown key (§12.2.1).
                let _is_understood = hints.set(key, &value);
            }
        }
    }
    Ok(hints)
}
