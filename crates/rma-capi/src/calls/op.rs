//! `MPI_Op_*` and `MPI_Reduce_local` (MPI 5.0 §6.9.5 to §6.9.7).

use crate::abi::*;
use crate::arguments::{Memory, Out, Wide, count};
use crate::collective::Data;
use crate::entry::{entry, forms};
use crate::errors::Raiser;
use crate::op::{OPS, OpFunction, UserOp, combine, reduce_op, unknown, user};
use crate::overlap::check_apart;
use rma::{Error, ErrorClass, Result};
use std::ffi::c_int;

forms! {
    /// `MPI_Reduce_local` (§6.9.7).
    fn MPI_Reduce_local | MPI_Reduce_local_c(
        inbuf: Memory, inoutbuf: Memory, count: Number, datatype: MPI_Datatype, op: MPI_Op,
    )
    raises Raiser::None; |_| { reduce_local(inbuf, inoutbuf, count, datatype, op) }
}

entry! {
    /// `MPI_Op_create` (§6.9.5).
    fn MPI_Op_create(
        user_fn: Option<UserFunction>,
        commute: c_int,
        op: Out<MPI_Op>,
    ) raises Raiser::None; |_| { create(user_fn.map(OpFunction::Small), commute, op) }

    /// `MPI_Op_create_c` (§6.9.5).
    fn MPI_Op_create_c(
        user_fn: Option<UserFunctionLarge>,
        commute: c_int,
        op: Out<MPI_Op>,
    ) raises Raiser::None; |_| { create(user_fn.map(OpFunction::Large), commute, op) }

    /// `MPI_Op_free` (§6.9.5). Reductions under way are not affected.
    fn MPI_Op_free(op: Out<MPI_Op>) raises Raiser::None; |_| {
        let handle = op.current().one("op")?;
        if OPS.remove(handle).is_none() {
            return Err(match reduce_op(handle) {
                Some(_) => Error::new(ErrorClass::Op, "", "predefined operations cannot be freed"),
                None => unknown(handle),
            });
        }
        op.set("op", MPI_OP_NULL)
    }

    /// `MPI_Op_commutative` (§6.9.7).
    fn MPI_Op_commutative(op: MPI_Op, commute: Out<c_int>) raises Raiser::None; |_| {
        let is_commutative = match (user(op), reduce_op(op)) {
            (Some(user), _) => user.is_commutative,
            // All but "the origin's value" are.
            (None, Some(_)) => op != MPI_REPLACE && op != MPI_NO_OP,
            (None, None) => return Err(unknown(op)),
        };
        commute.set("commute", is_commutative.into())
    }
}

fn create(function: Option<OpFunction>, commute: c_int, op: Out<MPI_Op>) -> Result<()> {
    op.check("op")?;
    let function = function.ok_or_else(|| Error::new(ErrorClass::Arg, "", "user_fn is a null pointer"))?;
    let handle = OPS.insert(UserOp { function, is_commutative: commute != 0 });
    op.set(
        "op",
        handle.ok_or_else(|| Error::new(ErrorClass::NoMem, "", "no handle is left for an operation"))?,
    )
}

fn reduce_local(
    inbuf: Memory,
    inoutbuf: Memory,
    number: impl Wide,
    datatype: MPI_Datatype,
    op: MPI_Op,
) -> Result<()> {
    count("count", number)?;
    let operation = combine(op, datatype)?;
    let left = Data::new("inbuf", inbuf, number, datatype)?;
    let right = Data::new("inoutbuf", inoutbuf, number, datatype)?;
    check_apart(["inbuf", "inoutbuf"], left.touched().into_iter(), right.touched().into_iter())?;
    let (left, mut values) = (left.pack()?, right.pack()?);
    operation.combine(&left, &mut values);
    right.room()?.store(&values)
}
