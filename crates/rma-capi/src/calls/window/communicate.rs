//! The communication calls (MPI 5.0 §12.3), in both their forms.

use super::fast_path::{
    accumulate_decoded, compare_and_swap_decoded, fetch_and_op_decoded, get_accumulate_decoded, get_decoded,
    put_decoded, try_accumulate, try_compare_and_swap, try_fetch_and_op, try_get, try_get_accumulate,
    try_put,
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
    raises Raiser::Win(win),
    first try_put::<EntryPoint, _>(
        &Origin::new(origin_addr, origin_count, origin_datatype),
        &Target::new(target_rank, target_disp, target_count, target_datatype),
        win,
    ),
    then put_decoded::<EntryPoint, _>(
        &Origin::new(origin_addr, origin_count, origin_datatype),
        &Target::new(target_rank, target_disp, target_count, target_datatype),
        win,
    );
    |_| {
        put(
            Origin::new(origin_addr, origin_count, origin_datatype),
            Target::new(target_rank, target_disp, target_count, target_datatype),
            win,
        )
    }

    /// `MPI_Get` (§12.3.2).
    fn MPI_Get | MPI_Get_c(
        origin_addr: Memory, origin_count: Number, origin_datatype: MPI_Datatype, target_rank: c_int,
        target_disp: MPI_Aint, target_count: Number, target_datatype: MPI_Datatype, win: MPI_Win,
    )
    raises Raiser::Win(win),
    first try_get::<EntryPoint, _>(
        &Origin::new(origin_addr, origin_count, origin_datatype),
        &Target::new(target_rank, target_disp, target_count, target_datatype),
        win,
    ),
    then get_decoded::<EntryPoint, _>(
        &Origin::new(origin_addr, origin_count, origin_datatype),
        &Target::new(target_rank, target_disp, target_count, target_datatype),
        win,
    );
    |_| {
        get(
            Origin::new(origin_addr, origin_count, origin_datatype),
            Target::new(target_rank, target_disp, target_count, target_datatype),
            win,
        )
    }

    /// `MPI_Accumulate` (§12.3.4).
    fn MPI_Accumulate | MPI_Accumulate_c(
        origin_addr: Memory, origin_count: Number, origin_datatype: MPI_Datatype, target_rank: c_int,
        target_disp: MPI_Aint, target_count: Number, target_datatype: MPI_Datatype, op: MPI_Op, win: MPI_Win,
    )
    raises Raiser::Win(win),
    first try_accumulate(
        &Origin::new(origin_addr, origin_count, origin_datatype),
        &Target::new(target_rank, target_disp, target_count, target_datatype),
        op,
        win,
    )
    .is_some(),
    then accumulate_decoded::<EntryPoint, _>(
        &Origin::new(origin_addr, origin_count, origin_datatype),
        &Target::new(target_rank, target_disp, target_count, target_datatype),
        op,
        win,
    );
    |_| {
        accumulate(
            Origin::new(origin_addr, origin_count, origin_datatype),
            Target::new(target_rank, target_disp, target_count, target_datatype),
            op,
            win,
        )
    }

    /// `MPI_Get_accumulate` (§12.3.4).
    fn MPI_Get_accumulate | MPI_Get_accumulate_c(
        origin_addr: Memory, origin_count: Number, origin_datatype: MPI_Datatype, result_addr: Memory,
        result_count: Number, result_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint,
        target_count: Number, target_datatype: MPI_Datatype, op: MPI_Op, win: MPI_Win,
    )
    raises Raiser::Win(win),
    first try_get_accumulate(
        &Origin::new(origin_addr, origin_count, origin_datatype),
        &Origin::new(result_addr, result_count, result_datatype),
        &Target::new(target_rank, target_disp, target_count, target_datatype),
        op,
        win,
    )
    .is_some(),
    then get_accumulate_decoded::<EntryPoint, _>(
        &Origin::new(origin_addr, origin_count, origin_datatype),
        &Origin::new(result_addr, result_count, result_datatype),
        &Target::new(target_rank, target_disp, target_count, target_datatype),
        op,
        win,
    );
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
    ) raises Raiser::Win(win),
    first try_fetch_and_op(
        origin_addr,
        result_addr,
        &Target::new(target_rank, target_disp, 1, datatype),
        op,
        win,
    )
    .is_some(),
    then fetch_and_op_decoded::<EntryPoint>(
        origin_addr,
        result_addr,
        &Target::new(target_rank, target_disp, 1, datatype),
        op,
        win,
    );
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
    ) raises Raiser::Win(win),
    first try_compare_and_swap(
        origin_addr,
        compare_addr,
        result_addr,
        &Target::new(target_rank, target_disp, 1, datatype),
        win,
    )
    .is_some(),
    then compare_and_swap_decoded::<EntryPoint>(
        origin_addr,
        compare_addr,
        result_addr,
        &Target::new(target_rank, target_disp, 1, datatype),
        win,
    );
    |_| {
        let target = Target::new(target_rank, target_disp, 1, datatype);
        compare_and_swap(origin_addr, compare_addr, result_addr, target, win)
    }
}
