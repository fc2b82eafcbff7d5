//! What synchronization calls are given: assertions (MPI 3.1 §11.5.5), and how far a flush goes.

use crate::error::{Error, ErrorClass, Result};

/// Assertions on synchronization calls (MPI 3.1 §11.5.5), as bits that may be combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Assert(u32);

impl Assert {
    /// No assertion.
    pub const NONE: Self = Self(0);
    /// `MPI_MODE_NOCHECK`: no other process holds or waits for a conflicting lock.
    pub const NO_CHECK: Self = Self(1024);
    /// `MPI_MODE_NOPRECEDE`: the fence completes no operation, on any rank.
    pub const NO_PRECEDE: Self = Self(2048);
    /// `MPI_MODE_NOPUT`: the local window will not be updated by others until the next fence.
    pub const NO_PUT: Self = Self(4096);
    /// `MPI_MODE_NOSTORE`: the local window was not updated by stores since the last synchronization.
    pub const NO_STORE: Self = Self(8192);
    /// `MPI_MODE_NOSUCCEED`: no operation follows the fence, on any rank.
    pub const NO_SUCCEED: Self = Self(16384);

    /// The assertion of these bits, for a call that allows `legal`.
    ///
    /// # Errors
    /// `MPI_ERR_ASSERT` when other bits are set.
    pub fn checked(self, call: &'static str, legal: Self) -> Result<Self> {
        match self.0 & !legal.0 {
            0 => Ok(self),
            stray => Err(Error::new(
                ErrorClass::Assert,
                call,
                format!(
                    "assert {:#x} has bits {stray:#x} that this call does not take (it takes {:#x})",
                    self.0, legal.0
                ),
            )),
        }
    }

    /// From the bits of the standard ABI; unknown bits are kept, for [`Assert::checked`] to refuse.
    pub fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// Whether all of `other`'s assertions are made.
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// These assertions and `other`'s.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// What a flush waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The user's buffers may be reused.
    Local,
    /// The operations have been executed at the target.
    Remote,
}
