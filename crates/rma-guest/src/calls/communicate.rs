//! Communication calls (MPI 5.0 §12.3).

use super::{first_at_once, on_window, with_request};
use crate::abi::{Aint, Count};
use crate::arguments::{Op, Rank, Type};
use crate::at_once::{self, Side};
use std::ffi::{c_int, c_void};

first_at_once! {
    fn MPI_Put(
        origin: *const c_void, origin_count: c_int, origin_type: Type, rank: Rank, disp: Aint,
        target_count: c_int, target_type: Type; win
    )
        at_once::put(
            origin,
            Side(origin_count, origin_type),
            rank,
            disp,
            Side(target_count, target_type),
            win.0,
        );
    fn MPI_Get(
        origin: *mut c_void, origin_count: c_int, origin_type: Type, rank: Rank, disp: Aint,
        target_count: c_int, target_type: Type; win
    )
        at_once::get(
            origin,
            Side(origin_count, origin_type),
            rank,
            disp,
            Side(target_count, target_type),
            win.0,
        );
    fn MPI_Accumulate(
        origin: *const c_void, origin_count: c_int, origin_type: Type, rank: Rank, disp: Aint,
        target_count: c_int, target_type: Type, op: Op; win
    )
        at_once::accumulate(
            origin,
            Side(origin_count, origin_type),
            rank,
            disp,
            Side(target_count, target_type),
            op,
            win.0,
        );
    fn MPI_Get_accumulate(
        origin: *const c_void, origin_count: c_int, origin_type: Type, result: *mut c_void,
        result_count: c_int, result_type: Type, rank: Rank, disp: Aint, target_count: c_int,
        target_type: Type, op: Op; win
    )
        at_once::get_accumulate(
            origin,
            Side(origin_count, origin_type),
            result,
            Side(result_count, result_type),
            rank,
            disp,
            Side(target_count, target_type),
            op,
            win.0,
        );
    fn MPI_Fetch_and_op(
        origin: *const c_void, result: *mut c_void, kind: Type, rank: Rank, disp: Aint, op: Op; win
    )
        at_once::fetch_and_op(origin, result, kind, rank, disp, op, win.0);
    fn MPI_Compare_and_swap(
        origin: *const c_void, compare: *const c_void, result: *mut c_void, kind: Type, rank: Rank,
        disp: Aint; win
    )
        at_once::compare_and_swap(origin, compare, result, kind, rank, disp, win.0);
}

on_window! {
    fn MPI_Put_c(
        origin: *const c_void, origin_count: Count, origin_type: Type, rank: Rank, disp: Aint,
        target_count: Count, target_type: Type; win
    );
    fn MPI_Get_c(
        origin: *mut c_void, origin_count: Count, origin_type: Type, rank: Rank, disp: Aint,
        target_count: Count, target_type: Type; win
    );
    fn MPI_Accumulate_c(
        origin: *const c_void, origin_count: Count, origin_type: Type, rank: Rank, disp: Aint,
        target_count: Count, target_type: Type, op: Op; win
    );
    fn MPI_Get_accumulate_c(
        origin: *const c_void, origin_count: Count, origin_type: Type, result: *mut c_void,
        result_count: Count, result_type: Type, rank: Rank, disp: Aint, target_count: Count,
        target_type: Type, op: Op; win
    );
}

with_request! {
    fn MPI_Rput(
        origin: *const c_void, origin_count: c_int, origin_type: Type, rank: Rank, disp: Aint,
        target_count: c_int, target_type: Type; win
    )
        at_once::rput(
            origin,
            Side(origin_count, origin_type),
            rank,
            disp,
            Side(target_count, target_type),
            win.0,
        );
    fn MPI_Rget(
        origin: *mut c_void, origin_count: c_int, origin_type: Type, rank: Rank, disp: Aint,
        target_count: c_int, target_type: Type; win
    )
        at_once::rget(
            origin,
            Side(origin_count, origin_type),
            rank,
            disp,
            Side(target_count, target_type),
            win.0,
        );
    fn MPI_Raccumulate(
        origin: *const c_void, origin_count: c_int, origin_type: Type, rank: Rank, disp: Aint,
        target_count: c_int, target_type: Type, op: Op; win
    )
        at_once::raccumulate(
            origin,
            Side(origin_count, origin_type),
            rank,
            disp,
            Side(target_count, target_type),
            op,
            win.0,
        );
    fn MPI_Rget_accumulate(
        origin: *const c_void, origin_count: c_int, origin_type: Type, result: *mut c_void,
        result_count: c_int, result_type: Type, rank: Rank, disp: Aint, target_count: c_int,
        target_type: Type, op: Op; win
    )
        at_once::rget_accumulate(
            origin,
            Side(origin_count, origin_type),
            result,
            Side(result_count, result_type),
            rank,
            disp,
            Side(target_count, target_type),
            op,
            win.0,
        );
    fn MPI_Rput_c(
        origin: *const c_void, origin_count: Count, origin_type: Type, rank: Rank, disp: Aint,
        target_count: Count, target_type: Type; win
    );
    fn MPI_Rget_c(
        origin: *mut c_void, origin_count: Count, origin_type: Type, rank: Rank, disp: Aint,
        target_count: Count, target_type: Type; win
    );
    fn MPI_Raccumulate_c(
        origin: *const c_void, origin_count: Count, origin_type: Type, rank: Rank, disp: Aint,
        target_count: Count, target_type: Type, op: Op; win
    );
    fn MPI_Rget_accumulate_c(
        origin: *const c_void, origin_count: Count, origin_type: Type, result: *mut c_void,
        result_count: Count, result_type: Type, rank: Rank, disp: Aint, target_count: Count,
        target_type: Type, op: Op; win
    );
}
