//! `MPI_T_pvar_*` (MPI 5.0 §15.3.7).

use crate::abi::*;
use crate::arguments::{Memory, Out, Text, TextOut};
use crate::entry::plain;
use crate::tool::answer::{Fault, give, handle_at, index_of, place, set_wanted};
use crate::tool::performance::variables;
use crate::tool::session::{Meter, PerformanceSession, session};
use crate::tool::state::{PVAR, call, handle as number};
use crate::window;
use std::ffi::c_int;

plain! {
    /// `MPI_T_pvar_get_num`.
    fn MPI_T_pvar_get_num(num_pvar: Out<c_int>) -> c_int {
        call(|_| Ok(num_pvar.set("", variables().len() as c_int)?))
    }

    /// `MPI_T_pvar_get_info`.
    fn MPI_T_pvar_get_info(
        pvar_index: c_int,
        name: TextOut,
        name_len: Out<c_int>,
        verbosity: Out<c_int>,
        var_class: Out<c_int>,
        datatype: Out<MPI_Datatype>,
        enumtype: Out<MPI_T_enum>,
        desc: TextOut,
        desc_len: Out<c_int>,
        bind: Out<c_int>,
        readonly: Out<c_int>,
        continuous: Out<c_int>,
        atomic: Out<c_int>,
    ) -> c_int {
        call(|_| {
            let variable = &variables()[place(pvar_index, variables().len())?];
            let is_continuous = variable.is_continuous();
            give(&variable.name, name, name_len)?;
            give(&variable.text, desc, desc_len)?;
            set_wanted(verbosity, variable.verbosity())?;
            set_wanted(var_class, variable.class)?;
            set_wanted(datatype, MPI_UNSIGNED_LONG_LONG)?;
            set_wanted(enumtype, MPI_T_enum(MPI_T_ENUM_NULL))?;
            set_wanted(bind, if variable.is_of_window { MPI_T_BIND_MPI_WIN } else { MPI_T_BIND_NO_OBJECT })?;
            set_wanted(readonly, is_continuous.into())?;
            set_wanted(continuous, is_continuous.into())?;
            // Reading and setting back take one sample, so nothing is lost between them.
            set_wanted(atomic, (!is_continuous).into())
        })
    }

    /// `MPI_T_pvar_get_index`.
    fn MPI_T_pvar_get_index(name: Text, var_class: c_int, pvar_index: Out<c_int>) -> c_int {
        call(|_| {
            pvar_index.check("")?;
            // A name is that of one variable, whatever its class; of another class there is none of this name.
            let index = index_of(name, variables().iter().map(|variable| variable.name.as_str()))?;
            match variables()[index as usize].class == var_class {
                true => Ok(pvar_index.set("", index)?),
                false => Err(Fault(MPI_T_ERR_INVALID_NAME)),
            }
        })
    }

    /// `MPI_T_pvar_session_create`.
    fn MPI_T_pvar_session_create(session: Out<MPI_T_pvar_session>) -> c_int {
        call(|tool| {
            session.check("")?;
            Ok(session.set("", MPI_T_pvar_session(tool.sessions.insert(PerformanceSession::default())))?)
        })
    }

    /// `MPI_T_pvar_session_free`: its handles go with it.
    fn MPI_T_pvar_session_free(session: Out<MPI_T_pvar_session>) -> c_int {
        call(|tool| {
            let freed = handle_at(session)?;
            tool.sessions.remove(freed.0).ok_or(Fault(MPI_T_ERR_INVALID_SESSION))?;
            Ok(session.set("", MPI_T_pvar_session(MPI_T_PVAR_SESSION_NULL))?)
        })
    }

    /// `MPI_T_pvar_handle_alloc`: `obj_handle` is the address of a window's handle, if the variable is of windows.
    fn MPI_T_pvar_handle_alloc(
        session: MPI_T_pvar_session,
        pvar_index: c_int,
        obj_handle: Memory,
        handle: Out<MPI_T_pvar_handle>,
        count: Out<c_int>,
    ) -> c_int {
        call(|tool| {
            handle.check("")?;
            count.check("")?;
            let number = number(PVAR, tool.pvar_handles + 1);
            let session = self::session(tool, session)?;
            let variable = &variables()[place(pvar_index, variables().len())?];
            let mut window = MPI_WIN_NULL;
            if variable.is_of_window {
                window = obj_handle.value().one("")?;
                window::find(window).ok_or(Fault(MPI_T_ERR_INVALID_HANDLE))?;
            }
            session.bind(number, variable, window);
            tool.pvar_handles += 1;
            count.set("", 1)?;
            Ok(handle.set("", MPI_T_pvar_handle(number))?)
        })
    }

    /// `MPI_T_pvar_handle_free`.
    fn MPI_T_pvar_handle_free(session: MPI_T_pvar_session, handle: Out<MPI_T_pvar_handle>) -> c_int {
        call(|tool| {
            let session = self::session(tool, session)?;
            let freed = handle_at(handle)?;
            session.free(freed)?;
            Ok(handle.set("", MPI_T_pvar_handle(MPI_T_PVAR_HANDLE_NULL))?)
        })
    }

    /// `MPI_T_pvar_start`.
    fn MPI_T_pvar_start(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle) -> c_int {
        call(|tool| self::session(tool, session)?.change(handle, MPI_T_ERR_PVAR_NO_STARTSTOP, Meter::start))
    }

    /// `MPI_T_pvar_stop`.
    fn MPI_T_pvar_stop(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle) -> c_int {
        call(|tool| self::session(tool, session)?.change(handle, MPI_T_ERR_PVAR_NO_STARTSTOP, Meter::stop))
    }

    /// `MPI_T_pvar_read`.
    fn MPI_T_pvar_read(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle, buf: Memory) -> c_int {
        call(|tool| {
            let value = self::session(tool, session)?.find(handle)?.value()?;
            Ok(buf.place().set("", value)?)
        })
    }

    /// `MPI_T_pvar_readreset`.
    fn MPI_T_pvar_readreset(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle, buf: Memory) -> c_int {
        call(|tool| {
            let handle = self::session(tool, session)?.find(handle)?;
            let place = buf.place::<u64>();
            place.check("")?;
            let mut value = 0;
            handle.change(MPI_T_ERR_PVAR_NO_WRITE, |meter, sample| {
                value = meter.value(sample);
                meter.set(0, sample);
            })?;
            Ok(place.set("", value)?)
        })
    }

    /// `MPI_T_pvar_reset`.
    fn MPI_T_pvar_reset(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle) -> c_int {
        call(|tool| {
            let set_back = |meter: &mut Meter, sample| meter.set(0, sample);
            self::session(tool, session)?.change(handle, MPI_T_ERR_PVAR_NO_WRITE, set_back)
        })
    }

    /// `MPI_T_pvar_write`.
    fn MPI_T_pvar_write(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle, buf: Memory) -> c_int {
        call(|tool| {
            let handle = self::session(tool, session)?.find(handle)?;
            let value = buf.value().one("");
            let value: u64 = value?;
            handle.change(MPI_T_ERR_PVAR_NO_WRITE, |meter, sample| meter.set(value, sample))
        })
    }
}
