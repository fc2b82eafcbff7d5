//! Random programs and random packets: each run follows from its seed.

mod chapter;
mod fuzzing;
mod hostile;
mod on_processes;
mod simulated;
mod with_faults;
