//! `cargo xtask tidy`: the house rules that a machine can see.
//!
//! A rule is a function from the [`tree::Tree`] to findings, in a file of its own subject, with tests that show it both
//! silent and loud: a check that cannot fail is a defect. Rules look at masked code ([`mask`]), in which comments and
//! literals are blank, unless words are what they are about.

mod command;
mod dependencies;
mod docs;
mod functions;
mod length;
mod mask;
mod methods;
mod models;
mod names;
mod order;
mod protocols;
mod rooms;
mod shape;
mod text;
mod tree;
mod tuning;
mod unsafety;
mod variables;
mod vocabulary;
mod volume;
mod width;
mod words;

pub(crate) use command::{Args, run};
