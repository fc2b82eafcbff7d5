//! `librma_guest.so`: the one-sided calls of a program of MPICH, Open MPI or any MPI with the standard ABI on this project's engine,
//! unchanged. It is loaded in front of that library, the *host* (`LD_PRELOAD`); everything but windows stays the host's.
//!
//! * **One mechanism.** What a window does is in this project's C library, which is loaded beside this one (`library`), joins with
//!   an allgather of the host when the host has started and all ranks have met (`start`, `meeting`), and keeps its names to itself. The guest has no engine: it
//!   translates handles and constants, and hands calls on.
//! * **A window** that is taken over is two: one of the host without memory, whose handle the program has, for name, attributes, group
//!   and error handler (`host_window`); and one of the library for everything else (`window`). Which one stands for which is found in a few
//!   instructions (`table`). All ranks of a communicator agree whether its windows are taken over (`communicator`); what cannot be is
//!   the host's as a whole.
//! * **Arguments** have one type in all ABIs, if a handle is taken for a word: what differs is data (`abi`). So each call is declared
//!   once, with the kind of each of its arguments (`arguments`), and serves every host. Datatypes are made as the program has
//!   made them, or of envelope and contents, and kept until the program frees them (`datatype`).
//! * **At once.** Most calls are over in a few instructions, so their way is short (`at_once`): the window's place (`places`) and what
//!   stands for predefined handles (`fixed`) are found without a call, and the last step is a jump into the library.
//! * **Both names.** Each call is there as `MPI_` and as `PMPI_`, for a profiler in front and for Fortran's bindings. The host itself is
//!   called by addresses that are looked up in its object.
//! * **Errors** are raised by the host's handlers, with the host's classes and the library's texts (`errors`).
//!
//! Invariants: nothing here knows an epoch or a packet; nothing on the way of a call on a window allocates, locks or enters the system,
//! unless a handle is seen for the first time.

mod abi;
mod arguments;
mod at_once;
mod attribute;
mod attributes;
mod calls;
mod communicator;
mod datatype;
mod errors;
mod fixed;
mod group;
mod host_window;
mod info;
mod library;
mod meeting;
mod memory;
mod operation;
mod ours;
mod places;
mod report;
mod request;
mod served;
mod start;
mod table;
mod theirs;
mod window;
mod world;
