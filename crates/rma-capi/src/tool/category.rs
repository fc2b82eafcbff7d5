//! The categories of variables (MPI 5.0 §15.3.9). One category has all others; the variables are in those.

use super::answer::{Answer, place};
use super::event::TYPES;
use super::{control, performance};
use rma::config::Configuration;
use std::ffi::c_int;
use std::sync::OnceLock;

/// A category: what it has, by index.
pub(crate) struct Category {
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
    pub(crate) cvars: Vec<usize>,
    pub(crate) pvars: Vec<usize>,
    pub(crate) events: Vec<usize>,
    pub(crate) categories: Vec<usize>,
}

/// Categories that no table of variables has.
const MORE: [(&str, &str); 2] =
    [("window", "what is counted for each window"), ("channels", "what all channels hold together")];

pub(crate) fn categories() -> &'static [Category] {
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
        events: if name == "window" { (0..TYPES.len()).collect() } else { Vec::new() },
        categories: Vec::new(),
    }
}

pub(crate) fn find(index: c_int) -> Answer<&'static Category> {
    Ok(&categories()[place(index, categories().len())?])
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
        assert_eq!(count(|category| &category.events), TYPES.len());
        assert_eq!(count(|category| &category.categories), categories().len() - 1);
    }
}
