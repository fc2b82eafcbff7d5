//! Where an error belongs. Which handler that is in the end is looked for when it is raised, by [`crate::entry`].

use super::handler::{Attached, Subject};
use crate::abi::{MPI_Comm, MPI_Session, MPI_Win};
use rma::Error;
use std::sync::Arc;

/// The object whose handler gets the errors of a call.
#[derive(Clone)]
pub(crate) enum Raiser {
    /// No object: the handler of `MPI_COMM_SELF` (MPI 4.1 §9.3), or that of `MPI_COMM_WORLD` (MPI 3.1 §8.3) when only that one
    /// was set.
    None,
    Comm(MPI_Comm),
    Win(MPI_Win),
    Session(MPI_Session),
    /// One that may be freed before the error is raised: its handler, and what that is called for.
    Known(Arc<Attached>, Subject),
}

/// An error, and the object whose handler gets it.
pub(crate) struct Failure {
    pub(crate) error: Error,
    pub(crate) raiser: Raiser,
}

/// An error that belongs to no object.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { error, raiser: Raiser::None }
    }
}
