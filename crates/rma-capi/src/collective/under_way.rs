//! A collective under way, and where its result goes.

use super::begin::Call;
use crate::abi::MPI_Request;
use crate::arguments::Out;
use crate::errors::Raiser;
use crate::request::{End, Pending, Status, enter, wait_for};
use crate::runtime::Process;
use rma::Result;
use rma::raw::CollectiveRequest;

/// A collective that stores its result itself.
pub(super) struct UnderWay {
    process: &'static Process,
    raiser: Raiser,
    pending: Box<dyn Pending>,
}

/// A collective whose result is stored when its end is taken.
struct Storing<T, F> {
    request: CollectiveRequest<T>,
    store: F,
}

impl UnderWay {
    /// `store` puts the result into the program's memory.
    pub(super) fn storing<T, F>(call: Call, request: CollectiveRequest<T>, store: F) -> Self
    where
        T: Send + 'static,
        F: FnMut(T) -> Result<()> + Send + 'static,
    {
        Self { process: call.process, raiser: call.raiser(), pending: Box::new(Storing { request, store }) }
    }

    /// Waits for the end.
    ///
    /// # Errors
    /// What it ends with.
    pub(super) fn wait(mut self) -> Result<()> {
        wait_for(self.process, &mut *self.pending, None)
    }

    /// Makes it a request of the program, whose errors are the communicator's.
    ///
    /// # Errors
    /// `MPI_ERR_NO_MEM` when no handle is left.
    pub(super) fn enter(self, request: Out<MPI_Request>) -> Result<()> {
        request.set("request", enter(self.pending, self.raiser)?)
    }
}

impl<T: Send, F: FnMut(T) -> Result<()> + Send> Pending for Storing<T, F> {
    fn take_end(&mut self) -> Option<End> {
        let stored = self.request.take()?.and_then(&mut self.store);
        Some(End::from(stored.map(|()| Status::EMPTY)))
    }
}
