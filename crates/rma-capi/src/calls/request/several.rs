//! The calls that take several requests (MPI 5.0 §3.7.5, §3.7.6).
//!
//! An error of one request stands in its status; the call then answers `MPI_ERR_IN_STATUS`, with the handler
//! of the first request that failed. [`MPI_Waitall`] returns as soon as one has failed, since others may
//! depend on what the program does about it: what has not ended stays, and has `MPI_ERR_PENDING` in its
//! status.

use crate::abi::*;
use crate::arguments::{In, Out, len};
use crate::entry::{entry, entry_of_any};
use crate::errors::{Failure, Raiser};
use crate::process::Sought;
use crate::request::ended::{count_of_ended, end_all, try_wait_all};
use crate::request::{End, Request, Settled, Settlement, Status, StatusOut, get, next_call};
use rma::{Error, ErrorClass, Result};
use smallvec::SmallVec;
use std::ffi::c_int;

entry_of_any! {
    /// `MPI_Waitall` (§3.7.5).
    fn MPI_Waitall(
        count: c_int, array_of_requests: Out<MPI_Request>, array_of_statuses: StatusOut,
    ), first try_wait_all(count, array_of_requests, array_of_statuses).is_some(); |process| {
        if let Some(count) = count_of_ended(count, array_of_requests) {
            process.poll_throttled();
            end_all(count, array_of_requests, array_of_statuses);
            return Ok(());
        }
        let mut list = RequestList::new();
        list.add_once(count, array_of_requests.current())?;
        let mut left = list.active();
        let mut completion = Completion::new(&list, array_of_requests, array_of_statuses);
        process.wait_for("waitall", &|each| list.seek(each), || {
            left.retain(|index| !completion.take(*index));
            Ok((completion.has_failed() || left.is_empty()).then_some(()))
        })?;
        completion.finish(&left)
    }

    /// `MPI_Testall` (§3.7.5).
    fn MPI_Testall(
        count: c_int,
        array_of_requests: Out<MPI_Request>,
        flag: Out<c_int>,
        array_of_statuses: StatusOut,
    ); |process| {
        let mut list = RequestList::new();
        list.add_once(count, array_of_requests.current())?;
        flag.check("flag")?;
        process.poll();
        let active = list.active();
        let ends: Few<_> = active.iter().map(|index| list.look(*index)).collect();
        let has_failed = ends.iter().flatten().any(|end| end.error.is_some());
        let is_done = has_failed || ends.iter().all(Option::is_some);
        flag.set("flag", is_done.into())?;
        if !is_done {
            return Ok(());
        }
        let mut completion = Completion::new(&list, array_of_requests, array_of_statuses);
        let left: Few<_> = active.into_iter().filter(|index| !completion.take(*index)).collect();
        completion.finish(&left)
    }

    /// `MPI_Waitany` (§3.7.5).
    fn MPI_Waitany(
        count: c_int, array_of_requests: Out<MPI_Request>, indx: Out<c_int>, status: StatusOut,
    ); |process| {
        let mut list = RequestList::new();
        list.add_once(count, array_of_requests.current())?;
        indx.check("indx")?;
        let active = list.active();
        let found = match active.is_empty() {
            true => None,
            false => {
                Some(process.wait_for("waitany", &|each| each(Sought::Any), || Ok(list.first(&active)))?)
            }
        };
        list.complete_any(found, array_of_requests, indx, status)
    }

    /// `MPI_Testany` (§3.7.5).
    fn MPI_Testany(
        count: c_int,
        array_of_requests: Out<MPI_Request>,
        indx: Out<c_int>,
        flag: Out<c_int>,
        status: StatusOut,
    ); |process| {
        let mut list = RequestList::new();
        list.add_once(count, array_of_requests.current())?;
        indx.check("indx")?;
        process.poll();
        let active = list.active();
        let found = list.first(&active);
        let is_done = active.is_empty() || found.is_some();
        flag.set("flag", is_done.into())?;
        match is_done {
            true => list.complete_any(found, array_of_requests, indx, status),
            false => Ok(indx.set("indx", MPI_UNDEFINED)?),
        }
    }

    /// `MPI_Waitsome` (§3.7.5).
    fn MPI_Waitsome(
        incount: c_int,
        array_of_requests: Out<MPI_Request>,
        outcount: Out<c_int>,
        array_of_indices: Out<c_int>,
        array_of_statuses: StatusOut,
    ); |process| {
        let mut list = RequestList::new();
        list.add_once(incount, array_of_requests.current())?;
        outcount.check("outcount")?;
        list.complete_some(array_of_requests, outcount, array_of_indices, array_of_statuses, |active| {
            process.wait_for("waitsome", &|each| each(Sought::Any), || {
                Ok(Some(list.ended(active)).filter(|ends| !ends.is_empty()))
            })
        })
    }

    /// `MPI_Testsome` (§3.7.5).
    fn MPI_Testsome(
        incount: c_int,
        array_of_requests: Out<MPI_Request>,
        outcount: Out<c_int>,
        array_of_indices: Out<c_int>,
        array_of_statuses: StatusOut,
    ); |process| {
        let mut list = RequestList::new();
        list.add_once(incount, array_of_requests.current())?;
        outcount.check("outcount")?;
        process.poll();
        list.complete_some(array_of_requests, outcount, array_of_indices, array_of_statuses, |active| {
            Ok(list.ended(active))
        })
    }
}

entry! {
    /// `MPI_Request_get_status_all` (§3.7.6).
    fn MPI_Request_get_status_all(
        count: c_int,
        array_of_requests: In<MPI_Request>,
        flag: Out<c_int>,
        array_of_statuses: StatusOut,
    ) raises Raiser::None; |process| {
        let mut list = RequestList::new();
        list.add(count, array_of_requests)?;
        process.poll();
        let ends: Vec<_> = (0..list.0.len()).map(|index| list.look(index)).collect();
        let is_done = list.active().iter().all(|index| ends[*index].is_some());
        flag.set("flag", is_done.into())?;
        if is_done {
            let told =
                |(index, end): (usize, Option<End>)| end.map_or_else(End::done, |end| list.told(index, end));
            let ends: Vec<_> = ends.into_iter().enumerate().map(told).collect();
            End::store_all(ends.iter(), array_of_statuses);
        }
        Ok(())
    }

    /// `MPI_Request_get_status_any` (§3.7.6).
    fn MPI_Request_get_status_any(
        count: c_int,
        array_of_requests: In<MPI_Request>,
        indx: Out<c_int>,
        flag: Out<c_int>,
        status: StatusOut,
    ) raises Raiser::None; |process| {
        let mut list = RequestList::new();
        list.add(count, array_of_requests)?;
        process.poll();
        let active = list.active();
        let found = list.first(&active);
        flag.set("flag", (active.is_empty() || found.is_some()).into())?;
        indx.set("indx", found.as_ref().map_or(MPI_UNDEFINED, |(index, _)| *index as c_int))?;
        match found {
            Some((index, end)) => list.told(index, end).status.store(status),
            None if active.is_empty() => Status::store_empty(status),
            None => {}
        }
        Ok(())
    }

    /// `MPI_Request_get_status_some` (§3.7.6).
    fn MPI_Request_get_status_some(
        incount: c_int,
        array_of_requests: In<MPI_Request>,
        outcount: Out<c_int>,
        array_of_indices: Out<c_int>,
        array_of_statuses: StatusOut,
    ) raises Raiser::None; |process| {
        let mut list = RequestList::new();
        list.add(incount, array_of_requests)?;
        process.poll();
        let active = list.active();
        if active.is_empty() {
            return outcount.set("outcount", MPI_UNDEFINED);
        }
        let ends = list.ended(&active);
        for (place, (index, _)) in ends.iter().enumerate() {
            array_of_indices.set_at("array_of_indices", place, *index as c_int)?;
        }
        let ends: Vec<_> = ends.into_iter().map(|(index, end)| list.told(index, end)).collect();
        End::store_all(ends.iter(), array_of_statuses);
        outcount.set("outcount", ends.len() as c_int)
    }
}

/// Something for each of the requests of a call; a call mostly has few.
type Few<T> = SmallVec<[T; 8]>;

/// Requests of a call; `None` stands for a null request, and for one that is persistent and inactive.
struct RequestList(Few<Option<Request>>);

impl RequestList {
    fn new() -> Self {
        Self(SmallVec::new())
    }

    /// Adds the requests of an array. A list is filled where it lies: it is long, and moving it costs more than a look at a request.
    fn add(&mut self, count: c_int, requests: In<MPI_Request>) -> Result<()> {
        for handle in requests.each("array_of_requests", len("count", count)?)? {
            let found = if handle == MPI_REQUEST_NULL { None } else { Some(get(handle)?) };
            self.0.push(found.filter(|request| !request.is_inactive()));
        }
        Ok(())
    }

    /// As [`RequestList::add`], for calls that take requests out, each of which can be there once.
    fn add_once(&mut self, count: c_int, requests: In<MPI_Request>) -> Result<()> {
        self.add(count, requests)?;
        let call = next_call();
        for (index, entry) in self.0.iter().enumerate() {
            if let Some(request) = entry
                && request.is_listed_by(call)
            {
                let handle = request.handle().0;
                let cause = format!("array_of_requests[{index}] is {handle:#x}, which the array has before");
                return Err(Error::new(ErrorClass::Request, "", cause));
            }
        }
        Ok(())
    }

    /// An end as the program is told of it, by a call that leaves the request where it is.
    fn told(&self, index: usize, end: End) -> End {
        match self.0[index] {
            None => end,
            Some(request) => request.told(end),
        }
    }

    /// The places of those that are active.
    fn active(&self) -> Few<usize> {
        (0..self.0.len()).filter(|index| self.0[*index].is_some()).collect()
    }

    /// Tells what has to come for the end of all.
    fn seek(&self, each: &mut dyn FnMut(Sought)) {
        self.0.iter().flatten().for_each(|request| request.seek(each));
    }

    fn look(&self, index: usize) -> Option<End> {
        self.0[index].and_then(Request::look)
    }

    fn first(&self, active: &[usize]) -> Option<(usize, End)> {
        active.iter().find_map(|index| self.look(*index).map(|end| (*index, end)))
    }

    fn ended(&self, active: &[usize]) -> Vec<(usize, End)> {
        active.iter().filter_map(|index| self.look(*index).map(|end| (*index, end))).collect()
    }

    /// Takes a request out that has ended so; one that may wait in vain stays.
    fn settle(&self, index: usize, end: End) -> Settled {
        self.0[index].expect("only a request has an end").settle(end)
    }

    /// Takes out the one that was found; with none, because all are null, the status is empty.
    fn complete_any(
        &self,
        found: Option<(usize, End)>,
        requests: Out<MPI_Request>,
        indx: Out<c_int>,
        status: StatusOut,
    ) -> Result<(), Failure> {
        let Some((index, end)) = found else {
            Status::store_empty(status);
            return Ok(indx.set("indx", MPI_UNDEFINED)?);
        };
        indx.set("indx", index as c_int)?;
        let settled = self.settle(index, end);
        settled.end.status.store(status);
        requests.set_at("array_of_requests", index, settled.handle)?;
        settled.into_result()
    }

    /// Takes out those that `ended` finds among the places of active ones.
    fn complete_some(
        &self,
        requests: Out<MPI_Request>,
        outcount: Out<c_int>,
        indices: Out<c_int>,
        statuses: StatusOut,
        ended: impl FnOnce(&[usize]) -> Result<Vec<(usize, End)>>,
    ) -> Result<(), Failure> {
        let active = self.active();
        if active.is_empty() {
            return Ok(outcount.set("outcount", MPI_UNDEFINED)?);
        }
        let ends = ended(&active)?;
        outcount.set("outcount", ends.len() as c_int)?;
        let settle = |(index, end): (usize, End)| (index, self.settle(index, end));
        let settled: Vec<_> = ends.into_iter().map(settle).collect();
        End::store_all(settled.iter().map(|(_, settled)| &settled.end), statuses);
        let mut first = Ok(());
        for (place, (index, settled)) in settled.into_iter().enumerate() {
            indices.set_at("array_of_indices", place, index as c_int)?;
            requests.set_at("array_of_requests", index, settled.handle)?;
            keep_first(&mut first, settled.into_result());
        }
        first.map_err(in_status)
    }
}

/// What a call tells of all requests of its list. Each that has ended is told of once it is found, and is gone then.
struct Completion<'a> {
    list: &'a RequestList,
    requests: Out<MPI_Request>,
    statuses: StatusOut,
    /// Those that the program's functions are to be called for, which may call the library: not while a call waits.
    generalized: Few<usize>,
    /// Errors, by place.
    codes: Few<(usize, c_int)>,
    first: Result<(), Failure>,
}

impl<'a> Completion<'a> {
    /// With the statuses of null requests, which are empty.
    fn new(list: &'a RequestList, requests: Out<MPI_Request>, statuses: StatusOut) -> Self {
        let null = list.0.iter().enumerate().filter(|(_, request)| request.is_none());
        null.for_each(|(index, _)| Status::EMPTY.store(statuses.at(index)));
        Self { list, requests, statuses, generalized: Few::new(), codes: Few::new(), first: Ok(()) }
    }

    fn has_failed(&self) -> bool {
        self.first.is_err()
    }

    /// Takes an active one out, if it has ended; says whether it has.
    fn take(&mut self, index: usize) -> bool {
        let Some(request) = self.list.0[index] else { return true };
        match request.take() {
            Settlement::NotYet => return false,
            Settlement::Settled(settled) => self.tell(index, settled),
            Settlement::Generalized => self.generalized.push(index),
        }
        true
    }

    fn tell(&mut self, index: usize, settled: Settled) {
        // There is a place, as the handle was read from it.
        let _ = self.requests.set_at("array_of_requests", index, settled.handle);
        settled.end.status.store(self.statuses.at(index));
        if let Some(error) = &settled.end.error {
            self.codes.push((index, error.code()));
            keep_first(&mut self.first, settled.into_result());
        }
    }

    /// Tells of the rest: what is `left`, and has not ended, is pending.
    fn finish(&mut self, left: &[usize]) -> Result<(), Failure> {
        for index in std::mem::take(&mut self.generalized) {
            self.tell(index, self.list.settle(index, End::done()));
        }
        let Self { list, statuses, codes, first, .. } = self;
        std::mem::replace(first, Ok(())).map_err(|failure| {
            for index in left {
                Status::EMPTY.store(statuses.at(*index));
                codes.push((*index, ErrorClass::Pending as c_int));
            }
            Status::set_errors(list.0.len(), codes, *statuses);
            in_status(failure)
        })
    }
}

fn keep_first(first: &mut Result<(), Failure>, next: Result<(), Failure>) {
    if first.is_ok() {
        *first = next;
    }
}

/// The error of a call whose requests' errors are in their statuses.
fn in_status(failure: Failure) -> Failure {
    let cause = format!("a request has failed: {}", failure.error);
    Failure { error: Error::new(ErrorClass::InStatus, "", cause), ..failure }
}
