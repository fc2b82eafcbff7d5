//! `MPI_T_enum_*` (MPI 5.0 §15.3.6).

use crate::abi::MPI_T_enum;
use crate::arguments::{Out, TextOut};
use crate::entry::plain;
use crate::tool::answer::{give, place};
use crate::tool::enumeration::find;
use crate::tool::state::call;
use std::ffi::c_int;

plain! {
    /// `MPI_T_enum_get_info`.
    fn MPI_T_enum_get_info(
        enumtype: MPI_T_enum, num: Out<c_int>, name: TextOut, name_len: Out<c_int>,
    ) -> c_int {
        call(|_| {
            let (known_as, words) = find(enumtype)?;
            num.set("", words.len() as c_int)?;
            give(known_as, name, name_len)
        })
    }

    /// `MPI_T_enum_get_item`.
    fn MPI_T_enum_get_item(
        enumtype: MPI_T_enum,
        indx: c_int,
        value: Out<c_int>,
        name: TextOut,
        name_len: Out<c_int>,
    ) -> c_int {
        call(|_| {
            let (_, words) = find(enumtype)?;
            let item = place(indx, words.len())?;
            value.set("", item as c_int)?;
            give(words[item], name, name_len)
        })
    }
}
