//! The check that all ranks of a reduction give the same number of values.
//!
//! A rank that finds another number goes on with the messages of its machine, but has no values in them any
//! more: so no rank waits for it, and each rank whose result would contain its values gets an error as well.

use super::link::{Link, Sends};
use crate::message::{ReceiveRequest, Received};
use rma_core::ids::Peer;
use rma_core::{Error, ErrorClass, Result};

/// How many bytes this rank reduces, and what it has found of the others.
#[derive(Debug)]
pub(super) struct SameLength {
    ours: usize,
    fault: Option<Error>,
}

impl SameLength {
    pub(super) fn new(values: &[u8]) -> Self {
        Self { ours: values.len(), fault: None }
    }

    /// The most bytes that a message can have.
    pub(super) fn limit(&self) -> u64 {
        self.ours as u64
    }

    /// As [`Sends::until`]: the values of another rank once they have come, or nothing when the numbers of values differ, here
    /// or where these come from.
    pub(super) fn until(
        &mut self,
        link: &Link,
        sends: &mut Sends,
        receive: &mut Option<ReceiveRequest>,
    ) -> Result<Option<Option<Vec<u8>>>> {
        let values = match sends.until(receive) {
            Ok(None) => return Ok(None),
            Ok(Some(received)) => self.check(link, received),
            // More than there is room for. The sender does not wait any longer.
            Err(error) if error.class() == ErrorClass::Truncate => {
                let refused = receive.take().and_then(|receive| receive.refused());
                Err(refused.map_or(error, |waiting| self.differ(link, waiting.source, waiting.len)))
            }
            Err(error) => return Err(error),
        };
        Ok(Some(match values {
            Ok(values) => Some(values).filter(|_| self.fault.is_none()),
            Err(error) => {
                self.fault.get_or_insert(error);
                None
            }
        }))
    }

    /// How the reduction ends when all messages have left.
    ///
    /// # Errors
    /// `MPI_ERR_TRUNCATE`: the first difference that this rank has found.
    pub(super) fn end(&mut self) -> Result<()> {
        self.fault.take().map_or(Ok(()), Err)
    }

    fn check(&self, link: &Link, received: Received) -> Result<Vec<u8>> {
        let values = received.data.unwrap_or_default();
        match values.len() == self.ours {
            true => Ok(values),
            false => Err(self.differ(link, received.source, values.len() as u64)),
        }
    }

    #[cold]
    fn differ(&self, link: &Link, from: Peer, theirs: u64) -> Error {
        let theirs = match theirs {
            0 => "none, as ranks do that have found others to differ".to_owned(),
            len => len.to_string(),
        };
        let cause = format!("this rank reduces {} bytes, {} gives {theirs}", self.ours, link.name_of(from));
        Error::new(ErrorClass::Truncate, "reduce", cause)
    }
}
