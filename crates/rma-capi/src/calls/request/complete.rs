//! The calls that take one request (MPI 5.0 §3.7.3, §3.7.4, §3.7.6, §3.8.4).

use crate::abi::*;
use crate::arguments::Out;
use crate::entry::{entry, entry_of_any};
use crate::errors::{Failure, Raiser};
use crate::request::ended::{EndedSlot, try_test, try_wait};
use crate::request::{End, Settled, Settlement, Status, StatusOut, free, get};
use rma::Result;
use std::ffi::c_int;

entry_of_any! {
    /// `MPI_Wait` (§3.7.3).
    fn MPI_Wait(
        request: Out<MPI_Request>, status: StatusOut,
    ), first try_wait(request, status).is_some(); |process| {
        let handle = request.current().one("request")?;
        if handle == MPI_REQUEST_NULL {
            Status::store_empty(status);
            return Ok(());
        }
        let found = get(handle)?;
        if found.had_ended() {
            process.poll_throttled();
            return complete(request, found.settle(End::done()), status);
        }
        if found.is_inactive() {
            Status::store_empty(status);
            return Ok(());
        }
        let taken = process.wait_for(found.call(), &|each| found.seek(each), || Ok(found.take().ended()))?;
        complete(request, taken.settled(found), status)
    }

    /// `MPI_Test` (§3.7.3).
    fn MPI_Test(
        request: Out<MPI_Request>, flag: Out<c_int>, status: StatusOut,
    ), first try_test(request, flag, status).is_some(); |process| {
        let handle = request.current().one("request")?;
        flag.check("flag")?;
        if EndedSlot::of(handle).is_some() { process.poll_throttled() } else { process.poll() }
        if is_inactive(handle)? {
            Status::store_empty(status);
            return Ok(flag.set("flag", 1)?);
        }
        let found = get(handle)?;
        match found.take() {
            Settlement::NotYet => Ok(flag.set("flag", 0)?),
            taken => {
                flag.set("flag", 1)?;
                complete(request, taken.settled(found), status)
            }
        }
    }
}

entry! {
    /// `MPI_Request_get_status` (§3.7.6): the request stays.
    fn MPI_Request_get_status(
        request: MPI_Request,
        flag: Out<c_int>,
        status: StatusOut,
    ) raises Raiser::None; |process| {
        process.poll();
        if is_inactive(request)? {
            flag.set("flag", 1)?;
            Status::store_empty(status);
            return Ok(());
        }
        let found = get(request)?;
        let end = found.look().map(|end| found.told(end));
        flag.set("flag", end.is_some().into())?;
        if let Some(end) = end {
            end.status.store(status);
        }
        Ok(())
    }

    /// `MPI_Request_free` (§3.7.3): the operation goes on.
    fn MPI_Request_free(request: Out<MPI_Request>) raises Raiser::None; |_| {
        free(request.current().one("request")?)?;
        request.set("request", MPI_REQUEST_NULL)
    }

    /// `MPI_Cancel` (§3.8.4): of messages that nothing has matched, and what the program's own function cancels. Everything else
    /// ends by itself.
    fn MPI_Cancel(request: Out<MPI_Request>) raises Raiser::None; |process| {
        get(request.current().one("request")?)?.cancel()?;
        // A thread that waits for it hears of its end by this step, and a receiver that a send is taken back.
        process.poll();
        Ok(())
    }
}

/// Tells of a request that has ended how; or why one may wait in vain, which stays.
fn complete(
    request: Out<MPI_Request>,
    settled: Settled,
    status: StatusOut,
) -> std::result::Result<(), Failure> {
    request.set("request", settled.handle)?;
    if !settled.end.is_no_end() {
        settled.end.status.store(status);
    }
    settled.into_result()
}

/// Whether there is nothing to wait for: the request is null, or persistent and not started.
fn is_inactive(request: MPI_Request) -> Result<bool> {
    Ok(request == MPI_REQUEST_NULL || get(request)?.is_inactive())
}
