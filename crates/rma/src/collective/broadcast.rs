//! Broadcast down a binomial tree: a rank hears from its parent, and tells its children.
//!
//! A message that is too long for a rank is that rank's error alone: it is passed on first, so nobody waits below it. A rank
//! with nobody below it does not even store one.

use super::link::{Link, Machine, Sends};
use super::tree::Tree;
use crate::message::ReceiveRequest;
use rma_core::{Error, ErrorClass, Result};
use std::sync::Arc;

const CALL: &str = "broadcast";

/// A broadcast under way; gives every rank the root's message.
#[derive(Debug)]
pub struct Broadcast {
    link: Link,
    tree: Tree,
    limit: u64,
    receive: Option<ReceiveRequest>,
    message: Option<Arc<Vec<u8>>>,
    sends: Sends,
    has_told: bool,
}

impl Broadcast {
    /// Begins. The root gives the message; the others the longest they take.
    pub fn new(link: Link, root: u32, message: Option<Vec<u8>>, limit: u64) -> Self {
        Self {
            tree: Tree::new(&link, root),
            link,
            limit,
            receive: None,
            message: message.map(Arc::new),
            sends: Sends::default(),
            has_told: false,
        }
    }

    fn tell(&mut self, message: &Arc<Vec<u8>>) -> Result<()> {
        for bit in self.tree.child_bits() {
            let child = self.tree.rank(self.tree.place() + bit);
            self.sends.push(self.link.send_shared(child, 0, Arc::clone(message))?);
        }
        Ok(())
    }
}

impl Machine for Broadcast {
    type Output = Vec<u8>;

    fn step(&mut self) -> Result<Option<Vec<u8>>> {
        if self.message.is_none() {
            if self.receive.is_none() {
                let most = if self.tree.child_bits().next().is_none() { self.limit } else { u64::MAX };
                self.receive = Some(self.link.receive(self.tree.parent(), 0, most)?);
            }
            let Some(end) = self.receive.as_mut().and_then(ReceiveRequest::test) else { return Ok(None) };
            self.message = Some(Arc::new(end.map_err(|e| e.in_call(CALL))?.data.unwrap_or_default()));
        }
        if let (Some(message), false) = (self.message.clone(), self.has_told) {
            self.has_told = true;
            self.tell(&message)?;
        }
        if !self.sends.have_left()? {
            return Ok(None);
        }
        let len = self.message.as_ref().map_or(0, |message| message.len() as u64);
        if self.receive.is_some() && len > self.limit {
            let cause = format!("a message of {len} bytes arrived for a buffer of {}", self.limit);
            return Err(Error::new(ErrorClass::Truncate, CALL, cause));
        }
        // Nobody else holds it now that all messages have left.
        Ok(self.message.take().map(|message| Arc::try_unwrap(message).unwrap_or_else(|m| (*m).clone())))
    }
}
