//! What completed operations have brought.

use super::super::chains::{COUNTER, Seen};
use super::super::operations::{BLANK, Judged};
use super::super::program::EQUALS;
use super::{Environment, JUDGED, Live, Player, SPENT};
use std::sync::Arc;

impl<G: Environment> Player<G> {
    /// The buffers of an operation are the caller's again.
    pub(super) fn complete(&mut self, number: u32) {
        let Some(at) = self.live.iter().position(|live| live.prepared.number == number) else { return };
        let mut live = self.live.remove(at);
        self.judge(&mut live);
        live.buffers.origin.fill(SPENT);
        live.buffers.result.fill(JUDGED);
        self.done.push(live.buffers);
    }

    fn judge(&mut self, live: &mut Live) {
        let bytes = live.buffers.result.bytes();
        let prepared = Arc::clone(&live.prepared);
        let (window, target) = (prepared.window, prepared.target);
        let word = |at: usize| u64::from_ne_bytes(bytes[at * 8..at * 8 + 8].try_into().expect("eight bytes"));
        let actor = &mut self.actors[live.actor];
        let saw = |fetched, wrote| Seen {
            actor: actor.number,
            number: prepared.number,
            round: prepared.round,
            fetched,
            wrote,
        };
        let mut note = |cell: u64, seen: Seen| self.log.entry((window, target, cell)).or_default().push(seen);
        match &prepared.result {
            Judged::None | Judged::Anything => {}
            Judged::Exactly(expected) => {
                self.compare(&bytes, expected, || format!("result of {:?}", prepared));
            }
            Judged::Untouched => {
                let blank = vec![BLANK; bytes.len()];
                self.compare(&bytes, &blank, || format!("result of {:?}, which went nowhere", prepared));
            }
            Judged::Counted => note(COUNTER, saw(word(0), Some(0))),
            Judged::Swapped { cell, wrote } => {
                for (lane, value) in wrote.iter().enumerate() {
                    note(cell + lane as u64, saw(word(lane), Some(*value)));
                    actor.seen.insert((window, target, cell + lane as u64), *value);
                }
            }
            Judged::SwappedIf { cell, wrote } => {
                let has_swapped = word(0) == live.compared;
                note(*cell, saw(word(0), has_swapped.then_some(*wrote)));
                actor.seen.insert((window, target, *cell), if has_swapped { *wrote } else { word(0) });
            }
            Judged::Peeked { cell, len } => {
                for lane in 0..*len {
                    note(cell + lane, saw(word(lane as usize), None));
                    actor.seen.insert((window, target, cell + lane), word(lane as usize));
                }
            }
            Judged::Equals => {
                let values = (0..EQUALS as usize).map(word).collect::<Vec<_>>();
                assert!(
                    values.iter().all(|value| *value == values[0]),
                    "rank {}: a lock of rank {target} in window {window} was not kept: {values:?}",
                    self.me
                );
                actor.equal = word(0);
            }
        }
    }

    pub(super) fn compare(&self, found: &[u8], expected: &[u8], what: impl Fn() -> String) {
        if found != expected {
            let at = found.iter().zip(expected).position(|(a, b)| a != b).unwrap_or(0);
            panic!(
                "rank {}: {}: byte {at} of {} is {:#x}, but must be {:#x}\n  found    {found:02x?}\n  expected {expected:02x?}",
                self.me,
                what(),
                expected.len(),
                found[at],
                expected[at]
            );
        }
    }
}
