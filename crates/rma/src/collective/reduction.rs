//! Reduction to all by recursive doubling.
//!
//! ```text
//!   fold      of the first 2r ranks (r = ranks beyond a power of two), each odd one gives its values to the even one before
//!   double    the others, a power of two, exchange with the partner one bit away, bit by bit
//!   unfold    the even ones give the result back
//! ```
//!
//! Values are always combined with those of lower ranks on the left, so every rank computes the same result, bit by bit,
//! whatever arrives first.

use super::link::{Link, Machine, Sends};
use crate::message::{ReceiveRequest, Received};
use rma_core::kernel::{Kernel, Sole};
use rma_core::mem::WriteSpan;
use rma_core::{Error, ErrorClass, Result};

/// A reduction under way; gives every rank the combined values.
#[derive(Debug)]
pub struct Reduction {
    link: Link,
    kernel: Kernel,
    values: Vec<u8>,
    stage: Stage,
    receive: Option<ReceiveRequest>,
    sends: Sends,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Wait for the values of the odd neighbour.
    Fold,
    /// Exchange with the partner across this bit.
    Double(u32),
    /// Wait for the result from the even neighbour.
    Unfold,
    /// Wait for what was sent to leave.
    Leave,
}

const FOLD: u32 = 100;
const UNFOLD: u32 = 101;

impl Reduction {
    /// Begins. `values` are elements of the kernel's type, in this machine's order of bytes, as many on every rank.
    ///
    /// # Errors
    /// When the message cannot be begun.
    pub fn new(link: Link, kernel: Kernel, values: Vec<u8>) -> Result<Self> {
        let mut new =
            Self { link, kernel, values, stage: Stage::Leave, receive: None, sends: Sends::default() };
        match new.link.me() {
            me if me < 2 * new.extra() && me % 2 == 1 => {
                new.send(me - 1, FOLD)?;
                new.enter(Stage::Unfold)?;
            }
            me if me < 2 * new.extra() => new.enter(Stage::Fold)?,
            _ => new.enter(Stage::Double(1))?,
        }
        Ok(new)
    }

    /// The largest power of two of ranks.
    fn power(&self) -> u32 {
        1 << self.link.size().ilog2()
    }

    /// How many ranks are beyond it.
    fn extra(&self) -> u32 {
        self.link.size() - self.power()
    }

    /// This rank among those that double.
    fn place(&self) -> u32 {
        match self.link.me() {
            me if me < 2 * self.extra() => me / 2,
            me => me - self.extra(),
        }
    }

    /// The inverse of [`Reduction::place`].
    fn rank(&self, place: u32) -> u32 {
        if place < self.extra() { 2 * place } else { place + self.extra() }
    }

    fn send(&mut self, to: u32, round: u32) -> Result<()> {
        self.sends.push(self.link.send(to, round, self.values.clone())?);
        Ok(())
    }

    /// Enters a stage: sends what it sends, and begins to receive what it waits for.
    fn enter(&mut self, stage: Stage) -> Result<()> {
        self.stage = stage;
        let me = self.link.me();
        let limit = self.values.len() as u64;
        self.receive = match stage {
            Stage::Fold => Some(self.link.receive(me + 1, FOLD, limit)?),
            Stage::Unfold => Some(self.link.receive(me - 1, UNFOLD, limit)?),
            Stage::Double(bit) if bit < self.power() => {
                let partner = self.rank(self.place() ^ bit);
                self.send(partner, bit.ilog2())?;
                Some(self.link.receive(partner, bit.ilog2(), limit)?)
            }
            Stage::Double(_) => {
                if me < 2 * self.extra() {
                    self.send(me + 1, UNFOLD)?;
                }
                self.stage = Stage::Leave;
                None
            }
            Stage::Leave => None,
        };
        Ok(())
    }

    fn on_received(&mut self, received: Received) -> Result<()> {
        let other = received.data.unwrap_or_default();
        if other.len() != self.values.len() {
            let (ours, theirs) = (self.values.len(), other.len());
            let cause = format!("this rank reduces {ours} bytes, process {} {theirs}", received.source);
            return Err(Error::new(ErrorClass::Truncate, "reduce", cause));
        }
        match self.stage {
            Stage::Fold => {
                self.combine(other, false);
                self.enter(Stage::Double(1))
            }
            Stage::Double(bit) => {
                self.combine(other, self.place() & bit != 0);
                self.enter(Stage::Double(bit << 1))
            }
            Stage::Unfold | Stage::Leave => {
                self.values = other;
                self.enter(Stage::Leave)
            }
        }
    }

    fn combine(&mut self, mut other: Vec<u8>, is_lower: bool) {
        if is_lower {
            std::mem::swap(&mut self.values, &mut other);
        }
        // SAFETY: the vector outlives the call, in which nobody else uses it.
        let target = unsafe { WriteSpan::new(self.values.as_mut_ptr(), self.values.len()) };
        self.kernel.accumulate(target, &other[..], &Sole);
    }
}

impl Machine for Reduction {
    type Output = Vec<u8>;

    fn step(&mut self) -> Result<Option<Vec<u8>>> {
        while let Some(receive) = &mut self.receive {
            let Some(end) = receive.test() else {
                // A message that cannot be sent is an error now: the one to be received may depend on it.
                return self.sends.have_left().map(|_| None);
            };
            self.receive = None;
            self.on_received(end?)?;
        }
        Ok(self.sends.have_left()?.then(|| std::mem::take(&mut self.values)))
    }
}
