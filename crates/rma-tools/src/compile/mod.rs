//! The compiler wrappers `rmacc`, `rmacxx` and `rmafc`.
//!
//! A wrapper is the compiler: every argument is passed on, in order and unread but for what decides whether there is
//! something to link, and then the wrapper becomes the compiler, so that status and signals are the compiler's own. What it
//! adds stands behind the user's arguments, so that a directory that the user names comes first and libraries come after the
//! objects that need them.

mod arguments;
mod bindings;
mod wrapper;

pub use wrapper::{C, CXX, FORTRAN, Language, main};
