//! The hints of a window, as info objects have them (MPI 5.0 §12.2.7). What they are and mean, the engine knows.

use crate::abi::MPI_Info;
use crate::info::{self, failure};
use rma::Result;
use rma_core::window::Hints;

/// What an info object has to say of a window.
pub(crate) fn hints(info: MPI_Info) -> Result<Hints> {
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
