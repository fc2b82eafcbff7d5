//! Machines made of machines: one after the other, and the exchange between two ranks that stand for groups.

use super::link::{Link, Machine, Sends};
use crate::message::ReceiveRequest;
use rma_core::Result;

/// Two machines, one after the other: a function makes the second of what the first has given.
#[derive(Debug)]
pub(crate) enum Then<A, F, B> {
    First(A, Option<F>),
    Second(B),
}

/// A message to a rank, or none, and one from a rank, or none; gives the one received.
#[derive(Debug)]
pub(crate) struct Swap {
    link: Link,
    to: Option<(u32, Vec<u8>)>,
    from: Option<u32>,
    receive: Option<ReceiveRequest>,
    received: Option<Vec<u8>>,
    sends: Sends,
}

impl<A, F, B> Then<A, F, B>
where
    A: Machine,
    B: Machine,
    F: FnOnce(A::Output) -> Result<B>,
{
    pub(crate) fn new(first: A, second: F) -> Self {
        Self::First(first, Some(second))
    }
}

impl<A, F, B> Machine for Then<A, F, B>
where
    A: Machine,
    B: Machine,
    F: FnOnce(A::Output) -> Result<B>,
{
    type Output = B::Output;

    fn step(&mut self) -> Result<Option<B::Output>> {
        loop {
            match self {
                Self::Second(second) => return second.step(),
                Self::First(first, make) => {
                    let Some(output) = first.step()? else { return Ok(None) };
                    // A machine that has given its result, or an error, is not stepped again.
                    let Some(make) = make.take() else { return Ok(None) };
                    *self = Self::Second(make(output)?);
                }
            }
        }
    }

    fn link(&self) -> Option<&Link> {
        match self {
            Self::First(first, _) => first.link(),
            Self::Second(second) => second.link(),
        }
    }
}

impl Swap {
    pub(crate) fn new(link: Link, to: Option<(u32, Vec<u8>)>, from: Option<u32>) -> Self {
        Self { link, to, from, receive: None, received: None, sends: Sends::default() }
    }

    /// With one partner, if there is one.
    pub(crate) fn with(link: Link, partner: Option<u32>, message: Vec<u8>) -> Self {
        Self::new(link, partner.map(|partner| (partner, message)), partner)
    }
}

impl Machine for Swap {
    type Output = Option<Vec<u8>>;

    fn step(&mut self) -> Result<Option<Self::Output>> {
        if let Some(from) = self.from.take() {
            self.receive = Some(self.link.receive(from, 0, u64::MAX)?);
        }
        if let Some((to, message)) = self.to.take() {
            self.sends.push(self.link.send(to, 0, message)?);
        }
        let has_left = self.sends.have_left()?;
        if let Some(receive) = &mut self.receive {
            let Some(end) = receive.test() else { return Ok(None) };
            self.receive = None;
            self.received = Some(end?.data.unwrap_or_default());
        }
        Ok(has_left.then(|| self.received.take()))
    }

    fn link(&self) -> Option<&Link> {
        Some(&self.link)
    }
}
