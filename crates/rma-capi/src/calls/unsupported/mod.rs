//! Functions of MPI that this library does not have, for programs that were built with another one.
//!
//! A program built for the standard ABI needs all the names it mentions before it starts, or when it comes to a call; where
//! one is missing, the loader ends it with a line of its own. So the names are here, in neither header nor what programs
//! are linked with, and each says what is wrong: the call fails with `MPI_ERR_UNSUPPORTED_OPERATION` by the error handler
//! of `MPI_COMM_SELF`, which ends the job and names the function unless the program has set another. Functions of the tool
//! interface, which has no error handlers, answer `MPI_T_ERR_NOT_SUPPORTED`. Handles of files and their numbers, which bindings turn
//! into each other, are the null handle, and stay what they are.
//!
//! The list is `abi/unsupported.tsv`; functions that answer anything but an error code are not in it.

mod names;
mod refuse;
