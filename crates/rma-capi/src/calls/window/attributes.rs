//! What windows tell of themselves: attributes, name (MPI 5.0 §12.2.6, §7.7.3, §7.8).

use crate::abi::*;
use crate::arguments::{Opaque, Out, Text, TextOut};
use crate::attributes::{AttributeOwner, CopyFunction, DeleteFunction, OwnerKind, create, free};
use crate::entry::entry;
use crate::errors::Raiser;
use crate::name;
use crate::window::{Facts, get};
use rma::{Error, ErrorClass, Result};
use std::ffi::c_int;

entry! {
    /// `MPI_Win_get_attr` (§7.7.3, and table 12.1 for the predefined keys).
    fn MPI_Win_get_attr(
        win: MPI_Win,
        win_keyval: c_int,
        attribute_val: Out<Opaque>,
        flag: Out<c_int>,
    ) raises Raiser::Win(win); |_| {
        let window = get(win)?;
        let value = match predefined(&window.facts, win_keyval) {
            Some(value) => Some(value),
            None => window.attributes.get(OwnerKind::Win, win_keyval)?,
        };
        flag.set("flag", value.is_some().into())?;
        value.map_or(Ok(()), |value| attribute_val.set("attribute_val", value))
    }

    /// `MPI_Win_set_attr` (§7.7.3).
    fn MPI_Win_set_attr(win: MPI_Win, win_keyval: c_int, attribute_val: Opaque) raises Raiser::Win(win); |_| {
        let window = get(win)?;
        check_own(&window.facts, win_keyval)?;
        window.attributes.set(owner(win), win_keyval, attribute_val)
    }

    /// `MPI_Win_delete_attr` (§7.7.3).
    fn MPI_Win_delete_attr(win: MPI_Win, win_keyval: c_int) raises Raiser::Win(win); |_| {
        let window = get(win)?;
        check_own(&window.facts, win_keyval)?;
        window.attributes.delete(owner(win), win_keyval)
    }

    /// `MPI_Win_create_keyval` (§7.7.3).
    fn MPI_Win_create_keyval(
        win_copy_attr_fn: CopyFunction,
        win_delete_attr_fn: DeleteFunction,
        win_keyval: Out<c_int>,
        extra_state: Opaque,
    ) raises Raiser::None; |_| {
        create(OwnerKind::Win, win_copy_attr_fn, win_delete_attr_fn, win_keyval, extra_state)
    }

    /// `MPI_Win_free_keyval` (§7.7.3).
    fn MPI_Win_free_keyval(win_keyval: Out<c_int>) raises Raiser::None; |_| {
        free(OwnerKind::Win, win_keyval)
    }

    /// `MPI_Win_get_group` (§12.2.7).
    fn MPI_Win_get_group(win: MPI_Win, group: Out<MPI_Group>) raises Raiser::Win(win); |_| {
        group.check("group")?;
        group.set("group", crate::group::enter(get(win)?.members.clone())?)
    }

    /// `MPI_Win_set_name` (§7.8).
    fn MPI_Win_set_name(win: MPI_Win, win_name: Text) raises Raiser::Win(win); |_| {
        let window = get(win)?;
        window.name.set("win_name", win_name)?;
        window.inner.set_name(&String::from_utf8_lossy(&window.name.bytes()));
        Ok(())
    }

    /// `MPI_Win_get_name` (§7.8).
    fn MPI_Win_get_name(win: MPI_Win, win_name: TextOut, resultlen: Out<c_int>) raises Raiser::Win(win); |_| {
        match win {
            MPI_WIN_NULL => name::of_null("MPI_WIN_NULL", "win_name", win_name, resultlen),
            win => get(win)?.name.get("win_name", win_name, resultlen),
        }
    }
}

/// A window as passed to the program's functions.
pub(super) fn owner(win: MPI_Win) -> AttributeOwner {
    AttributeOwner { kind: OwnerKind::Win, handle: win.0 }
}

/// The value under a key that every window has.
fn predefined(facts: &'static Facts, keyval: c_int) -> Option<Opaque> {
    match keyval {
        MPI_WIN_BASE => Some(Opaque::of(facts.base)),
        MPI_WIN_SIZE => Some(Opaque::address_of(&facts.size)),
        MPI_WIN_DISP_UNIT => Some(Opaque::address_of(&facts.disp_unit)),
        MPI_WIN_CREATE_FLAVOR => Some(Opaque::address_of(&facts.flavor)),
        MPI_WIN_MODEL => Some(Opaque::address_of(&facts.model)),
        MPIX_WIN_NOTIFICATION_NUM_SB | MPIX_WIN_NOTIFICATION_NUM_UB => {
            Some(Opaque::address_of(&facts.counters))
        }
        MPIX_WIN_NOTIFICATION_VALUE_UB => Some(Opaque::address_of(&facts.counter_limit)),
        _ => None,
    }
}

fn check_own(facts: &'static Facts, keyval: c_int) -> Result<()> {
    match predefined(facts, keyval) {
        None => Ok(()),
        Some(_) => {
            let cause = format!("win_keyval {keyval} is predefined and cannot be changed");
            Err(Error::new(ErrorClass::Keyval, "", cause))
        }
    }
}
