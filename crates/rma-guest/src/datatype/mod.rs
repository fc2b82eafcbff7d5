//! Datatypes of the host as datatypes of this project's library: each made at its first use, by the constructor that the program has called,
//! or by envelope and contents if that was not seen.

mod build;
mod contents;
mod known;
mod made;
mod recipe;

pub(crate) use known::{
    Freed, about_to_free, enter_predefined, find, find_predefined, note, note_commit, note_contents,
};
pub(crate) use recipe::{Call, Counts};
