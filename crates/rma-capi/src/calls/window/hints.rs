//! The calls on the hints of a window (MPI 5.0 §12.2.7).

use crate::abi::*;
use crate::arguments::Out;
use crate::entry::entry;
use crate::errors::Raiser;
use crate::info::{self, Info, failure};
use crate::window::{get, hints};

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
