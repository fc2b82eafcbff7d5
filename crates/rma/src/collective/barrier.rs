//! Barrier by dissemination: in round k every rank tells the one 2ᵏ after it, and hears from the one 2ᵏ before it. Five
//! ranks or more that outnumber cores meet up and down a tree.

use super::link::{Link, Machine, Sends};
use super::up_and_down::UpAndDown;
use crate::message::ReceiveRequest;
use rma_core::Result;

/// A barrier under way.
#[derive(Debug)]
pub struct Barrier {
    link: Link,
    round: u32,
    receive: Option<ReceiveRequest>,
    sends: Sends,
    /// The way with fewer messages, if that is to be taken.
    fewer: Option<Box<UpAndDown>>,
}

impl Barrier {
    /// Begins; the first step sends.
    pub fn new(link: Link) -> Self {
        let fewer = UpAndDown::meeting(&link);
        Self { link, round: 0, receive: None, sends: Sends::default(), fewer }
    }
}

impl Machine for Barrier {
    type Output = ();

    fn step(&mut self) -> Result<Option<()>> {
        if let Some(fewer) = &mut self.fewer {
            return fewer.step();
        }
        loop {
            if let Some(receive) = &mut self.receive {
                let Some(end) = receive.test() else {
                    // A message that cannot be sent is an error now: the one to be received may depend on it.
                    return self.sends.have_left().map(|_| None);
                };
                end?;
                self.receive = None;
                self.round += 1;
            }
            let distance = 1u32.checked_shl(self.round).filter(|distance| *distance < self.link.size());
            let Some(distance) = distance else {
                return Ok(self.sends.have_left()?.then_some(()));
            };
            self.sends.push(self.link.send(self.link.after(distance), self.round, Vec::new())?);
            self.receive = Some(self.link.receive(self.link.before(distance), self.round, 0)?);
        }
    }

    fn link(&self) -> Option<&Link> {
        Some(&self.link)
    }
}
