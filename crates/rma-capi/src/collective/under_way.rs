//! A collective under way, and where its result goes.

use super::begin::Call;
use crate::abi::MPI_Request;
use crate::arguments::Out;
use crate::errors::Raiser;
use crate::process::{Process, Sought};
use crate::request::{End, Pending, Status, enter, wait_for};
use rma::Result;
use rma::raw::CollectiveRequest;

/// A collective that stores its result itself.
pub(crate) struct StoringCollective {
    process: &'static Process,
    raiser: Raiser,
    /// Nothing when it is over: a blocking collective may be, before it is waited for.
    pending: Option<Box<dyn Pending>>,
}

/// A collective whose result is stored when its end is taken.
struct Storing<T, F> {
    request: CollectiveRequest<T>,
    store: F,
}

impl StoringCollective {
    /// `store` puts the result into the program's memory.
    pub(crate) fn storing<T, F>(call: Call, request: CollectiveRequest<T>, store: F) -> Self
    where
        T: Send + 'static,
        F: FnMut(T) -> Result<()> + Send + 'static,
    {
        let pending: Box<dyn Pending> = Box::new(Storing { request, store });
        Self { process: call.process, raiser: call.raiser(), pending: Some(pending) }
    }

    /// A blocking collective that is over, and has stored its result.
    pub(crate) fn over(call: Call) -> Self {
        Self { process: call.process, raiser: call.raiser(), pending: None }
    }

    /// Waits for the end.
    ///
    /// # Errors
    /// What it ends with.
    pub(crate) fn wait(mut self) -> Result<()> {
        self.pending.as_deref_mut().map_or(Ok(()), |pending| wait_for(self.process, pending, None))
    }

    /// Makes it a request of the program, whose errors are the communicator's.
    ///
    /// # Errors
    /// `MPI_ERR_NO_MEM` when no handle is left.
    pub(crate) fn enter(self, request: Out<MPI_Request>) -> Result<()> {
        let raiser = self.raiser.clone();
        request.set("request", enter(self.into_pending(), raiser)?)
    }

    /// What is under way, of a call that does not block.
    pub(crate) fn into_pending(self) -> Box<dyn Pending> {
        self.pending.expect("only blocking collectives end before they are waited for")
    }
}

impl<T: Send, F: FnMut(T) -> Result<()> + Send> Pending for Storing<T, F> {
    fn take_end(&mut self) -> Option<End> {
        let stored = self.request.take()?.and_then(&mut self.store);
        Some(End::from(stored.map(|()| Status::EMPTY)))
    }

    fn seek(&self, each: &mut dyn FnMut(Sought)) {
        each(Sought::Collective(self.request.call(), self.request.root()));
    }

    fn call(&self) -> &'static str {
        self.request.call()
    }
}
