//! "Mini", a toy message-passing library with this project's engine inside: what `docs/embedding.md` explains.
//!
//! Mini's ranks are threads that put letters into each other's boxes. The engine's packets are such letters
//! ([`MiniChannel`] implements its `Channel`), and so are those of Mini's own collectives, with which [`MiniHost`] is its
//! `Host`. [`Mini`] has one progress loop for both, in [`Mini::until`].

mod boxes;
mod channel;
mod host;
mod mini;

pub use boxes::Boxes;
pub use channel::MiniChannel;
pub use host::MiniHost;
pub use mini::Mini;
