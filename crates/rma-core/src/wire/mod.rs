//! Packets as bytes: the common header, and per protocol a `Repr` that holds only legal values. No behaviour.
//!
//! Numbers are little-endian and unaligned; lengths, displacements and sequence numbers are 64 bits wide. Nothing is cast:
//! bytes are copied out of packets field by field (lessons, fixed 54). `crates/rma-core/wire.md` draws every packet.

mod fields;
mod flags;
mod header;
mod label;
mod pack;
mod place;
mod request;
#[cfg(test)]
mod request_tests;
mod response;
mod store;

pub use fields::Head;
pub use flags::RequestFlags;
pub use header::{HEADER_LEN, Protocol, VERSION, check_header, header};
pub(crate) use label::kind_and_window;
pub use pack::{PACK_ENTRY_LEN, PackEntries, PackEntry, Store, check_entries, set_entry_len};
pub(crate) use place::SHAPE_LEN;
pub use place::{Area, TargetPlace};
pub(crate) use request::RUN_HEAD;
pub use request::{Request, RequestKind};
pub(crate) use response::SHORT_HEAD;
pub use response::{Response, ResponseFlags, ResponseKind};
pub(crate) use store::{SHORT_STORE, STORE_HEAD, put_store_head};
