//! All peers that were contacted or have made contact, and how contact is made.

mod book;
mod contact;

pub(crate) use book::{Contacts, State};
