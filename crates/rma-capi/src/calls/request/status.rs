//! The calls that ask a status, or change it (MPI 5.0 §3.2.5, §5.1.11, §13.3).

use crate::abi::*;
use crate::arguments::{In, Out, Wide};
use crate::datatype;
use crate::entry::{entry, forms};
use crate::errors::Raiser;
use crate::request::status::{IS_CANCELLED, StatusOut, bytes_of, set_bytes};
use rma::Result;
use std::ffi::c_int;

forms! {
    /// `MPI_Get_count` (§3.2.5).
    fn MPI_Get_count | MPI_Get_count_c(status: In<MPI_Status>, datatype: MPI_Datatype, count: Out<Number>)
    raises Raiser::None; |_| {
        get_count(status, datatype, count)
    }

    /// `MPI_Get_elements` (§5.1.11).
    fn MPI_Get_elements | MPI_Get_elements_c(
        status: In<MPI_Status>, datatype: MPI_Datatype, count: Out<Number>,
    )
    raises Raiser::None; |_| { get_elements(status, datatype, count) }

    /// `MPI_Status_set_elements` (§13.3).
    fn MPI_Status_set_elements | MPI_Status_set_elements_c(
        status: StatusOut, datatype: MPI_Datatype, count: Number,
    )
    raises Raiser::None; |_| { set_elements(status, datatype, count) }
}

entry! {
    /// `MPI_Get_elements_x`, deprecated: as `MPI_Get_elements_c`.
    fn MPI_Get_elements_x(status: In<MPI_Status>, datatype: MPI_Datatype, count: Out<MPI_Count>)
    raises Raiser::None; |_| {
        get_elements(status, datatype, count)
    }

    /// `MPI_Status_set_elements_x`, deprecated: as `MPI_Status_set_elements_c`.
    fn MPI_Status_set_elements_x(status: StatusOut, datatype: MPI_Datatype, count: MPI_Count)
    raises Raiser::None; |_| {
        set_elements(status, datatype, count)
    }

    /// `MPI_Test_cancelled` (§3.8.5).
    fn MPI_Test_cancelled(status: In<MPI_Status>, flag: Out<c_int>) raises Raiser::None; |_| {
        flag.set("flag", status.one("status")?.MPI_internal[IS_CANCELLED])
    }

    /// `MPI_Status_get_source` (§3.2.5).
    fn MPI_Status_get_source(status: In<MPI_Status>, source: Out<c_int>) raises Raiser::None; |_| {
        source.set("source", status.one("status")?.MPI_SOURCE)
    }

    /// `MPI_Status_get_tag` (§3.2.5).
    fn MPI_Status_get_tag(status: In<MPI_Status>, tag: Out<c_int>) raises Raiser::None; |_| {
        tag.set("tag", status.one("status")?.MPI_TAG)
    }

    /// `MPI_Status_get_error` (§3.2.5).
    fn MPI_Status_get_error(status: In<MPI_Status>, error: Out<c_int>) raises Raiser::None; |_| {
        error.set("error", status.one("status")?.MPI_ERROR)
    }

    /// `MPI_Status_set_error` (§13.3).
    fn MPI_Status_set_error(status: StatusOut, error: c_int) raises Raiser::None; |_| {
        change(status, |status| status.MPI_ERROR = error)
    }

    /// `MPI_Status_set_source` (§13.3).
    fn MPI_Status_set_source(status: StatusOut, source: c_int) raises Raiser::None; |_| {
        change(status, |status| status.MPI_SOURCE = source)
    }

    /// `MPI_Status_set_tag` (§13.3).
    fn MPI_Status_set_tag(status: StatusOut, tag: c_int) raises Raiser::None; |_| {
        change(status, |status| status.MPI_TAG = tag)
    }

    /// `MPI_Status_set_cancelled` (§13.3).
    fn MPI_Status_set_cancelled(status: StatusOut, flag: c_int) raises Raiser::None; |_| {
        change(status, |status| status.MPI_internal[IS_CANCELLED] = c_int::from(flag != 0))
    }
}

fn change(place: StatusOut, change: impl FnOnce(&mut MPI_Status)) -> Result<()> {
    let mut status = place.current().one("status")?;
    change(&mut status);
    place.set("status", status)
}

/// The elements are the basic ones of the type (§13.3), which count as many bytes as they fill in whole types and a part.
fn set_elements(status: StatusOut, datatype: MPI_Datatype, count: impl Wide) -> Result<()> {
    let bytes = datatype::bytes_of_elements(datatype, crate::arguments::count("count", count)?)?;
    change(status, |status| set_bytes(&mut status.MPI_internal, bytes))
}

fn get_count<C: Wide>(status: In<MPI_Status>, datatype: MPI_Datatype, count: Out<C>) -> Result<()> {
    let size = datatype::committed("datatype", datatype)?.size();
    store_count(count, whole(bytes_of(status)?, size))
}

fn get_elements<C: Wide>(status: In<MPI_Status>, datatype: MPI_Datatype, count: Out<C>) -> Result<()> {
    let bytes = bytes_of(status)?;
    datatype::committed("datatype", datatype)?;
    store_count(count, datatype::elements_in(datatype, bytes))
}

/// How many elements of `size` bytes there are; `None` when there is a part of one.
fn whole(bytes: u64, size: u64) -> Option<u64> {
    match size {
        0 => (bytes == 0).then_some(0),
        size => bytes.is_multiple_of(size).then_some(bytes / size),
    }
}

fn store_count<C: Wide>(count: Out<C>, number: Option<u64>) -> Result<()> {
    let number = number.and_then(|number| C::narrow(i64::try_from(number).ok()?));
    match number.or_else(|| C::narrow(MPI_UNDEFINED.into())) {
        Some(number) => count.set("count", number),
        None => unreachable!("MPI_UNDEFINED fits every integer"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_elements_are_no_count() {
        assert_eq!([whole(12, 4), whole(13, 4), whole(0, 0), whole(4, 0)], [Some(3), None, Some(0), None]);
    }
}
