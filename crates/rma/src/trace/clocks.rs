//! One time for all machines of a job, from the packets themselves.
//!
//! Ranks of one machine share its clock. Between two machines the difference of the clocks hides in the
//! packets that went both ways: with `a` the shortest time from a send on the one to its arrival on the
//! other, each by its own clock, and `b` the shortest time back, the clocks differ by about `(a - b) / 2`,
//! wrong by at most half of the shortest round trip. So nothing has to be measured while the job runs, and no
//! rank waits because of it. The barrier at the end of a job alone gives packets between enough pairs of
//! machines to reach all of them.

use std::collections::{BTreeMap, HashMap, VecDeque};

/// A packet's name: sender, receiver, lane, number.
pub(super) type PacketName = (u32, u32, u8, u64);

/// Packets of a pair of ranks and lane that are looked at; more are no more precise.
const LOOKED_AT: u64 = 4096;

/// Collects the times of packets between machines.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    /// The machine of each rank, by number.
    machines: HashMap<u32, usize>,
    /// When packets left that have not been seen to arrive, or arrived that have not been seen to leave.
    half: HashMap<PacketName, (Direction, u64)>,
    /// The shortest times from one machine to another.
    shortest: BTreeMap<(usize, usize), i128>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Sent,
    Received,
}

impl Clocks {
    /// The machine of each rank.
    pub(super) fn new(machines: HashMap<u32, usize>) -> Self {
        Self { machines, ..Self::default() }
    }

    /// One end of a packet.
    pub(super) fn add(&mut self, packet: PacketName, direction: Direction, t: u64) {
        let (from, to, _, number) = packet;
        let (Some(from), Some(to)) = (self.machines.get(&from), self.machines.get(&to)) else { return };
        if from == to || number >= LOOKED_AT {
            return;
        }
        let Some((_, other)) = self.half.remove(&packet).filter(|(other, _)| *other != direction) else {
            self.half.insert(packet, (direction, t));
            return;
        };
        let (sent, received) = if direction == Direction::Sent { (t, other) } else { (other, t) };
        let took = i128::from(received) - i128::from(sent);
        let shortest = self.shortest.entry((*from, *to)).or_insert(took);
        *shortest = took.min(*shortest);
    }

    /// What is to be added to the times of each machine, so that they are those of machine 0; 0 for one that no packets
    /// reach.
    pub(super) fn offsets(&self, machines: usize) -> Vec<i128> {
        let mut offsets = vec![None; machines];
        if let Some(first) = offsets.first_mut() {
            *first = Some(0);
        }
        let mut reached = VecDeque::from([0]);
        while let Some(known) = reached.pop_front() {
            let Some(base) = offsets.get(known).copied().flatten() else { continue };
            for (machine, offset) in offsets.iter_mut().enumerate().filter(|(_, offset)| offset.is_none()) {
                let there = self.shortest.get(&(known, machine));
                let back = self.shortest.get(&(machine, known));
                // How far the other clock is ahead of the known one; one way only, as if packets took no time.
                let ahead = match (there, back) {
                    (Some(there), Some(back)) => (there - back) / 2,
                    (Some(there), None) => *there,
                    (None, Some(back)) => -back,
                    (None, None) => continue,
                };
                *offset = Some(base - ahead);
                reached.push_back(machine);
            }
        }
        offsets.into_iter().map(Option::unwrap_or_default).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Machine 1 is a second ahead, machine 2 five seconds behind machine 1, which alone has contact with it.
    #[test]
    fn differences_are_found_over_machines_in_between() {
        let mut clocks = Clocks::new([(0, 0), (1, 0), (2, 1), (3, 2)].into());
        let ahead = [0, 0, 1_000_000_000, -4_000_000_000i64];
        let mut send = |from: u32, to: u32, number, at: u64, took: u64| {
            let by = |rank: u32, t: u64| (t as i64 + ahead[rank as usize]) as u64;
            clocks.add((from, to, 0, number), Direction::Received, by(to, at + took));
            clocks.add((from, to, 0, number), Direction::Sent, by(from, at));
        };
        let start = 10_000_000_000;
        for number in 0..100 {
            // 20 µs at best, often more.
            send(0, 2, number, start + number * 1000, 20_000 + number % 7 * 3000);
            send(2, 1, number, start + number * 1500, 20_000 + number % 3 * 9000);
            send(2, 3, number, start + number * 900, 20_000 + number % 5 * 5000);
            send(3, 2, number, start + number * 700, 22_000 + number % 2 * 5000);
            // Of the same clock: not looked at.
            send(0, 1, number, start, 0);
        }
        let offsets = clocks.offsets(3);
        for (offset, expected) in offsets.iter().zip([0, -1_000_000_000, 4_000_000_000i128]) {
            assert!((offset - expected).abs() <= 2000, "{offsets:?}");
        }
    }

    #[test]
    fn a_machine_without_packets_keeps_its_time() {
        assert_eq!(Clocks::new(HashMap::new()).offsets(3), [0, 0, 0]);
    }
}
