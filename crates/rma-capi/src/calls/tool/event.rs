//! `MPI_T_event_*` and `MPI_T_source_*` (MPI 5.0 §15.3.8).

use crate::abi::*;
use crate::arguments::{Memory, Opaque, Out, Text, TextOut};
use crate::entry::plain;
use crate::info::{self, Info};
use crate::tool::answer::{Answer, Fault, give, index_of, place, set_wanted};
use crate::tool::enumeration::of_calls;
use crate::tool::event::{
    self, DroppedFunction, EventFreeFunction, EventFunction, TYPES, find, level, now, register, tell_freed,
    unregister,
};
use crate::tool::state::call;
use std::ffi::c_int;

const SOURCE: (&str, &str) =
    ("rma", "calls of this process, in the order in which each thread makes them; nanoseconds");

plain! {
    /// `MPI_T_source_get_num`.
    fn MPI_T_source_get_num(num_sources: Out<c_int>) -> c_int {
        call(|_| Ok(num_sources.set("", 1)?))
    }

    /// `MPI_T_source_get_info`.
    fn MPI_T_source_get_info(
        source_index: c_int,
        name: TextOut,
        name_len: Out<c_int>,
        desc: TextOut,
        desc_len: Out<c_int>,
        ordering: Out<c_int>,
        ticks_per_second: Out<MPI_Count>,
        max_ticks: Out<MPI_Count>,
        info: Out<MPI_Info>,
    ) -> c_int {
        call(|_| {
            place(source_index, 1)?;
            give(SOURCE.0, name, name_len)?;
            give(SOURCE.1, desc, desc_len)?;
            set_wanted(ordering, MPI_T_SOURCE_UNORDERED)?;
            set_wanted(ticks_per_second, 1_000_000_000)?;
            set_wanted(max_ticks, MPI_Count::MAX)?;
            give_info(info)
        })
    }

    /// `MPI_T_source_get_timestamp`.
    fn MPI_T_source_get_timestamp(source_index: c_int, timestamp: Out<MPI_Count>) -> c_int {
        call(|_| {
            place(source_index, 1)?;
            Ok(timestamp.set("", now())?)
        })
    }

    /// `MPI_T_event_get_num`.
    fn MPI_T_event_get_num(num_events: Out<c_int>) -> c_int {
        call(|_| Ok(num_events.set("", TYPES.len() as c_int)?))
    }

    /// `MPI_T_event_get_info`: of the elements as many as there is room for.
    fn MPI_T_event_get_info(
        event_index: c_int,
        name: TextOut,
        name_len: Out<c_int>,
        verbosity: Out<c_int>,
        array_of_datatypes: Out<MPI_Datatype>,
        array_of_displacements: Out<MPI_Aint>,
        num_elements: Out<c_int>,
        enumtype: Out<MPI_T_enum>,
        info: Out<MPI_Info>,
        desc: TextOut,
        desc_len: Out<c_int>,
        bind: Out<c_int>,
    ) -> c_int {
        call(|_| {
            let kind = event::kind(event_index)?;
            give(kind.name, name, name_len)?;
            give(kind.text, desc, desc_len)?;
            set_wanted(verbosity, MPI_T_VERBOSITY_USER_DETAIL)?;
            if !num_elements.is_null() {
                let room = usize::try_from(num_elements.current().one("")?).unwrap_or(0);
                for (at, (datatype, disp)) in kind.elements.iter().take(room).enumerate() {
                    if !array_of_datatypes.is_null() {
                        array_of_datatypes.set_at("", at, *datatype)?;
                    }
                    if !array_of_displacements.is_null() {
                        array_of_displacements.set_at("", at, *disp as MPI_Aint)?;
                    }
                }
                num_elements.set("", kind.elements.len() as c_int)?;
            }
            let words = if kind.name == "rma_epoch" { of_calls() } else { MPI_T_enum(MPI_T_ENUM_NULL) };
            set_wanted(enumtype, words)?;
            set_wanted(bind, MPI_T_BIND_NO_OBJECT)?;
            give_info(info)
        })
    }

    /// `MPI_T_event_get_index`.
    fn MPI_T_event_get_index(name: Text, event_index: Out<c_int>) -> c_int {
        call(|_| {
            event_index.check("")?;
            Ok(event_index.set("", index_of(name, TYPES.iter().map(|kind| kind.name))?)?)
        })
    }

    /// `MPI_T_event_handle_alloc`: events are bound to no object.
    fn MPI_T_event_handle_alloc(
        event_index: c_int,
        _obj_handle: Memory,
        info: MPI_Info,
        event_registration: Out<MPI_T_event_registration>,
    ) -> c_int {
        call(|_| {
            event_registration.check("")?;
            info::get_optional(info)?;
            Ok(event_registration.set("", register(event_index)?)?)
        })
    }

    /// `MPI_T_event_handle_set_info`: there are no hints.
    fn MPI_T_event_handle_set_info(event_registration: MPI_T_event_registration, info: MPI_Info) -> c_int {
        call(|_| {
            find(event_registration)?;
            Ok(info::get(info).map(drop)?)
        })
    }

    /// `MPI_T_event_handle_get_info`.
    fn MPI_T_event_handle_get_info(
        event_registration: MPI_T_event_registration,
        info_used: Out<MPI_Info>,
    ) -> c_int {
        call(|_| {
            find(event_registration)?;
            give_info(info_used)
        })
    }

    /// `MPI_T_event_register_callback`: a null function takes the one of this level back.
    fn MPI_T_event_register_callback(
        event_registration: MPI_T_event_registration,
        cb_safety: c_int,
        info: MPI_Info,
        user_data: Opaque,
        event_cb_function: Option<EventFunction>,
    ) -> c_int {
        call(|_| {
            info::get_optional(info)?;
            find(event_registration)?.set(level(cb_safety)?, event_cb_function, user_data);
            Ok(())
        })
    }

    /// `MPI_T_event_callback_set_info`: there are no hints.
    fn MPI_T_event_callback_set_info(
        event_registration: MPI_T_event_registration,
        cb_safety: c_int,
        info: MPI_Info,
    ) -> c_int {
        call(|_| {
            has_function(event_registration, cb_safety)?;
            Ok(info::get(info).map(drop)?)
        })
    }

    /// `MPI_T_event_callback_get_info`.
    fn MPI_T_event_callback_get_info(
        event_registration: MPI_T_event_registration,
        cb_safety: c_int,
        info_used: Out<MPI_Info>,
    ) -> c_int {
        call(|_| {
            has_function(event_registration, cb_safety)?;
            give_info(info_used)
        })
    }

    /// `MPI_T_event_handle_free`: the function is called at once, with no lock held.
    fn MPI_T_event_handle_free(
        event_registration: MPI_T_event_registration,
        user_data: Opaque,
        free_cb_function: Option<EventFreeFunction>,
    ) -> c_int {
        let code = call(|_| unregister(event_registration));
        if let (MPI_SUCCESS, Some(function)) = (code, free_cb_function) {
            tell_freed(function, event_registration, user_data);
        }
        code
    }

    /// `MPI_T_event_set_dropped_handler`: an event is dropped when no function has the level that it needs.
    fn MPI_T_event_set_dropped_handler(
        event_registration: MPI_T_event_registration,
        dropped_cb_function: Option<DroppedFunction>,
    ) -> c_int {
        call(|_| {
            find(event_registration)?.set_dropped(dropped_cb_function);
            Ok(())
        })
    }

    /// `MPI_T_event_read`.
    fn MPI_T_event_read(event_instance: MPI_T_event_instance, element_index: c_int, buffer: Memory) -> c_int {
        call(|_| copy_to(buffer, &event::read(event_instance, Some(element_index))?))
    }

    /// `MPI_T_event_copy`.
    fn MPI_T_event_copy(event_instance: MPI_T_event_instance, buffer: Memory) -> c_int {
        call(|_| copy_to(buffer, &event::read(event_instance, None)?))
    }

    /// `MPI_T_event_get_timestamp`.
    fn MPI_T_event_get_timestamp(
        event_instance: MPI_T_event_instance,
        event_timestamp: Out<MPI_Count>,
    ) -> c_int {
        call(|_| Ok(event_timestamp.set("", event::timestamp(event_instance)?)?))
    }

    /// `MPI_T_event_get_source`.
    fn MPI_T_event_get_source(event_instance: MPI_T_event_instance, source_index: Out<c_int>) -> c_int {
        call(|_| {
            event::timestamp(event_instance)?;
            Ok(source_index.set("", 0)?)
        })
    }
}

fn has_function(registration: MPI_T_event_registration, cb_safety: c_int) -> Answer {
    match find(registration)?.has(level(cb_safety)?) {
        true => Ok(()),
        false => Err(Fault(MPI_T_ERR_INVALID)),
    }
}

fn copy_to(buffer: Memory, bytes: &[u8]) -> Answer {
    buffer.writable("", bytes.len() as u64)?.write(bytes);
    Ok(())
}

/// There is nothing to know of events beyond what the calls say.
fn give_info(info: Out<MPI_Info>) -> Answer {
    match info.is_null() {
        true => Ok(()),
        false => Ok(info.set("", info::enter(Info::default())?)?),
    }
}
