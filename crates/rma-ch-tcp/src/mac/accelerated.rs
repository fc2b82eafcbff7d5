//! By the packages that use the processor's instructions for SHA-256, where it has any.

use hmac::{Hmac, KeyInit, Mac as _};
use sha2::Sha256;

/// A code under way.
#[derive(Clone)]
pub(crate) struct AcceleratedMac(Hmac<Sha256>);

impl AcceleratedMac {
    pub(crate) fn new(key: &[u8]) -> Self {
        Self(Hmac::new_from_slice(key).expect("any length is a key of HMAC"))
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The code of all bytes so far.
    pub(crate) fn finish(self) -> [u8; 32] {
        self.0.finalize().into_bytes().into()
    }

    /// Whether the code begins with `tag`, which has bytes. How long it takes tells nothing about where the two differ.
    pub(crate) fn begins_with(self, tag: &[u8]) -> bool {
        self.0.verify_truncated_left(tag).is_ok()
    }
}
