//! The calls that take one request (MPI 5.0 §3.7.3, §3.7.4, §3.7.6, §3.8.4).

use crate::abi::*;
use crate::arguments::Out;
use crate::entry::{entry, entry_of_any};
use crate::errors::{Failure, Raiser};
use crate::request::ended::{Slot, try_test, try_wait};
use crate::request::{End, Status, StatusOut, free, get, remove};
use std::ffi::c_int;

entry_of_any! {
    /// `MPI_Wait` (§3.7.3).
    fn MPI_Wait(request: Out<MPI_Request>, status: StatusOut), first try_wait(request, status).is_some(); |process| {
        let handle = request.current().one("request")?;
        if handle == MPI_REQUEST_NULL {
            Status::store_empty(status);
            return Ok(());
        }
        if Slot::of(handle).is_some() {
            process.poll_throttled();
            return complete(request, handle, End::done(), status);
        }
        let found = get(handle)?;
        let end = process.wait_for(found.call(), &|each| found.seek(each), || Ok(found.look()))?;
        complete(request, handle, end, status)
    }

    /// `MPI_Test` (§3.7.3).
    fn MPI_Test(request: Out<MPI_Request>, flag: Out<c_int>, status: StatusOut), first try_test(request, flag, status).is_some(); |process| {
        let handle = request.current().one("request")?;
        flag.check("flag")?;
        if Slot::of(handle).is_some() { process.poll_throttled() } else { process.poll() }
        if handle == MPI_REQUEST_NULL {
            Status::store_empty(status);
            return Ok(flag.set("flag", 1)?);
        }
        match get(handle)?.look() {
            None => Ok(flag.set("flag", 0)?),
            Some(end) => {
                flag.set("flag", 1)?;
                complete(request, handle, end, status)
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
        if request == MPI_REQUEST_NULL {
            flag.set("flag", 1)?;
            Status::store_empty(status);
            return Ok(());
        }
        let end = get(request)?.look();
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

    /// `MPI_Cancel` (§3.8.4): of receives that nothing has matched. Everything else ends by itself.
    fn MPI_Cancel(request: Out<MPI_Request>) raises Raiser::None; |process| {
        get(request.current().one("request")?)?.cancel();
        // A thread that waits for the receive hears of its end by this step.
        process.poll();
        Ok(())
    }
}

/// Takes a request out that has ended, and tells how; or tells why one may wait in vain, which stays.
fn complete(
    request: Out<MPI_Request>,
    handle: MPI_Request,
    end: End,
    status: StatusOut,
) -> Result<(), Failure> {
    if end.is_no_end() {
        let raiser = get(handle).map_or(Raiser::None, |request| request.raiser.clone());
        return end.into_result().map(drop).map_err(|error| Failure { error, raiser });
    }
    let raiser = remove(handle).map_or(Raiser::None, |request| request.raiser.clone());
    request.set("request", MPI_REQUEST_NULL)?;
    end.status.store(status);
    end.into_result().map(drop).map_err(|error| Failure { error, raiser })
}
