//! `MPI_T_category_*` (MPI 5.0 §15.3.9). One category has all others; the variables are in those.

use super::answer::{Answer, give, give_list, index_of, place, set_wanted};
use super::state::call;
use super::{control, performance};
use crate::arguments::{Out, Text, TextOut};
use crate::entry::plain;
use rma::config::Configuration;
use std::ffi::c_int;
use std::sync::OnceLock;

/// A category: what it has, by index.
struct Category {
    name: &'static str,
    text: &'static str,
    cvars: Vec<usize>,
    pvars: Vec<usize>,
    categories: Vec<usize>,
}

/// Categories that no table of variables has.
const MORE: [(&str, &str); 2] =
    [("window", "what is counted for each window"), ("channels", "what all channels hold together")];

fn categories() -> &'static [Category] {
    static CATEGORIES: OnceLock<Vec<Category>> = OnceLock::new();
    CATEGORIES.get_or_init(|| {
        let tables = Configuration::default().tables();
        let names = tables.iter().map(|table| (table.name, table.text)).chain(MORE);
        let mut all = vec![category("rma", "the whole library")];
        all.extend(names.map(|(name, text)| category(name, text)));
        all[0].categories = (1..all.len()).collect();
        all
    })
}

fn category(name: &'static str, text: &'static str) -> Category {
    let cvars = control::variables().iter().enumerate().filter(|(_, variable)| variable.table == name);
    let pvars = performance::variables().iter().enumerate().filter(|(_, variable)| variable.category == name);
    Category {
        name,
        text,
        cvars: cvars.map(|(index, _)| index).collect(),
        pvars: pvars.map(|(index, _)| index).collect(),
        categories: Vec::new(),
    }
}

fn find(index: c_int) -> Answer<&'static Category> {
    Ok(&categories()[place(index, categories().len())?])
}

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

    /// `MPI_T_category_get_categories`.
    fn MPI_T_category_get_categories(cat_index: c_int, len: c_int, indices: Out<c_int>) -> c_int {
        call(|_| give_list(&find(cat_index)?.categories, len, indices))
    }

    /// `MPI_T_category_changed`: always the same number, for no category ever changes.
    fn MPI_T_category_changed(update_number: Out<c_int>) -> c_int {
        call(|_| Ok(update_number.set("", 0)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variable_is_in_one_category() {
        let count =
            |list: fn(&Category) -> &Vec<usize>| categories().iter().map(|c| list(c).len()).sum::<usize>();
        assert_eq!(count(|category| &category.cvars), control::variables().len());
        assert_eq!(count(|category| &category.pvars), performance::variables().len());
        assert_eq!(count(|category| &category.categories), categories().len() - 1);
    }
}
