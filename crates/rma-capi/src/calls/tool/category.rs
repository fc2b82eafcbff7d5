//! `MPI_T_category_*` (MPI 5.0 §15.3.9).

use crate::arguments::{Out, Text, TextOut};
use crate::entry::plain;
use crate::tool::answer::{give, give_list, index_of, set_wanted};
use crate::tool::category::{categories, find};
use crate::tool::state::call;
use std::ffi::c_int;

plain! {
    /// `MPI_T_category_get_num`.
    fn MPI_T_category_get_num(num_cat: Out<c_int>) -> c_int {
        call(|_| Ok(num_cat.set("", categories().len() as c_int)?))
    }

    /// `MPI_T_category_get_info`.
    fn MPI_T_category_get_info(
        cat_index: c_int,
        name: TextOut,
        name_len: Out<c_int>,
        desc: TextOut,
        desc_len: Out<c_int>,
        num_cvars: Out<c_int>,
        num_pvars: Out<c_int>,
        num_categories: Out<c_int>,
    ) -> c_int {
        call(|_| {
            let category = find(cat_index)?;
            give(category.name, name, name_len)?;
            give(category.text, desc, desc_len)?;
            let lists = [
                (num_cvars, &category.cvars),
                (num_pvars, &category.pvars),
                (num_categories, &category.categories),
            ];
            lists.into_iter().try_for_each(|(place, list)| set_wanted(place, list.len() as c_int))
        })
    }

    /// `MPI_T_category_get_index`.
    fn MPI_T_category_get_index(name: Text, cat_index: Out<c_int>) -> c_int {
        call(|_| {
            cat_index.check("")?;
            Ok(cat_index.set("", index_of(name, categories().iter().map(|category| category.name))?)?)
        })
    }

    /// `MPI_T_category_get_cvars`.
    fn MPI_T_category_get_cvars(cat_index: c_int, len: c_int, indices: Out<c_int>) -> c_int {
        call(|_| give_list(&find(cat_index)?.cvars, len, indices))
    }

    /// `MPI_T_category_get_pvars`.
    fn MPI_T_category_get_pvars(cat_index: c_int, len: c_int, indices: Out<c_int>) -> c_int {
        call(|_| give_list(&find(cat_index)?.pvars, len, indices))
    }

    /// `MPI_T_category_get_num_events`.
    fn MPI_T_category_get_num_events(cat_index: c_int, num_events: Out<c_int>) -> c_int {
        call(|_| Ok(num_events.set("", find(cat_index)?.events.len() as c_int)?))
    }

    /// `MPI_T_category_get_events`.
    fn MPI_T_category_get_events(cat_index: c_int, len: c_int, indices: Out<c_int>) -> c_int {
        call(|_| give_list(&find(cat_index)?.events, len, indices))
    }

    /// `MPI_T_category_get_categories`.
    fn MPI_T_category_get_categories(cat_index: c_int, len: c_int, indices: Out<c_int>) -> c_int {
        call(|_| give_list(&find(cat_index)?.categories, len, indices))
    }

    /// `MPI_T_category_changed`: always the same number, for no category ever changes.
    fn MPI_T_category_changed(update_number: Out<c_int>) -> c_int {
        call(|_| Ok(update_number.set("", 0)?))
    }
}
