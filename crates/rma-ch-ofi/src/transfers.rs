//! What this process has exposed, and which transfers are under way: the data of `remote`.

use crate::registration::{Exposed, Lent};
use rma_core::channel::TransferToken;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Transfers under way, to all peers.
pub(crate) const TRANSFERS: u32 = 256;

/// What this process has exposed, and its transfers.
#[derive(Debug, Default)]
pub(crate) struct Transfers {
    pub(crate) exposures: FxHashMap<u64, Exposition>,
    pub(crate) last_exposure: u64,
    /// Slots for transfers, from the first one on.
    pub(crate) block: Option<u32>,
    pub(crate) free: Vec<u32>,
    pub(crate) under_way: FxHashMap<u32, Transfer>,
    /// To memory that was withdrawn.
    pub(crate) refused: Vec<TransferToken>,
    /// Reads of bodies to where they belong.
    pub(crate) bodies: u32,
    /// Ended by a peer that will be reported as failed.
    pub(crate) lost: Vec<(usize, TransferToken)>,
}

/// Memory that is exposed.
#[derive(Debug)]
pub(crate) struct Exposition {
    pub(crate) memory: Exposed,
    /// Peers that have the key.
    pub(crate) holders: Vec<usize>,
    pub(crate) is_withdrawn: bool,
}

#[derive(Debug)]
pub(crate) struct Transfer {
    pub(crate) token: TransferToken,
    pub(crate) place: usize,
    pub(crate) key: u64,
    pub(crate) lent: Lent,
}

impl Transfers {
    /// Whether any goes to the memory of a peer's key.
    pub(crate) fn has_under_way(&self, place: usize, key: u64) -> bool {
        self.under_way.values().any(|transfer| (transfer.place, transfer.key) == (place, key))
    }

    /// Tokens of the transfers that the failure of a peer ends.
    pub(crate) fn take_lost(&mut self, place: usize) -> Vec<TransferToken> {
        let (of_it, others) = std::mem::take(&mut self.lost).into_iter().partition(|(of, _)| *of == place);
        self.lost = others;
        let of_it: Vec<(usize, TransferToken)> = of_it;
        of_it.into_iter().map(|(_, token)| token).collect()
    }

    /// Gives those to such peers up that the provider has not come back from: it has no way to them any more. Their slots stay its own.
    pub(crate) fn give_up(&mut self, is_of: impl Fn(usize) -> bool) {
        let given_up = self.under_way.extract_if(|_, transfer| is_of(transfer.place));
        self.lost.extend(given_up.map(|(_, transfer)| (transfer.place, transfer.token)));
    }
}

/// Keys of a peer that are remembered as withdrawn. The engine of this process hears of the end of a window, too, and uses a
/// key until then.
const REMEMBERED: usize = 1024;

/// What a peer has withdrawn.
#[derive(Debug, Default)]
pub(crate) struct Gone {
    keys: VecDeque<u64>,
    /// Those with transfers under way.
    pub(crate) ending: Vec<u64>,
}

impl Gone {
    pub(crate) fn has(&self, key: u64) -> bool {
        self.keys.contains(&key)
    }

    pub(crate) fn add(&mut self, key: u64) {
        if self.keys.len() == REMEMBERED {
            self.keys.pop_front();
        }
        self.keys.push_back(key);
    }
}
