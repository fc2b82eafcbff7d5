//! Hints on communicators (MPI 5.0 §7.4.4).
//!
//! The library needs none of them. It keeps those that the standard names, so that a program can see what it has promised,
//! and relies on none. One of its own is about the job ([`failure`]).

use crate::abi::*;
use crate::arguments::Out;
use crate::entry::entry;
use crate::errors::Raiser;
use crate::info::{self, Info, failure};
use parking_lot::Mutex;
use rma::Result;

const NAMES: [&str; 4] = [
    "mpi_assert_no_any_tag",
    "mpi_assert_no_any_source",
    "mpi_assert_exact_length",
    "mpi_assert_allow_overtaking",
];

/// What a program has promised: true or not, in the order of [`NAMES`].
#[derive(Debug, Default)]
pub(crate) struct Hints(Mutex<[Option<bool>; NAMES.len()]>);

impl Hints {
    fn update(&self, info: &Info) {
        let mut hints = self.0.lock();
        for (hint, name) in hints.iter_mut().zip(NAMES) {
            // Other values are no hints, and ignored as the standard has it.
            match info.text(name).as_deref() {
                Some("true") => *hint = Some(true),
                Some("false") => *hint = Some(false),
                _ => {}
            }
        }
    }

    fn to_info(&self) -> Info {
        let hints = *self.0.lock();
        let known = hints.iter().zip(NAMES).filter_map(|(hint, name)| Some((name, (*hint)?.to_string())));
        Info::of(known.collect::<Vec<_>>())
    }
}

/// The hints of a new communicator, as far as they are for that.
pub(super) fn given(info: MPI_Info) -> Result<Hints> {
    let hints = Hints::default();
    if let Some(info) = info::get_optional(info)? {
        failure::heed(info)?;
        hints.update(info);
    }
    Ok(hints)
}

entry! {
    /// `MPI_Comm_set_info`.
    fn MPI_Comm_set_info(comm: MPI_Comm, info: MPI_Info) raises Raiser::Comm(comm); |process| {
        let (comm, info) = (process.comm(comm)?, info::get(info)?);
        comm.hints.update(info);
        failure::heed(info)
    }

    /// `MPI_Comm_get_info`.
    fn MPI_Comm_get_info(comm: MPI_Comm, info_used: Out<MPI_Info>) raises Raiser::Comm(comm); |process| {
        info_used.check("info_used")?;
        let known = failure::tell(process, process.comm(comm)?.hints.to_info());
        info_used.set("info_used", info::enter(known)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_hints_are_kept_and_others_ignored() {
        let info = |value: &str| {
            let pairs = [("mpi_assert_no_any_tag", value), ("no_such_hint", "true")];
            Info::of(pairs.map(|(key, value)| (key, value.to_owned())))
        };
        let hints = Hints::default();
        hints.update(&info("yes"));
        assert_eq!(hints.to_info().text("mpi_assert_no_any_tag"), None);
        hints.update(&info("true"));
        hints.update(&info("false"));
        assert_eq!(hints.to_info().text("mpi_assert_no_any_tag").as_deref(), Some("false"));
        assert_eq!(hints.to_info().text("no_such_hint"), None);
    }
}
