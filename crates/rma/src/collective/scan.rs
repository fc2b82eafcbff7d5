//! Prefix reduction: in round k every rank gives what it has of the ranks up to its own to the one 2ᵏ after it.
//!
//! After round k a rank has the combined values of the 2ᵏ⁺¹ ranks up to its own, or of all there are; what it receives stands
//! for the ranks directly before those, and is combined on their left.

use super::combine::Combine;
use super::link::{Link, Machine, Sends};
use super::same_length::SameLength;
use crate::message::ReceiveRequest;
use rma_core::Result;
use std::fmt;
use std::sync::Arc;

/// A prefix reduction under way.
pub struct Scan {
    link: Link,
    operation: Arc<dyn Combine>,
    /// Combined values up to this rank's own.
    values: Vec<u8>,
    lengths: SameLength,
    /// Combined values up to the rank before this one, as far as they are known.
    before: Option<Vec<u8>>,
    round: u32,
    has_sent: bool,
    receive: Option<ReceiveRequest>,
    sends: Sends,
}

/// What a [`Scan`] gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// The combined values of all ranks up to this one (`MPI_Scan`).
    pub inclusive: Vec<u8>,
    /// The combined values of all ranks before this one (`MPI_Exscan`); rank 0 has none.
    pub exclusive: Option<Vec<u8>>,
}

impl Scan {
    /// Begins; the first step sends. `values` are packed elements, as many on every rank.
    pub fn new(link: Link, operation: Arc<dyn Combine>, values: Vec<u8>) -> Self {
        Self {
            link,
            operation,
            lengths: SameLength::new(&values),
            values,
            before: None,
            round: 0,
            has_sent: false,
            receive: None,
            sends: Sends::default(),
        }
    }

    fn on_received(&mut self, lower: Vec<u8>) {
        self.operation.combine(&lower, &mut self.values);
        match &mut self.before {
            Some(before) => self.operation.combine(&lower, before),
            None => self.before = Some(lower),
        }
    }
}

impl Machine for Scan {
    type Output = Prefix;

    fn step(&mut self) -> Result<Option<Prefix>> {
        let (me, size) = (self.link.me(), self.link.size());
        while let Some(distance) = 1u32.checked_shl(self.round).filter(|distance| *distance < size) {
            if !self.has_sent {
                self.has_sent = true;
                if let Some(to) = me.checked_add(distance).filter(|to| *to < size) {
                    self.sends.push(self.link.send(to, self.round, self.values.clone())?);
                }
                if let Some(from) = me.checked_sub(distance) {
                    let limit = self.lengths.limit();
                    self.receive = Some(self.link.receive(from, self.round, limit)?);
                }
            }
            if self.receive.is_some() {
                let Some(lower) = self.lengths.until(&self.link, &mut self.sends, &mut self.receive)? else {
                    return Ok(None);
                };
                match lower {
                    Some(lower) => self.on_received(lower),
                    None => self.values = Vec::new(),
                }
            }
            self.round += 1;
            self.has_sent = false;
        }
        if !self.sends.have_left()? {
            return Ok(None);
        }
        self.lengths.end()?;
        let inclusive = std::mem::take(&mut self.values);
        Ok(Some(Prefix { inclusive, exclusive: self.before.take() }))
    }

    fn link(&self) -> Option<&Link> {
        Some(&self.link)
    }
}

impl fmt::Debug for Scan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scan").field("link", &self.link).field("round", &self.round).finish_non_exhaustive()
    }
}
