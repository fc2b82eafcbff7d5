//! The communication calls (MPI 5.0 §12.3), in both their forms.

use super::now::{
    accumulate_next, accumulate_now, compare_and_swap_next, compare_and_swap_now, fetch_and_op_next,
    fetch_and_op_now, get_accumulate_next, get_accumulate_now, get_next, get_now, put_now, put_unlike,
};
use crate::abi::*;
use crate::arguments::Memory;
use crate::entry::{entry, forms};
use crate::errors::Raiser;
use crate::window::transfer::{
    Origin, Target, accumulate, compare_and_swap, fetch_and_op, get, get_accumulate, put,
};
use std::ffi::c_int;

forms! {
    /// `MPI_Put` (§12.3.1).
    fn MPI_Put | MPI_Put_c(
        origin_addr: Memory, origin_count: Number, origin_datatype: MPI_Datatype, target_rank: c_int,
        target_disp: MPI_Aint, target_count: Number, target_datatype: MPI_Datatype, win: MPI_Win,
    )
    raises Raiser::Win(win), first put_now::<EntryPoint, _>(&Origin::new(origin_addr, origin_count, origin_datatype), &Target::new(target_rank, target_disp, target_count, target_datatype), win), then put_unlike::<EntryPoint, _>(&Origin::new(origin_addr, origin_count, origin_datatype), &Target::new(target_rank, target_disp, target_count, target_datatype), win);
    |_| {
        put(Origin::new(origin_addr, origin_count, origin_datatype), Target::new(target_rank, target_disp, target_count, target_datatype), win)
    }

    /// `MPI_Get` (§12.3.2).
    fn MPI_Get | MPI_Get_c(
        origin_addr: Memory, origin_count: Number, origin_datatype: MPI_Datatype, target_rank: c_int,
        target_disp: MPI_Aint, target_count: Number, target_datatype: MPI_Datatype, win: MPI_Win,
    )
    raises Raiser::Win(win), first get_now(&Origin::new(origin_addr, origin_count, origin_datatype), &Target::new(target_rank, target_disp, target_count, target_datatype), win).is_some(), then get_next::<EntryPoint, _>(&Origin::new(origin_addr, origin_count, origin_datatype), &Target::new(target_rank, target_disp, target_count, target_datatype), win);
    |_| {
        get(Origin::new(origin_addr, origin_count, origin_datatype), Target::new(target_rank, target_disp, target_count, target_datatype), win)
    }

    /// `MPI_Accumulate` (§12.3.4).
    fn MPI_Accumulate | MPI_Accumulate_c(
        origin_addr: Memory, origin_count: Number, origin_datatype: MPI_Datatype, target_rank: c_int,
        target_disp: MPI_Aint, target_count: Number, target_datatype: MPI_Datatype, op: MPI_Op, win: MPI_Win,
    )
    raises Raiser::Win(win), first accumulate_now(&Origin::new(origin_addr, origin_count, origin_datatype), &Target::new(target_rank, target_disp, target_count, target_datatype), op, win).is_some(), then accumulate_next::<EntryPoint, _>(&Origin::new(origin_addr, origin_count, origin_datatype), &Target::new(target_rank, target_disp, target_count, target_datatype), op, win);
    |_| {
        accumulate(Origin::new(origin_addr, origin_count, origin_datatype), Target::new(target_rank, target_disp, target_count, target_datatype), op, win)
    }

    /// `MPI_Get_accumulate` (§12.3.4).
    fn MPI_Get_accumulate | MPI_Get_accumulate_c(
        origin_addr: Memory, origin_count: Number, origin_datatype: MPI_Datatype, result_addr: Memory,
        result_count: Number, result_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint,
        target_count: Number, target_datatype: MPI_Datatype, op: MPI_Op, win: MPI_Win,
    )
    raises Raiser::Win(win), first get_accumulate_now(&Origin::new(origin_addr, origin_count, origin_datatype), &Origin::new(result_addr, result_count, result_datatype), &Target::new(target_rank, target_disp, target_count, target_datatype), op, win).is_some(), then get_accumulate_next::<EntryPoint, _>(&Origin::new(origin_addr, origin_count, origin_datatype), &Origin::new(result_addr, result_count, result_datatype), &Target::new(target_rank, target_disp, target_count, target_datatype), op, win);
    |_| {
        let origin = Origin::new(origin_addr, origin_count, origin_datatype);
        let result = Origin::new(result_addr, result_count, result_datatype);
        let target = Target::new(target_rank, target_disp, target_count, target_datatype);
        get_accumulate(origin, result, target, op, win)
    }
}

entry! {
    /// `MPI_Fetch_and_op` (§12.3.4).
    fn MPI_Fetch_and_op(
        origin_addr: Memory,
        result_addr: Memory,
        datatype: MPI_Datatype,
        target_rank: c_int,
        target_disp: MPI_Aint,
        op: MPI_Op,
        win: MPI_Win,
    ) raises Raiser::Win(win), first fetch_and_op_now(origin_addr, result_addr, &Target::new(target_rank, target_disp, 1, datatype), op, win).is_some(), then fetch_and_op_next::<EntryPoint>(origin_addr, result_addr, &Target::new(target_rank, target_disp, 1, datatype), op, win);
    |_| {
        let target = Target::new(target_rank, target_disp, 1, datatype);
        fetch_and_op(origin_addr, result_addr, target, op, win)
    }

    /// `MPI_Compare_and_swap` (§12.3.4).
    fn MPI_Compare_and_swap(
        origin_addr: Memory,
        compare_addr: Memory,
        result_addr: Memory,
        datatype: MPI_Datatype,
        target_rank: c_int,
        target_disp: MPI_Aint,
        win: MPI_Win,
    ) raises Raiser::Win(win), first compare_and_swap_now(origin_addr, compare_addr, result_addr, &Target::new(target_rank, target_disp, 1, datatype), win).is_some(), then compare_and_swap_next::<EntryPoint>(origin_addr, compare_addr, result_addr, &Target::new(target_rank, target_disp, 1, datatype), win);
    |_| {
        let target = Target::new(target_rank, target_disp, 1, datatype);
        compare_and_swap(origin_addr, compare_addr, result_addr, target, win)
    }
}
