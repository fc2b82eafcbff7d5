//! Which processes seem to have ended.

use crate::ids::Peer;
use std::time::Duration;

/// What a process suspects.
#[derive(Debug, Default)]
pub(crate) struct Suspicion {
    /// Those that have ended, and that no channel has been asked about.
    pub(crate) suspects: Vec<Peer>,
    /// It has been rung since it asked last.
    pub(crate) is_rung: bool,
    pub(crate) asked: Option<Duration>,
}

impl Suspicion {
    /// Another process has rung.
    pub(crate) fn on_rung(&mut self) {
        self.is_rung = true;
    }
}
