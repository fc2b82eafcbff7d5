//! Handles as integers and back (MPI 5.0 §20: `MPI_*_toint`, `MPI_*_fromint`; §19.3.4: `MPI_*_c2f`, `MPI_*_f2c`), for languages that keep
//! them as such.
//!
//! A predefined handle is its own number. That of another is its place in the table and a part of its generation, so that
//! a stale number is found out, as long as it is not older than 32 objects at that place. A handle or number that is none
//! gives 0, which no call takes for a handle.

use crate::abi::*;
use crate::arguments::{In, Memory, Out};
use crate::communicator::COMMS;
use crate::datatype::TYPES;
use crate::entry::{entry, plain};
use crate::errors::{HANDLERS, Raiser};
use crate::group::GROUPS;
use crate::handle::Handle;
use crate::info::INFOS;
use crate::message::MESSAGES;
use crate::op::OPS;
use crate::request::Numbers;
use crate::session::SESSIONS;
use crate::window::WINDOWS;
use std::ffi::c_int;

/// Handles below this are the ABI's own.
const PREDEFINED_END: usize = 0x1000;

macro_rules! conversions {
    ($($handle:ident in $table:ident: $to:ident, $from:ident, $c2f:ident, $f2c:ident;)*) => { plain! {$(
        #[doc = concat!("`", stringify!($to), "` (§20).")]
        fn $to(handle: $handle) -> c_int { to_int(handle, |handle| $table.number(handle)) }

        #[doc = concat!("`", stringify!($from), "` (§20).")]
        fn $from(number: c_int) -> $handle { from_int(number, |number| $table.of_number(number)) }

        #[doc = concat!("`", stringify!($c2f), "` (§19.3.4): the integer is the same.")]
        fn $c2f(handle: $handle) -> c_int { to_int(handle, |handle| $table.number(handle)) }

        #[doc = concat!("`", stringify!($f2c), "` (§19.3.4).")]
        fn $f2c(number: c_int) -> $handle { from_int(number, |number| $table.of_number(number)) }
    )*}};
}

plain! {
    /// `MPI_File_c2f` (§19.3.4): there are no files but the null one.
    fn MPI_File_c2f(file: MPI_File) -> c_int { if file.0 < PREDEFINED_END { file.0 as c_int } else { 0 } }

    /// `MPI_File_f2c` (§19.3.4).
    fn MPI_File_f2c(file: c_int) -> MPI_File {
        MPI_File(usize::try_from(file).ok().filter(|bits| *bits < PREDEFINED_END).unwrap_or(0))
    }
}

conversions! {
    MPI_Comm in COMMS: MPI_Comm_toint, MPI_Comm_fromint, MPI_Comm_c2f, MPI_Comm_f2c;
    MPI_Errhandler in HANDLERS:
        MPI_Errhandler_toint, MPI_Errhandler_fromint, MPI_Errhandler_c2f, MPI_Errhandler_f2c;
    MPI_Group in GROUPS: MPI_Group_toint, MPI_Group_fromint, MPI_Group_c2f, MPI_Group_f2c;
    MPI_Info in INFOS: MPI_Info_toint, MPI_Info_fromint, MPI_Info_c2f, MPI_Info_f2c;
    MPI_Message in MESSAGES: MPI_Message_toint, MPI_Message_fromint, MPI_Message_c2f, MPI_Message_f2c;
    MPI_Op in OPS: MPI_Op_toint, MPI_Op_fromint, MPI_Op_c2f, MPI_Op_f2c;
    MPI_Request in Numbers: MPI_Request_toint, MPI_Request_fromint, MPI_Request_c2f, MPI_Request_f2c;
    MPI_Session in SESSIONS: MPI_Session_toint, MPI_Session_fromint, MPI_Session_c2f, MPI_Session_f2c;
    MPI_Datatype in TYPES: MPI_Type_toint, MPI_Type_fromint, MPI_Type_c2f, MPI_Type_f2c;
    MPI_Win in WINDOWS: MPI_Win_toint, MPI_Win_fromint, MPI_Win_c2f, MPI_Win_f2c;
}

entry! {
    /// `MPI_Status_c2f` (§19.3.5): a status is eight integers in both languages.
    fn MPI_Status_c2f(c_status: In<MPI_Status>, f_status: Memory) raises Raiser::None; |_| {
        f_status.place().set("f_status", c_status.one("c_status")?)
    }

    /// `MPI_Status_f2c` (§19.3.5).
    fn MPI_Status_f2c(f_status: Memory, c_status: Out<MPI_Status>) raises Raiser::None; |_| {
        c_status.set("c_status", f_status.value().one("f_status")?)
    }

    /// `MPI_Status_c2f08` (§19.3.5): the type of the module `mpi_f08` is that of C.
    fn MPI_Status_c2f08(c_status: In<MPI_Status>, f08_status: Out<MPI_Status>) raises Raiser::None; |_| {
        f08_status.set("f08_status", c_status.one("c_status")?)
    }

    /// `MPI_Status_f082c` (§19.3.5).
    fn MPI_Status_f082c(f08_status: In<MPI_Status>, c_status: Out<MPI_Status>) raises Raiser::None; |_| {
        c_status.set("c_status", f08_status.one("f08_status")?)
    }

    /// `MPI_Status_f082f` (§19.3.5).
    fn MPI_Status_f082f(f08_status: In<MPI_Status>, f_status: Memory) raises Raiser::None; |_| {
        f_status.place().set("f_status", f08_status.one("f08_status")?)
    }

    /// `MPI_Status_f2f08` (§19.3.5).
    fn MPI_Status_f2f08(f_status: Memory, f08_status: Out<MPI_Status>) raises Raiser::None; |_| {
        f08_status.set("f08_status", f_status.value().one("f_status")?)
    }
}

fn to_int<H: Handle>(handle: H, number: impl FnOnce(H) -> Option<c_int>) -> c_int {
    match handle.bits() {
        bits if bits < PREDEFINED_END => bits as c_int,
        _ => number(handle).unwrap_or_default(),
    }
}

fn from_int<H: Handle>(number: c_int, handle: impl FnOnce(c_int) -> Option<H>) -> H {
    match usize::try_from(number) {
        Ok(bits) if bits < PREDEFINED_END => H::from_bits(bits),
        _ => handle(number).unwrap_or(H::from_bits(0)),
    }
}
