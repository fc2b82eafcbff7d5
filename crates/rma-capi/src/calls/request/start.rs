//! Starting persistent requests (MPI 5.0 §3.9).

use crate::abi::*;
use crate::arguments::{In, Out, len};
use crate::entry::entry_of_any;
use crate::errors::Failure;
use crate::request::get;
use std::ffi::c_int;

entry_of_any! {
    /// `MPI_Start` (§3.9).
    fn MPI_Start(request: Out<MPI_Request>); |process| {
        start(request.current().one("request")?)?;
        // What begins leaves now: the program may be away from the library for long after this call.
        process.poll();
        Ok(())
    }

    /// `MPI_Startall` (§3.9): in the order of the array, up to the first that fails.
    fn MPI_Startall(count: c_int, array_of_requests: In<MPI_Request>); |process| {
        let requests = array_of_requests.many("array_of_requests", len("count", count)?)?;
        let started = requests.into_iter().try_for_each(start);
        process.poll();
        started
    }
}

fn start(request: MPI_Request) -> Result<(), Failure> {
    let found = get(request)?;
    found.start().map_err(|error| Failure { error, raiser: found.raiser() })
}
