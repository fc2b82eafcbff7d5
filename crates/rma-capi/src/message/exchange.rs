//! A send and a receive under one request (MPI 5.0 §3.9): neither waits for the other.

use super::transfer::{Receiving, Sending};
use crate::process::Sought;
use crate::request::{End, Pending};

/// Both under one request, which ends when both have.
pub(crate) struct Exchange {
    sending: Sending,
    receiving: Receiving,
    sent: Option<End>,
    received: Option<End>,
}

impl Exchange {
    pub(crate) fn new(sending: Sending, receiving: Receiving) -> Self {
        Self { sending, receiving, sent: None, received: None }
    }
}

impl Pending for Exchange {
    fn take_end(&mut self) -> Option<End> {
        self.sent = self.sent.take().or_else(|| self.sending.take_end());
        if self.received.is_none() {
            let received = self.receiving.take_end();
            if received.as_ref().is_some_and(End::is_no_end) {
                return received;
            }
            self.received = received;
        }
        let (sent, received) = (self.sent.as_ref()?, self.received.as_ref()?);
        // The status is the receive's; the first error is the one to tell of.
        Some(if received.error.is_some() || sent.error.is_none() { received } else { sent }.clone())
    }

    fn seek(&self, each: &mut dyn FnMut(Sought)) {
        if self.sent.is_none() {
            self.sending.seek(each);
        }
        if self.received.is_none() {
            self.receiving.seek(each);
        }
    }
}
