//! What the calls of notified access do: arguments to the engine's calls.

use super::object::Win;
use super::requested::Operation;
use super::transfer::{Origin, Sides, Target, dense, with_op, with_result, with_sides};
use crate::abi::*;
use crate::arguments::{Wide, count};
use crate::process::Sought;
use crate::request::{End, Pending, Status};
use rma::{Error, ErrorClass, Result};
use rma_core::notify::{CounterSetting, NotificationRequest, Notifications, Notifying};
use std::ffi::c_int;
use std::time::Duration;

/// A counter as programs name it.
pub(crate) fn counter(notify: c_int) -> Result<u32> {
    u32::try_from(notify).map_err(|_| {
        let cause = format!("notify is {notify}, but must not be negative");
        Error::new(ErrorClass::RmaNotification, "", cause)
    })
}

/// What a counter is at, as programs see it.
pub(crate) fn value_of(value: u64) -> MPI_Count {
    MPI_Count::try_from(value).unwrap_or(MPI_Count::MAX)
}

/// Sets how many counters this rank has in use, together with all ranks; a bad number is theirs too.
pub(crate) fn set_number(window: &Win, number: c_int) -> Result<()> {
    let number = u32::try_from(number).map_err(|_| {
        Error::new(ErrorClass::Arg, "", format!("num_notify is {number}, but must not be negative"))
    });
    CounterSetting::begin(&window.inner, number)?.wait()
}

/// Waits for one of a row of counters.
pub(crate) fn wait_any(
    window: &Win,
    (first, len): (c_int, c_int),
    number: MPI_Count,
    timeout_ms: c_int,
) -> Result<Option<c_int>> {
    let (first, len) = (counter(first)?, u32::try_from(count("count", len)?).unwrap_or(u32::MAX));
    let limit = u64::try_from(timeout_ms).ok().map(Duration::from_millis);
    let counters = first..first.saturating_add(len);
    let found = Notifications::of(&window.inner).wait_any(counters, count("number", number)?, limit)?;
    Ok(found.map(|found| c_int::try_from(found).unwrap_or(c_int::MAX)))
}

/// That a counter comes to a number.
pub(crate) struct Reached(pub(crate) NotificationRequest);

impl Pending for Reached {
    fn take_end(&mut self) -> Option<End> {
        match self.0.is_complete() {
            Ok(false) => None,
            Ok(true) => Some(End::done()),
            Err(error) => Some(End::from(Err::<Status, _>(error))),
        }
    }

    fn seek(&self, each: &mut dyn FnMut(Sought)) {
        self.0.awaited().needs.into_iter().for_each(|need| each(Sought::Operation(need)));
    }
}

pub(crate) fn put<C: Wide>(origin: Origin<C>, target: Target<C>, notify: c_int, window: &Win) -> Result<()> {
    let call = Notifying::of(&window.inner, counter(notify)?);
    if let (Some(len), Some((rank, disp))) = (dense(&origin, &target), target.place()) {
        return call.put(origin.address.readable("origin_addr", len)?, rank, disp);
    }
    // SAFETY: the buffer is good until the operation is complete, by the contract of `Memory`.
    let run = |sides: Sides<'_>| unsafe { call.put_typed(sides.origin(), sides.rank, sides.area()) };
    with_sides(window, &origin, &target, run).map(Option::unwrap_or_default)
}

pub(crate) fn get<C: Wide>(origin: Origin<C>, target: Target<C>, notify: c_int, window: &Win) -> Result<()> {
    let call = Notifying::of(&window.inner, counter(notify)?);
    if let (Some(len), Some((rank, disp))) = (dense(&origin, &target), target.place()) {
        return call.get(origin.address.writable("origin_addr", len)?, rank, disp);
    }
    // SAFETY: as in `put`.
    let run = |sides: Sides<'_>| unsafe { call.get_typed(sides.destination(), sides.rank, sides.area()) };
    with_sides(window, &origin, &target, run).map(Option::unwrap_or_default)
}

pub(crate) fn rput<C: Wide>(
    origin: Origin<C>,
    target: Target<C>,
    notify: c_int,
    window: &Win,
) -> Result<Operation> {
    let call = Notifying::of(&window.inner, counter(notify)?);
    // SAFETY: as in `put`.
    let run = |sides: Sides<'_>| unsafe { call.rput(sides.origin(), sides.rank, sides.area()) };
    with_sides(window, &origin, &target, run).map(Operation)
}

pub(crate) fn rget<C: Wide>(
    origin: Origin<C>,
    target: Target<C>,
    notify: c_int,
    window: &Win,
) -> Result<Operation> {
    let call = Notifying::of(&window.inner, counter(notify)?);
    // SAFETY: as in `put`.
    let run = |sides: Sides<'_>| unsafe { call.rget(sides.destination(), sides.rank, sides.area()) };
    with_sides(window, &origin, &target, run).map(Operation)
}

/// With a request or without.
pub(crate) fn accumulate<C: Wide>(
    origin: Origin<C>,
    target: Target<C>,
    handle: MPI_Op,
    notify: c_int,
    window: &Win,
    is_requested: bool,
) -> Result<Operation> {
    let call = Notifying::of(&window.inner, counter(notify)?);
    let request = with_op(window, &origin, &target, handle, |sides, op| {
        let (from, area) = (sides.origin(), sides.area());
        // SAFETY: as in `put`.
        unsafe {
            match is_requested {
                true => call.raccumulate(from, op, sides.rank, area).map(Some),
                false => call.accumulate(from, op, sides.rank, area).map(|()| None),
            }
        }
    });
    Ok(Operation(request?.flatten()))
}

/// With a request or without.
pub(crate) fn get_accumulate<C: Wide>(
    origin: Origin<C>,
    result: Origin<C>,
    target: Target<C>,
    handle: MPI_Op,
    notify: c_int,
    window: &Win,
    is_requested: bool,
) -> Result<Operation> {
    let call = Notifying::of(&window.inner, counter(notify)?);
    let request = with_result(window, &origin, &result, &target, handle, |sides, op, to| {
        let (from, area) = (sides.origin(), sides.area());
        // SAFETY: as in `put`.
        unsafe {
            match is_requested {
                true => call.rget_accumulate(from, to, op, sides.rank, area).map(Some),
                false => call.get_accumulate(from, to, op, sides.rank, area).map(|()| None),
            }
        }
    });
    Ok(Operation(request?.flatten()))
}
