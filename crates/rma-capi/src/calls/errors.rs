//! `MPI_Error_*` and the error-handler calls (MPI 5.0 §9.3 to §9.5).

use crate::abi::*;
use crate::arguments::{Out, Text, TextOut};
use crate::entry::{call_any_time, entry, handle, plain};
use crate::errors::{HandlerKind, Raiser, added, create, free, last, text_of};
use crate::window;
use rma::{Error, ErrorClass, Result};
use std::ffi::c_int;

plain! {
    /// `MPI_Error_class` (§9.5).
    fn MPI_Error_class(errorcode: c_int, errorclass: Out<c_int>) -> c_int {
        call_any_time("MPI_Error_class", || errorclass.set("errorclass", class(errorcode)?))
    }

    /// `MPI_Error_string` (§9.4): the class's text, and what this thread's last error of the class was about. Of a code that
    /// the program has added, what it has said of it.
    fn MPI_Error_string(errorcode: c_int, string: TextOut, resultlen: Out<c_int>) -> c_int {
        call_any_time("MPI_Error_string", || {
            class(errorcode)?;
            let len = match added::text_of(errorcode) {
                Some(text) => string.set_bytes("string", &text, MPI_MAX_ERROR_STRING as usize)?,
                None => {
                    let class = text_of(errorcode);
                    let text = last(errorcode).map_or(class.clone(), |last| format!("{class}; {last}"));
                    string.set("string", &text, MPI_MAX_ERROR_STRING as usize)?
                }
            };
            resultlen.set("resultlen", len)
        })
    }

    /// `MPI_Add_error_class` (§9.5).
    fn MPI_Add_error_class(errorclass: Out<c_int>) -> c_int {
        call_any_time("MPI_Add_error_class", || {
            errorclass.check("errorclass")?;
            errorclass.set("errorclass", added::add(None)?)
        })
    }

    /// `MPI_Add_error_code` (§9.5).
    fn MPI_Add_error_code(errorclass: c_int, errorcode: Out<c_int>) -> c_int {
        call_any_time("MPI_Add_error_code", || {
            errorcode.check("errorcode")?;
            errorcode.set("errorcode", added::add(Some(errorclass))?)
        })
    }

    /// `MPI_Add_error_string` (§9.5).
    fn MPI_Add_error_string(errorcode: c_int, string: Text) -> c_int {
        call_any_time("MPI_Add_error_string", || {
            let text = string.bytes("string", MPI_MAX_ERROR_STRING as usize - 1, ErrorClass::Arg)?;
            added::set_text(errorcode, Some(text))
        })
    }

    /// `MPI_Remove_error_class` (§9.5).
    fn MPI_Remove_error_class(errorclass: c_int) -> c_int {
        call_any_time("MPI_Remove_error_class", || added::remove(errorclass, true))
    }

    /// `MPI_Remove_error_code` (§9.5).
    fn MPI_Remove_error_code(errorcode: c_int) -> c_int {
        call_any_time("MPI_Remove_error_code", || added::remove(errorcode, false))
    }

    /// `MPI_Errhandler_free` (§9.3.5), at any time: the handler stays in force where it is attached.
    fn MPI_Errhandler_free(errhandler: Out<MPI_Errhandler>) -> c_int {
        call_any_time("MPI_Errhandler_free", || {
            free(errhandler.current().one("errhandler")?)?;
            errhandler.set("errhandler", MPI_ERRHANDLER_NULL)
        })
    }

    /// `MPI_Remove_error_string` (§9.5).
    fn MPI_Remove_error_string(errorcode: c_int) -> c_int {
        call_any_time("MPI_Remove_error_string", || added::set_text(errorcode, None))
    }
}

entry! {
    /// `MPI_Comm_create_errhandler` (§9.3.1).
    fn MPI_Comm_create_errhandler(
        comm_errhandler_fn: Option<ErrhandlerFunction>,
        errhandler: Out<MPI_Errhandler>,
    ) raises Raiser::None; |_| { create_into(HandlerKind::Comm, comm_errhandler_fn, errhandler) }

    /// `MPI_Win_create_errhandler` (§9.3.2).
    fn MPI_Win_create_errhandler(
        win_errhandler_fn: Option<ErrhandlerFunction>,
        errhandler: Out<MPI_Errhandler>,
    ) raises Raiser::None; |_| { create_into(HandlerKind::Win, win_errhandler_fn, errhandler) }

    /// `MPI_Comm_set_errhandler` (§9.3.1).
    fn MPI_Comm_set_errhandler(comm: MPI_Comm, errhandler: MPI_Errhandler)
    raises Raiser::Comm(comm); |process| {
        process.comm(comm)?.handler.set(errhandler, HandlerKind::Comm)
    }

    /// `MPI_Win_set_errhandler` (§9.3.2).
    fn MPI_Win_set_errhandler(win: MPI_Win, errhandler: MPI_Errhandler) raises Raiser::Win(win); |_| {
        window::get(win)?.handler.set(errhandler, HandlerKind::Win)
    }

    /// `MPI_Comm_get_errhandler` (§9.3.1).
    fn MPI_Comm_get_errhandler(comm: MPI_Comm, errhandler: Out<MPI_Errhandler>)
    raises Raiser::Comm(comm); |process| {
        errhandler.check("errhandler")?;
        errhandler.set("errhandler", process.comm(comm)?.handler.hand_out())
    }

    /// `MPI_Win_get_errhandler` (§9.3.2).
    fn MPI_Win_get_errhandler(win: MPI_Win, errhandler: Out<MPI_Errhandler>) raises Raiser::Win(win); |_| {
        errhandler.check("errhandler")?;
        errhandler.set("errhandler", window::get(win)?.handler.hand_out())
    }

    /// `MPI_Comm_call_errhandler` (§9.6).
    fn MPI_Comm_call_errhandler(comm: MPI_Comm, errorcode: c_int) raises Raiser::Comm(comm); |process| {
        process.comm(comm)?;
        class(errorcode)?;
        handle(errorcode, Raiser::Comm(comm));
        Ok(())
    }

    /// `MPI_Win_call_errhandler` (§9.6).
    fn MPI_Win_call_errhandler(win: MPI_Win, errorcode: c_int) raises Raiser::Win(win); |_| {
        window::get(win)?;
        class(errorcode)?;
        handle(errorcode, Raiser::Win(win));
        Ok(())
    }
}

pub(super) fn create_into(
    kind: HandlerKind,
    function: Option<ErrhandlerFunction>,
    errhandler: Out<MPI_Errhandler>,
) -> Result<()> {
    errhandler.check("errhandler")?;
    let function =
        function.ok_or_else(|| Error::new(ErrorClass::Arg, "", "the function is a null pointer"))?;
    errhandler.set("errhandler", create(kind, function)?)
}

/// The class of a code.
pub(super) fn class(code: c_int) -> Result<c_int> {
    added::class_of(code)
        .ok_or_else(|| Error::new(ErrorClass::Arg, "", format!("errorcode {code} is not defined")))
}
