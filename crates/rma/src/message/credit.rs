//! The account between two peers: how much may be sent to the other unasked, and how much room the other has to be given
//! back.
//!
//! Every message counts with its bytes and a fixed share for the entry that keeps it. The sum of what has been granted,
//! used and owed is the window, on both ends; a peer that breaks this is refused.

/// What an entry costs beyond its bytes.
const ENTRY: usize = 64;

/// Both directions of one pair.
#[derive(Clone, Copy, Debug)]
pub(super) struct Credit {
    window: usize,
    /// What we may still send.
    left: usize,
    /// What the peer has used and not got back.
    held: usize,
    /// The part of `held` that is free again, but the peer does not know it yet.
    owed: usize,
}

/// What a message of this length counts.
pub(super) fn cost(len: usize) -> usize {
    len.saturating_add(ENTRY)
}

impl Credit {
    pub(super) fn new(window: usize) -> Self {
        Self { window, left: window, held: 0, owed: 0 }
    }

    /// Uses credit for a message to the peer; `false` when there is not enough.
    pub(super) fn spend(&mut self, len: usize) -> bool {
        match self.left.checked_sub(cost(len)) {
            Some(left) => {
                self.left = left;
                true
            }
            None => false,
        }
    }

    /// The peer gives credit back.
    pub(super) fn on_returned(&mut self, bytes: u32) -> Result<(), &'static str> {
        let left = self.left.saturating_add(bytes as usize);
        if left > self.window {
            return Err("more room granted than RMA_MESSAGE_WINDOW here (is it the same on all ranks?)");
        }
        self.left = left;
        Ok(())
    }

    /// The peer has sent a message unasked.
    pub(super) fn on_received(&mut self, len: usize) -> Result<(), &'static str> {
        let held = self.held.saturating_add(cost(len));
        if held > self.window {
            return Err("more messages unasked than RMA_MESSAGE_WINDOW here (is it the same on all ranks?)");
        }
        self.held = held;
        Ok(())
    }

    /// Such a message has left our keeping.
    pub(super) fn on_taken(&mut self, len: usize) {
        self.owed += cost(len);
    }

    /// Whether so much is owed that it should not wait for a packet to ride on.
    pub(super) fn is_pressing(&self) -> bool {
        self.owed > 0 && self.owed >= self.window / 2
    }

    /// Gives back what is owed: the number to put into a packet that leaves now.
    pub(super) fn pay(&mut self) -> u32 {
        let paid = self.owed.min(u32::MAX as usize);
        self.owed -= paid;
        self.held -= paid;
        paid as u32
    }

    /// Takes a payment back that did not leave.
    pub(super) fn unpay(&mut self, paid: u32) {
        self.owed += paid as usize;
        self.held += paid as usize;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_stays_within_the_window() {
        let (mut sender, mut receiver) = (Credit::new(300), Credit::new(300));
        let mut sent = Vec::new();
        while sender.spend(36) {
            receiver.on_received(36).unwrap();
            sent.push(36);
        }
        assert_eq!(sent.len(), 3);
        assert!(receiver.on_received(36).is_err());
        assert!(!receiver.is_pressing());
        receiver.on_taken(36);
        receiver.on_taken(36);
        assert!(receiver.is_pressing());
        let paid = receiver.pay();
        receiver.unpay(paid);
        assert_eq!(receiver.pay(), 200);
        assert!(!receiver.is_pressing());
        sender.on_returned(200).unwrap();
        assert!(sender.on_returned(101).is_err());
        assert!(sender.spend(136) && !sender.spend(0));
    }

    #[test]
    fn the_smallest_window_sends_nothing_unasked() {
        let mut credit = Credit::new(1);
        assert!(!credit.spend(0));
        assert!(credit.on_received(0).is_err());
        assert!(credit.on_returned(1).is_err());
        assert!(!credit.is_pressing());
    }
}
