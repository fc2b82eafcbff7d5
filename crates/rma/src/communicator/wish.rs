//! What a rank says when a communicator is split.

use super::context::propose;
use crate::elements::{as_bytes, from_bytes};
use crate::runtime::Runtime;
use rma_core::{Error, ErrorClass, Result};

/// Color of a rank that wants to be in no communicator; no color that a caller gives is so high.
const NO_COLOR: u64 = u64::MAX;
/// Color of a rank that takes part only so that no rank waits for it.
const REFUSED: u64 = u64::MAX - 1;

/// A color, a place among the ranks that give the same one, and a context: that of the first rank of each new
/// communicator is taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SplitWish {
    color: u64,
    key: i64,
    context: u64,
}

impl SplitWish {
    /// To be with the ranks that give the same color, or with none.
    pub(crate) fn of(runtime: &Runtime, color: Option<u32>, key: i64) -> Self {
        Self { color: color.map_or(NO_COLOR, u64::from), key, context: propose(runtime) }
    }

    /// The words of a rank that was called with a wrong argument.
    pub(crate) fn refused(runtime: &Runtime) -> Self {
        Self { color: REFUSED, key: 0, context: propose(runtime) }
    }

    /// The color, if the rank wants to be in a communicator.
    pub(crate) fn color(&self) -> Option<u64> {
        (self.color < REFUSED).then_some(self.color)
    }

    /// The context that the rank proposes.
    pub(crate) fn context(&self) -> u64 {
        self.context
    }

    /// The ranks that give a color, in their order in the new communicator.
    pub(crate) fn chosen(all: &[Self], color: u64) -> Vec<u32> {
        let same = all.iter().zip(0u32..).filter(|(wish, _)| wish.color == color);
        let mut members: Vec<(i64, u32)> = same.map(|(wish, rank)| (wish.key, rank)).collect();
        members.sort_unstable();
        members.into_iter().map(|(_, rank)| rank).collect()
    }

    /// That no rank has refused.
    ///
    /// # Errors
    /// `MPI_ERR_OTHER`: the first rank that has.
    pub(crate) fn none_refused(all: &[Self], call: &'static str, group: &str) -> Result<()> {
        match all.iter().position(|wish| wish.color == REFUSED) {
            None => Ok(()),
            Some(rank) => {
                let cause = format!(
                    "rank {rank}{group} has called it with a wrong argument, so no communicator was made"
                );
                Err(Error::new(ErrorClass::Other, call, cause))
            }
        }
    }

    pub(crate) fn emit(&self) -> Vec<u8> {
        as_bytes(&[self.color, self.key as u64, self.context]).to_vec()
    }

    /// What a rank has said.
    ///
    /// # Errors
    /// `MPI_ERR_INTERN` when it has said something else.
    pub(crate) fn parse(bytes: &[u8], call: &'static str) -> Result<Self> {
        match from_bytes::<u64>(bytes, call)?[..] {
            [color, key, context] => Ok(Self { color, key: key as i64, context }),
            _ => Err(Error::new(ErrorClass::Intern, call, "a rank called another collective")),
        }
    }
}
