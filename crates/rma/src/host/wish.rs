//! What ranks of a node tell each other when a segment is made: what they ask for, and where their part lies.

use super::arena::Arena;
use super::huge_pages::are_asked;
use super::node_memory::ArenaName;
use rma_core::host::SegmentKind;
use std::sync::Arc;

/// A place in a process's arena, as all processes of the node know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ArenaPlace {
    pub(super) arena: ArenaName,
    pub(super) offset: u64,
}

/// What a rank can do for a shared segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Offer {
    /// It has its part, or waits for the lowest rank to make it.
    Ready,
    /// It does not share, which needs no words.
    Unwilling,
    /// It would, but has no memory to share.
    Unable,
}

/// A rank's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SegmentWish {
    pub(super) kind: SegmentKind,
    pub(super) offer: Offer,
    pub(super) control_len: u64,
    pub(super) data_len: u64,
    pub(super) data_align: u64,
    pub(super) control: Option<ArenaPlace>,
    /// Nowhere when there are no bytes, or given ones that others cannot map.
    pub(super) data: Option<ArenaPlace>,
    /// Whether some of the ranks have not mapped the rank's arenas.
    pub(super) is_news: bool,
}

impl ArenaPlace {
    pub(super) fn new(arena: &Arc<Arena>, offset: u64) -> Self {
        let (number, len, is_kept) = (arena.number, arena.memory.len(), arena.is_kept);
        Self { arena: ArenaName { number, len, is_kept }, offset }
    }
}

const KINDS: [SegmentKind; 6] = [
    SegmentKind::Separate,
    SegmentKind::Contiguous,
    SegmentKind::Scattered,
    SegmentKind::Given,
    SegmentKind::Private,
    SegmentKind::Control,
];
const OFFERS: [Offer; 3] = [Offer::Ready, Offer::Unwilling, Offer::Unable];
/// Numbers of a place: whether there is one, arena number, length, kept or not, offset.
const PLACE_LEN: usize = 5;
/// Numbers of a wish.
const LEN: usize = 6 + 2 * PLACE_LEN;

impl SegmentWish {
    /// Whether the rank's data cannot be shared, but its control memory can.
    pub(super) fn keeps_data(&self) -> bool {
        self.kind == SegmentKind::Control
            || (self.kind == SegmentKind::Given && self.data_len > 0 && self.data.is_none())
    }

    /// Whether the rank asks for huge pages.
    pub(super) fn wants_huge_pages(&self) -> bool {
        are_asked(self.data_len, self.data_align)
    }

    pub(super) fn emit(&self) -> Vec<u8> {
        let position = |found: Option<usize>| found.unwrap_or_default() as u64;
        let mut numbers = vec![
            position(KINDS.iter().position(|kind| *kind == self.kind)),
            position(OFFERS.iter().position(|offer| *offer == self.offer)),
            self.control_len,
            self.data_len,
            self.data_align,
            self.is_news.into(),
        ];
        for place in [self.control, self.data] {
            numbers.extend(place.map_or([0; PLACE_LEN], |ArenaPlace { arena, offset }| {
                [1, arena.number, arena.len, arena.is_kept.into(), offset]
            }));
        }
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let (words, rest) = bytes.as_chunks::<8>();
        let numbers: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        if numbers.len() != LEN || !rest.is_empty() {
            return None;
        }
        let (head, places) = numbers.split_at(LEN - 2 * PLACE_LEN);
        let place = |numbers: &[u64]| {
            let arena = ArenaName { number: numbers[1], len: numbers[2], is_kept: numbers[3] != 0 };
            (numbers[0] != 0).then_some(ArenaPlace { arena, offset: numbers[4] })
        };
        Some(Self {
            kind: *KINDS.get(usize::try_from(head[0]).ok()?)?,
            offer: *OFFERS.get(usize::try_from(head[1]).ok()?)?,
            control_len: head[2],
            data_len: head[3],
            data_align: Some(head[4]).filter(|align| align.is_power_of_two())?,
            is_news: head[5] != 0,
            control: place(&places[..PLACE_LEN]),
            data: place(&places[PLACE_LEN..]),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_survive_their_wire_form_and_nothing_else_is_one() {
        for (kind, offer) in KINDS.into_iter().flat_map(|kind| OFFERS.map(|offer| (kind, offer))) {
            let arena = ArenaName { number: 7, len: 1 << 40, is_kept: offer == Offer::Ready };
            let control = Some(ArenaPlace { arena, offset: 64 });
            let (control_len, data_len, data_align) = (1, 2, 4096);
            let wish = SegmentWish {
                kind,
                offer,
                control_len,
                data_len,
                data_align,
                control,
                data: None,
                is_news: true,
            };
            let bytes = wish.emit();
            assert_eq!(SegmentWish::parse(&bytes), Some(wish));
            for len in 0..bytes.len() {
                assert_eq!(SegmentWish::parse(&bytes[..len]), None);
            }
            let mut damaged = bytes;
            damaged[7] = 1;
            assert_eq!(SegmentWish::parse(&damaged), None);
        }
    }
}
