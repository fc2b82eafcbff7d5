//! Datatypes of the host as datatypes of this project's library: made of envelope and contents when one is first used, and kept until
//! the host frees it, which an attribute on it tells.

mod build;
mod contents;
mod known;

pub(crate) use known::{enter_predefined, find, find_predefined, note_commit, note_duplicate};
