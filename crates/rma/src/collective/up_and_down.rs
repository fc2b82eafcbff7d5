//! A meeting of all up and down a tree: twice as many steps one after the other as by doubling, and 2 (P - 1) messages instead
//! of P log2 P. Where ranks outnumber cores the number of messages is what counts, for each has to wait for a core twice.

use super::broadcast::Broadcast;
use super::combine::ElementWise;
use super::link::{Link, Machine};
use super::reduce::Reduce;
use rma_core::Result;
use std::fmt;

/// Such a meeting under way.
pub(super) enum UpAndDown {
    Up { reduce: Reduce, link: Link },
    Down(Broadcast),
}

/// Four ranks have eight messages by doubling and six this way, which is no faster.
const FEWEST_RANKS: u32 = 5;

impl UpAndDown {
    /// A meeting without values, if this is the better way.
    pub(super) fn meeting(link: &Link) -> Option<Box<Self>> {
        let is_better = link.is_oversubscribed() && link.size() >= FEWEST_RANKS;
        is_better.then(|| {
            let reduce = Reduce::new(link.clone(), 0, ElementWise::shared(1, true, |_, _| {}), Vec::new());
            Box::new(Self::Up { reduce, link: link.clone() })
        })
    }
}

impl Machine for UpAndDown {
    type Output = ();

    fn step(&mut self) -> Result<Option<()>> {
        if let Self::Up { reduce, link } = self {
            let Some(values) = reduce.step()? else { return Ok(None) };
            // A pair of ranks talks upwards first and then downwards, so the same tags are not confused.
            *self = Self::Down(Broadcast::new(link.clone(), 0, values, 0));
        }
        match self {
            Self::Down(broadcast) => Ok(broadcast.step()?.map(drop)),
            Self::Up { .. } => Ok(None),
        }
    }

    fn link(&self) -> Option<&Link> {
        match self {
            Self::Up { link, .. } => Some(link),
            Self::Down(broadcast) => broadcast.link(),
        }
    }
}

impl fmt::Debug for UpAndDown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Up { reduce, .. } => f.debug_tuple("Up").field(reduce).finish(),
            Self::Down(broadcast) => f.debug_tuple("Down").field(broadcast).finish(),
        }
    }
}
