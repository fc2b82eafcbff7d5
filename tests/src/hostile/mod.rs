//! An arena: two honest ranks with engines, and villains, which are channels without one that send what they like.
//!
//! Two windows: all are in the group of the first, so villains may write to its memory; the second is the honest ranks' own.
//! Invariants that [`Arena`] checks while it runs: what the honest ranks do in their own window comes out exactly; bytes
//! beside the windows' memory and beside honest buffers never change; every engine's counts are right after every step;
//! only villains are lost, and each at most once. At the end, when all villains are dead, the first window is in order.

mod arena;
mod duel;
mod forge;
mod honest;
mod villain;

pub use arena::{Arena, Scene};
pub use duel::Duel;
pub use forge::{Forge, Packet};
pub use villain::Villain;
