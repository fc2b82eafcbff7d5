//! Broadcast down a binomial tree: counted from the root, a rank hears from the one without its lowest bit, and tells those
//! with one lower bit more.

use super::link::{Link, Machine, Sends};
use crate::message::ReceiveRequest;
use rma_core::Result;
use std::sync::Arc;

/// A broadcast under way; gives every rank the root's message.
#[derive(Debug)]
pub struct Broadcast {
    link: Link,
    /// This rank, counted from the root.
    place: u32,
    root: u32,
    limit: u64,
    receive: Option<ReceiveRequest>,
    message: Option<Arc<Vec<u8>>>,
    sends: Sends,
    has_told: bool,
}

impl Broadcast {
    /// Begins. The root gives the message; the others the longest they take.
    pub fn new(link: Link, root: u32, message: Option<Vec<u8>>, limit: u64) -> Self {
        let place = link.before(root);
        Self {
            link,
            place,
            root,
            limit,
            receive: None,
            message: message.map(Arc::new),
            sends: Sends::default(),
            has_told: false,
        }
    }

    /// The rank at a place counted from the root.
    fn rank(&self, place: u32) -> u32 {
        ((u64::from(place) + u64::from(self.root)) % u64::from(self.link.size())) as u32
    }

    fn tell(&mut self, message: &Arc<Vec<u8>>) -> Result<()> {
        let size = u64::from(self.link.size());
        let place = u64::from(self.place);
        let own_bit = if place == 0 { size.next_power_of_two() } else { place & place.wrapping_neg() };
        let mut bit = own_bit >> 1;
        while bit > 0 {
            if place + bit < size {
                let child = self.rank((place + bit) as u32);
                self.sends.push(self.link.send_shared(child, 0, Arc::clone(message))?);
            }
            bit >>= 1;
        }
        Ok(())
    }
}

impl Machine for Broadcast {
    type Output = Vec<u8>;

    fn step(&mut self) -> Result<Option<Vec<u8>>> {
        if self.message.is_none() {
            if self.receive.is_none() {
                let parent = self.rank(self.place & self.place.wrapping_sub(1));
                self.receive = Some(self.link.receive(parent, 0, self.limit)?);
            }
            let Some(end) = self.receive.as_mut().and_then(ReceiveRequest::test) else { return Ok(None) };
            self.message = Some(Arc::new(end?.data.unwrap_or_default()));
        }
        if let (Some(message), false) = (self.message.clone(), self.has_told) {
            self.has_told = true;
            self.tell(&message)?;
        }
        if !self.sends.have_left()? {
            return Ok(None);
        }
        // Nobody else holds it now that all messages have left.
        Ok(self.message.take().map(|message| Arc::try_unwrap(message).unwrap_or_else(|m| (*m).clone())))
    }
}
