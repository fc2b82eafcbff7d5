//! The communication calls with a request (MPI 5.0 §12.3.5).

use super::fast_path::{
    accumulate_at_once, accumulate_joins_with_request, get_accumulate_at_once, get_at_once, put_at_once,
    put_joins_with_request, try_requested,
};
use crate::abi::*;
use crate::arguments::{Memory, Out};
use crate::entry::forms;
use crate::errors::Raiser;
use crate::window::requested::{self, start};
use crate::window::transfer::{Origin, Target};
use std::ffi::c_int;

forms! {
    /// `MPI_Rput` (§12.3.5).
    fn MPI_Rput | MPI_Rput_c(
        origin_addr: Memory, origin_count: Number, origin_datatype: MPI_Datatype,
        target_rank: c_int, target_disp: MPI_Aint, target_count: Number, target_datatype: MPI_Datatype,
        win: MPI_Win, request: Out<MPI_Request>,
    )
    raises Raiser::Win(win), first {
        let origin = Origin::new(origin_addr, origin_count, origin_datatype);
        let target = Target::new(target_rank, target_disp, target_count, target_datatype);
        try_requested(request, &target, win, |path| put_at_once(path, &origin, &target)).is_some()
    },
    then put_joins_with_request(
        &Origin::new(origin_addr, origin_count, origin_datatype),
        &Target::new(target_rank, target_disp, target_count, target_datatype),
        win,
        request,
    )
    .is_some(); |_| {
        let origin = Origin::new(origin_addr, origin_count, origin_datatype);
        let target = Target::new(target_rank, target_disp, target_count, target_datatype);
        request.check("request")?;
        start(win, request, requested::put(origin, target, win)?)
    }

    /// `MPI_Rget` (§12.3.5).
    fn MPI_Rget | MPI_Rget_c(
        origin_addr: Memory, origin_count: Number, origin_datatype: MPI_Datatype,
        target_rank: c_int, target_disp: MPI_Aint, target_count: Number, target_datatype: MPI_Datatype,
        win: MPI_Win, request: Out<MPI_Request>,
    )
    raises Raiser::Win(win), first {
        let origin = Origin::new(origin_addr, origin_count, origin_datatype);
        let target = Target::new(target_rank, target_disp, target_count, target_datatype);
        try_requested(request, &target, win, |path| get_at_once(path, &origin, &target)).is_some()
    }; |_| {
        let origin = Origin::new(origin_addr, origin_count, origin_datatype);
        let target = Target::new(target_rank, target_disp, target_count, target_datatype);
        request.check("request")?;
        start(win, request, requested::get(origin, target, win)?)
    }

    /// `MPI_Raccumulate` (§12.3.5).
    fn MPI_Raccumulate | MPI_Raccumulate_c(
        origin_addr: Memory, origin_count: Number, origin_datatype: MPI_Datatype,
        target_rank: c_int, target_disp: MPI_Aint, target_count: Number, target_datatype: MPI_Datatype,
        op: MPI_Op, win: MPI_Win, request: Out<MPI_Request>,
    )
    raises Raiser::Win(win), first {
        let origin = Origin::new(origin_addr, origin_count, origin_datatype);
        let target = Target::new(target_rank, target_disp, target_count, target_datatype);
        try_requested(request, &target, win, |path| accumulate_at_once(path, &origin, &target, op)).is_some()
    },
    then accumulate_joins_with_request(
        &Origin::new(origin_addr, origin_count, origin_datatype),
        &Target::new(target_rank, target_disp, target_count, target_datatype),
        op,
        win,
        request,
    )
    .is_some(); |_| {
        let origin = Origin::new(origin_addr, origin_count, origin_datatype);
        let target = Target::new(target_rank, target_disp, target_count, target_datatype);
        request.check("request")?;
        start(win, request, requested::accumulate(origin, target, op, win)?)
    }

    /// `MPI_Rget_accumulate` (§12.3.5).
    fn MPI_Rget_accumulate | MPI_Rget_accumulate_c(
        origin_addr: Memory, origin_count: Number, origin_datatype: MPI_Datatype,
        result_addr: Memory, result_count: Number, result_datatype: MPI_Datatype,
        target_rank: c_int, target_disp: MPI_Aint, target_count: Number, target_datatype: MPI_Datatype,
        op: MPI_Op, win: MPI_Win, request: Out<MPI_Request>,
    )
    raises Raiser::Win(win), first {
        let origin = Origin::new(origin_addr, origin_count, origin_datatype);
        let result = Origin::new(result_addr, result_count, result_datatype);
        let target = Target::new(target_rank, target_disp, target_count, target_datatype);
        try_requested(request, &target, win, |path| {
            get_accumulate_at_once(path, &origin, &result, &target, op)
        })
        .is_some()
    }; |_| {
        let origin = Origin::new(origin_addr, origin_count, origin_datatype);
        let result = Origin::new(result_addr, result_count, result_datatype);
        let target = Target::new(target_rank, target_disp, target_count, target_datatype);
        request.check("request")?;
        start(win, request, requested::get_accumulate(origin, result, target, op, win)?)
    }
}
