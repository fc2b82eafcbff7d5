//! Generalized requests (MPI 5.0 §13.2): the program says when one has ended, and its functions say how.
//!
//! The functions may call the library, so they are called by the calls that take a request out, never by what looks at requests
//! under the engine's lock. Each end calls the function that frees once: the call that takes the request out, or, after
//! `MPI_Request_free`, whichever of that and `MPI_Grequest_complete` comes last.

use super::object::{Pending, RequestKind, RequestState, enter_kind, get, remove_generalized};
use super::status::{End, Status};
use crate::abi::{MPI_Request, MPI_Status};
use crate::arguments::Opaque;
use crate::errors::Raiser;
use rma::{Error, ErrorClass, Result};
use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::AcqRel, Ordering::Acquire};

/// `MPI_Grequest_query_function`.
pub(crate) type QueryFunction = unsafe extern "C" fn(Opaque, *mut MPI_Status) -> c_int;
/// `MPI_Grequest_free_function`.
pub(crate) type GrequestFreeFunction = unsafe extern "C" fn(Opaque) -> c_int;
/// `MPI_Grequest_cancel_function`.
pub(crate) type CancelFunction = unsafe extern "C" fn(Opaque, c_int) -> c_int;

/// What the program has said of a request of its own; a function that is null is not called.
pub(crate) struct Functions {
    pub(crate) query: Option<QueryFunction>,
    pub(crate) free: Option<GrequestFreeFunction>,
    pub(crate) cancel: Option<CancelFunction>,
    pub(crate) extra_state: Opaque,
}

pub(crate) struct Generalized {
    functions: Functions,
    /// [`IS_COMPLETE`] and [`IS_FREED`].
    flags: AtomicU8,
}

const IS_COMPLETE: u8 = 1;
const IS_FREED: u8 = 2;

impl Generalized {
    fn is_complete(&self) -> bool {
        self.flags.load(Acquire) & IS_COMPLETE != 0
    }

    /// How the program says that it ended.
    pub(super) fn query(&self) -> End {
        let mut status = Status::EMPTY.to_abi(0);
        // SAFETY: the program has given the function for this purpose and keeps it callable until the request is freed; the
        // status is good for the duration of the call.
        let code = self
            .functions
            .query
            .map_or(0, |function| unsafe { function(self.functions.extra_state, &raw mut status) });
        End { status: Status::of_abi(&status), error: check("query", code).err() }
    }

    /// Tells the program that the request is gone; the error of that is the request's, if it has none.
    pub(super) fn freed(&self, end: End) -> End {
        // SAFETY: as for `query`.
        let code = self.functions.free.map_or(0, |function| unsafe { function(self.functions.extra_state) });
        End { error: end.error.or(check("free", code).err()), ..end }
    }

    pub(super) fn cancel(&self) -> Result<()> {
        let is_complete = c_int::from(self.is_complete());
        let Some(function) = self.functions.cancel else { return Ok(()) };
        // SAFETY: as for `query`.
        check("cancel", unsafe { function(self.functions.extra_state, is_complete) })
    }

    /// The program frees the request: whether it is complete, so that it goes now.
    pub(super) fn free_when_complete(&self) -> bool {
        self.flags.fetch_or(IS_FREED, AcqRel) & IS_COMPLETE != 0
    }
}

/// A generalized request in the eyes of calls that wait.
struct GeneralizedPending(Arc<Generalized>);

impl Pending for GeneralizedPending {
    fn take_end(&mut self) -> Option<End> {
        self.0.is_complete().then(End::done)
    }
}

/// Enters a request of the program.
///
/// # Errors
/// `MPI_ERR_NO_MEM` when no handle is left.
pub(crate) fn begin(functions: Functions) -> Result<MPI_Request> {
    let generalized = Arc::new(Generalized { functions, flags: AtomicU8::new(0) });
    let pending = Box::new(GeneralizedPending(Arc::clone(&generalized)));
    enter_kind(RequestState::Active(pending), Raiser::None, RequestKind::Generalized(generalized))
}

/// The program says that its request has ended.
///
/// # Errors
/// `MPI_ERR_REQUEST` when the handle is of no such request; what the function that frees answers.
pub(crate) fn complete(handle: MPI_Request) -> Result<()> {
    let request = get(handle)?;
    let was = request.generalized()?.flags.fetch_or(IS_COMPLETE, AcqRel);
    match was & (IS_COMPLETE | IS_FREED) {
        0 => Ok(()),
        IS_FREED => remove_generalized(request),
        _ => Err(Error::new(ErrorClass::Request, "", "request was completed before")),
    }
}

fn check(which: &str, code: c_int) -> Result<()> {
    if code == 0 {
        return Ok(());
    }
    let cause = format!("the {which} function of a generalized request answers error code {code}");
    Err(Error::new(ErrorClass::Other, "", cause).with_code(code))
}
