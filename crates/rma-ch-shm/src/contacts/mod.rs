//! All peers that this process has to do with: who was contacted or has made contact, and how contact is made.

mod book;
mod contact;

pub(crate) use book::{Contacts, State};
