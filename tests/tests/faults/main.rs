//! Ranks that die, stop or never come.

mod calls;
mod deaths;
mod deaths_reported;
mod first_death;
mod hangs;
mod heirs;
mod kills;
mod leavers;
mod matrix_mapped;
mod matrix_nodes;
mod matrix_packets;
mod matrix_tcp;
mod survivors;
mod survivors_calls;
