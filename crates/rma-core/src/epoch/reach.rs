//! How far a flush goes.

/// What a flush waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The user's buffers may be reused.
    Local,
    /// The operations have been executed at the target.
    Remote,
}
