//! Requests whose bodies are on their way.

use super::{Buffer, Held, OutOfRange};
use crate::wire::Request;

/// A request whose body is on its way.
pub(crate) struct Incoming {
    pub(crate) request: Request,
    pub(crate) len: u64,
    pub(crate) body: Body,
}

pub(crate) enum Body {
    /// Straight into the window, which stays mapped until then.
    Window { _memory: Held },
    /// Into a buffer, to be combined when complete.
    Staged(Buffer),
    /// Nowhere: the request is out of range.
    Dropped(OutOfRange),
}
