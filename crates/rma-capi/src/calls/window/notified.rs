//! Notified access: stores that tell their target, with the names of the MPI Forum's draft where it has some (`mpix_rma.h`).

use super::fast_path::{try_put_notify, try_wait_notify};
use crate::abi::*;
use crate::arguments::{Memory, Out, count};
use crate::entry::{entry, forms};
use crate::errors::Raiser;
use crate::request::enter_or_end;
use crate::window::notified::{self, Reached, counter, set_number, value_of};
use crate::window::requested::start;
use crate::window::synchronize::target;
use crate::window::transfer::{Origin, Target};
use crate::window::{self, get};
use rma_core::notify::{self, NotificationRequest, Notifications};
use std::ffi::c_int;

entry! {
    /// `MPIX_Win_set_num_notify`: collective; so many counters are in use at this rank, all of them at zero. The info is not looked at.
    fn MPIX_Win_set_num_notify(win: MPI_Win, info: MPI_Info, num_notify: c_int) raises Raiser::Win(win); |_| {
        let _ = info;
        set_number(get(win)?, num_notify)
    }

    /// `MPIX_Win_get_num_notify`: how many counters are in use at a rank.
    fn MPIX_Win_get_num_notify(win: MPI_Win, rank: c_int, num_notify: Out<c_int>)
    raises Raiser::Win(win); |_| {
        num_notify.check("num_notify")?;
        let window = get(win)?;
        let number = target(rank)?.map_or(Ok(0), |rank| notify::counters_of(&window.inner, rank))?;
        num_notify.set("num_notify", c_int::try_from(number).unwrap_or(c_int::MAX))
    }

    /// `MPIX_Win_get_notify_value`: what a counter of this rank is at.
    fn MPIX_Win_get_notify_value(win: MPI_Win, notify: c_int, value: Out<MPI_Count>)
    raises Raiser::Win(win); |_| {
        value.check("value")?;
        let at = Notifications::of(&get(win)?.inner).value(counter(notify)?)?;
        value.set("value", value_of(at))
    }

    /// `MPIX_Win_reset_notify_value`: the same, and it is at zero then, in one step.
    fn MPIX_Win_reset_notify_value(win: MPI_Win, notify: c_int, value: Out<MPI_Count>)
    raises Raiser::Win(win); |_| {
        value.check("value")?;
        let at = Notifications::of(&get(win)?.inner).take(counter(notify)?)?;
        value.set("value", value_of(at))
    }

    /// `MPIX_Win_wait_notify`: waits until a counter of this rank is at a number or more.
    fn MPIX_Win_wait_notify(
        win: MPI_Win, notify: c_int, number: MPI_Count, value: Out<MPI_Count>,
    ) raises Raiser::Win(win), first try_wait_notify(win, notify, number, value); |_| {
        value.check("value")?;
        let window = get(win)?;
        let at = Notifications::of(&window.inner).wait(counter(notify)?, count("number", number)?)?;
        value.set("value", value_of(at))
    }

    /// `MPIX_Win_waitany_notify`: waits until one of a row of counters is at a number or more, so many milliseconds at most; a
    /// negative number of them is no limit.
    fn MPIX_Win_waitany_notify(
        win: MPI_Win, first: c_int, count: c_int, number: MPI_Count, timeout_ms: c_int,
        notify: Out<c_int>, flag: Out<c_int>,
    ) raises Raiser::Win(win); |_| {
        notify.check("notify")?;
        flag.check("flag")?;
        let found = notified::wait_any(get(win)?, (first, count), number, timeout_ms)?;
        flag.set("flag", found.is_some().into())?;
        found.map_or(Ok(()), |found| notify.set("notify", found))
    }

    /// `MPIX_Win_request_notify`: a request that is complete when a counter of this rank is at a number or more.
    fn MPIX_Win_request_notify(
        win: MPI_Win, notify: c_int, number: MPI_Count, request: Out<MPI_Request>,
    ) raises Raiser::Win(win); |_| {
        request.check("request")?;
        let window = get(win)?;
        let reached = NotificationRequest::new(&window.inner, counter(notify)?, count("number", number)?)?;
        request.set("request", enter_or_end(Reached(reached), window.raiser(win))?)
    }
}

forms! {
    /// `MPIX_Put_notify`.
    fn MPIX_Put_notify | MPIX_Put_notify_c(
        origin_addr: Memory, origin_count: Number, origin_datatype: MPI_Datatype,
        target_rank: c_int, target_disp: MPI_Aint, target_count: Number, target_datatype: MPI_Datatype,
        notify: c_int, win: MPI_Win,
    ) raises Raiser::Win(win),
    first try_put_notify::<EntryPoint, _>(
        &Origin::new(origin_addr, origin_count, origin_datatype),
        &Target::new(target_rank, target_disp, target_count, target_datatype),
        notify,
        win,
    );
    |_| {
        let origin = Origin::new(origin_addr, origin_count, origin_datatype);
        notified::put(
            origin,
            Target::new(target_rank, target_disp, target_count, target_datatype),
            notify,
            window::get(win)?,
        )
    }

    /// `MPIX_Get_notify`.
    fn MPIX_Get_notify | MPIX_Get_notify_c(
        origin_addr: Memory, origin_count: Number, origin_datatype: MPI_Datatype,
        target_rank: c_int, target_disp: MPI_Aint, target_count: Number, target_datatype: MPI_Datatype,
        notify: c_int, win: MPI_Win,
    ) raises Raiser::Win(win); |_| {
        let origin = Origin::new(origin_addr, origin_count, origin_datatype);
        notified::get(
            origin,
            Target::new(target_rank, target_disp, target_count, target_datatype),
            notify,
            window::get(win)?,
        )
    }

    /// `MPIX_Accumulate_notify`.
    fn MPIX_Accumulate_notify | MPIX_Accumulate_notify_c(
        origin_addr: Memory, origin_count: Number, origin_datatype: MPI_Datatype,
        target_rank: c_int, target_disp: MPI_Aint, target_count: Number, target_datatype: MPI_Datatype,
        op: MPI_Op, notify: c_int, win: MPI_Win,
    ) raises Raiser::Win(win); |_| {
        let origin = Origin::new(origin_addr, origin_count, origin_datatype);
        let target = Target::new(target_rank, target_disp, target_count, target_datatype);
        notified::accumulate(origin, target, op, notify, window::get(win)?, false).map(drop)
    }

    /// `MPIX_Get_accumulate_notify`.
    fn MPIX_Get_accumulate_notify | MPIX_Get_accumulate_notify_c(
        origin_addr: Memory, origin_count: Number, origin_datatype: MPI_Datatype,
        result_addr: Memory, result_count: Number, result_datatype: MPI_Datatype,
        target_rank: c_int, target_disp: MPI_Aint, target_count: Number, target_datatype: MPI_Datatype,
        op: MPI_Op, notify: c_int, win: MPI_Win,
    ) raises Raiser::Win(win); |_| {
        let origin = Origin::new(origin_addr, origin_count, origin_datatype);
        let result = Origin::new(result_addr, result_count, result_datatype);
        let target = Target::new(target_rank, target_disp, target_count, target_datatype);
        notified::get_accumulate(origin, result, target, op, notify, window::get(win)?, false).map(drop)
    }

    /// `MPIX_Rput_notify`.
    fn MPIX_Rput_notify | MPIX_Rput_notify_c(
        origin_addr: Memory, origin_count: Number, origin_datatype: MPI_Datatype,
        target_rank: c_int, target_disp: MPI_Aint, target_count: Number, target_datatype: MPI_Datatype,
        notify: c_int, win: MPI_Win, request: Out<MPI_Request>,
    ) raises Raiser::Win(win); |_| {
        let origin = Origin::new(origin_addr, origin_count, origin_datatype);
        let target = Target::new(target_rank, target_disp, target_count, target_datatype);
        request.check("request")?;
        start(win, request, notified::rput(origin, target, notify, window::get(win)?)?)
    }

    /// `MPIX_Rget_notify`.
    fn MPIX_Rget_notify | MPIX_Rget_notify_c(
        origin_addr: Memory, origin_count: Number, origin_datatype: MPI_Datatype,
        target_rank: c_int, target_disp: MPI_Aint, target_count: Number, target_datatype: MPI_Datatype,
        notify: c_int, win: MPI_Win, request: Out<MPI_Request>,
    ) raises Raiser::Win(win); |_| {
        let origin = Origin::new(origin_addr, origin_count, origin_datatype);
        let target = Target::new(target_rank, target_disp, target_count, target_datatype);
        request.check("request")?;
        start(win, request, notified::rget(origin, target, notify, window::get(win)?)?)
    }

    /// `MPIX_Raccumulate_notify`.
    fn MPIX_Raccumulate_notify | MPIX_Raccumulate_notify_c(
        origin_addr: Memory, origin_count: Number, origin_datatype: MPI_Datatype,
        target_rank: c_int, target_disp: MPI_Aint, target_count: Number, target_datatype: MPI_Datatype,
        op: MPI_Op, notify: c_int, win: MPI_Win, request: Out<MPI_Request>,
    ) raises Raiser::Win(win); |_| {
        let origin = Origin::new(origin_addr, origin_count, origin_datatype);
        let target = Target::new(target_rank, target_disp, target_count, target_datatype);
        request.check("request")?;
        start(win, request, notified::accumulate(origin, target, op, notify, window::get(win)?, true)?)
    }

    /// `MPIX_Rget_accumulate_notify`.
    fn MPIX_Rget_accumulate_notify | MPIX_Rget_accumulate_notify_c(
        origin_addr: Memory, origin_count: Number, origin_datatype: MPI_Datatype,
        result_addr: Memory, result_count: Number, result_datatype: MPI_Datatype,
        target_rank: c_int, target_disp: MPI_Aint, target_count: Number, target_datatype: MPI_Datatype,
        op: MPI_Op, notify: c_int, win: MPI_Win, request: Out<MPI_Request>,
    ) raises Raiser::Win(win); |_| {
        let origin = Origin::new(origin_addr, origin_count, origin_datatype);
        let result = Origin::new(result_addr, result_count, result_datatype);
        let target = Target::new(target_rank, target_disp, target_count, target_datatype);
        request.check("request")?;
        start(
            win,
            request,
            notified::get_accumulate(origin, result, target, op, notify, window::get(win)?, true)?,
        )
    }
}
