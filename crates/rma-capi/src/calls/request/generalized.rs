//! Generalized requests (MPI 5.0 §13.2).

use crate::abi::*;
use crate::arguments::{Opaque, Out};
use crate::entry::entry;
use crate::errors::Raiser;
use crate::request::generalized::{
    CancelFunction, Functions, GrequestFreeFunction, QueryFunction, begin, complete,
};

entry! {
    /// `MPI_Grequest_start` (§13.2).
    fn MPI_Grequest_start(
        query_fn: Option<QueryFunction>,
        free_fn: Option<GrequestFreeFunction>,
        cancel_fn: Option<CancelFunction>,
        extra_state: Opaque,
        request: Out<MPI_Request>,
    ) raises Raiser::None; |_| {
        request.check("request")?;
        let functions = Functions { query: query_fn, free: free_fn, cancel: cancel_fn, extra_state };
        request.set("request", begin(functions)?)
    }

    /// `MPI_Grequest_complete` (§13.2).
    fn MPI_Grequest_complete(request: MPI_Request) raises Raiser::None; |process| {
        complete(request)?;
        // Threads that wait for it look again.
        process.tell();
        Ok(())
    }
}
