//! The C programs of `tests/c`: what their first comments ask for, how they are built with this library or another one, and
//! how they are run.
//!
//! The format of the first comment stands in `tests/c/check.h`. Programs are built once per library and test process. A
//! failure does not hide another: a run goes through all programs and then reports every one that went wrong.

mod library;
mod run;
mod source;

pub use library::{Built, Library, workshop};
pub use run::{Plan, check_missing, run};
pub use source::{Expect, Source, missing, sources};
