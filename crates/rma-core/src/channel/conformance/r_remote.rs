//! R1 to R8: transfers with memory that a peer has exposed. Channels that offer none skip them.
//!
//! Rank 1 exposes memory, rank 0 reads and writes it. Each buffer is overwritten when its answer comes ([`super::recorder`]), so a
//! late access shows as wrong bytes: in the exposed memory, in what was read, or in a buffer that is over.

use super::bench::Bench;
use super::memory::{LentBody, Shape, pattern};
use super::rank::TestedRank;
use super::recorder::PollEvent;
use super::world::World;
use crate::channel::{
    Exposure, Issued, Lane, RemoteKey, RemotePlace, TransferError, TransferLimits, Withdrawal,
};
use crate::ids::Peer;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

const NONE: &str = "these channels offer no transfers";
const SIZE: usize = 20_000;
/// More than networks keep between two processes.
const LARGE: usize = 20 << 20;

/// Memory that rank 1 has exposed, with what it must hold.
struct Remote {
    exposure: Exposure,
    key: RemoteKey,
    limits: TransferLimits,
    holds: Vec<u8>,
}

impl Remote {
    /// Exposes `SIZE` bytes of rank 1; `None` when transfers are not offered.
    fn new(world: &mut World<'_>) -> Option<Self> {
        Self::of(world, SIZE)
    }

    fn of(world: &mut World<'_>, size: usize) -> Option<Self> {
        let limits = world.rank(0).channel().transfers(Peer(1))?;
        assert!(limits.longest >= limits.write_from.max(limits.read_from), "R1: {limits:?}");
        world.introduce(0, 1);
        let body = LentBody::with_pattern(size, Shape::Contiguous, 99);
        let rank = world.rank(1);
        let remote = rank.channel().remote_memory().expect("R1: transfers are offered");
        let exposure = body.expose(remote);
        let key = remote.key(exposure, Peer(0)).expect("R1: a peer that has transfers gets a key");
        rank.recorder.exposed.push(body);
        Some(Self { exposure, key, limits, holds: (0..size).map(|i| pattern(99, i)).collect() })
    }

    fn place(&self, offset: u64) -> RemotePlace {
        RemotePlace { key: self.key, offset }
    }

    /// Begins a write of rank 0, driving the world while there is no room.
    fn write(&mut self, world: &mut World<'_>, offset: usize, len: usize) {
        let (place, seed) = (self.place(offset as u64), offset as u64 + 7);
        begin(world, |rank| rank.offer_write(Peer(1), place, len, seed).expect("R7: the peer lives"));
        (0..len).for_each(|i| self.holds[offset + i] = pattern(seed, i));
    }

    /// Begins a read of rank 0 likewise.
    fn read(&self, world: &mut World<'_>, offset: usize, len: usize) {
        let (place, holds) = (self.place(offset as u64), &self.holds[offset..offset + len]);
        begin(world, |rank| rank.offer_read(Peer(1), place, holds).expect("R7: the peer lives"));
    }

    fn check(&self, world: &mut World<'_>) {
        let memory = world.rank(1).recorder.exposed[0].to_bytes();
        let wrong = memory.iter().zip(&self.holds).position(|(has, wants)| has != wants);
        assert_eq!(wrong, None, "R1, R3, R4: the first byte of exposed memory that is wrong");
        world.finish_checks();
    }
}

fn begin(world: &mut World<'_>, mut offer: impl FnMut(&mut TestedRank) -> Issued) {
    world.until("room for a transfer (R7)", |w| match offer(w.rank(0)) {
        Issued::Yes => true,
        Issued::Full => false,
        Issued::Never => panic!("R7: a plain buffer of this process cannot be used"),
    });
}

fn withdraw(world: &mut World<'_>, exposure: Exposure) {
    world.until("the end of an exposure (R6)", |w| {
        let remote = w.rank(1).channel().remote_memory().expect("it has been asked");
        remote.withdraw(exposure, false) == Withdrawal::Over
    });
}

fn until_answered(world: &mut World<'_>) {
    world.until("the answers of all transfers (R2)", |w| w.rank(0).recorder.transfers.is_empty());
}

fn outcomes(world: &mut World<'_>) -> Vec<Result<(), TransferError>> {
    let outcome = |event: &PollEvent| match event {
        PollEvent::Transferred(_, outcome) => Some(*outcome),
        _ => None,
    };
    world.rank(0).recorder.events.iter().filter_map(outcome).collect()
}

/// Bytes of every length go where they are named, and nowhere else; what was answered is there at once.
pub fn r1_transfers_land_where_they_are_named(bench: &mut Bench) {
    let mut world = bench.world(2);
    let Some(mut remote) = Remote::new(&mut world) else { return world.bench.skip(NONE) };
    let longest = remote.limits.longest.min(SIZE);
    for len in [1, 7, 8, 64, 1000, 4096, 5001, SIZE].map(|len| len.min(longest)) {
        for offset in [0, 1, (SIZE - len) / 2, SIZE - len].map(|offset| offset.min(SIZE - len)) {
            remote.write(&mut world, offset, len);
            until_answered(&mut world);
            remote.check(&mut world);
            remote.read(&mut world, offset.saturating_sub(1), len);
            until_answered(&mut world);
        }
    }
    assert!(outcomes(&mut world).iter().all(Result::is_ok), "R1: none is refused");
    world.settle_all();
    remote.check(&mut world);
}

/// A place outside what is exposed is refused, or fails the peer, and nothing is touched.
pub fn r1_places_outside_are_refused(bench: &mut Bench) {
    for (offset, len) in [(SIZE as u64, 1), (SIZE as u64 - 1, 2), (u64::MAX - 3, 3), (u64::MAX, 1)] {
        for is_read in [false, true] {
            let mut world = bench.world(2);
            let Some(remote) = Remote::new(&mut world) else { return world.bench.skip(NONE) };
            let place = remote.place(offset);
            begin(&mut world, |rank| {
                let issued = match is_read {
                    true => rank.offer_read(Peer(1), place, &vec![0; len]),
                    false => rank.offer_write(Peer(1), place, len, 3),
                };
                issued.expect("the peer lives")
            });
            until_answered(&mut world);
            world.settle_all();
            match outcomes(&mut world)[..] {
                [Err(TransferError::Refused)] => {}
                [Err(TransferError::Lost)] => {
                    assert!(world.rank(0).recorder.failed.contains_key(&Peer(1)), "R2: lost, but not failed");
                }
                ref other => panic!("R1: {len} bytes from {offset} are answered {other:?}"),
            }
            remote.check(&mut world);
        }
    }
}

/// Many transfers at once, each answered once, with packets between them.
pub fn r2_every_transfer_is_answered_once(bench: &mut Bench) {
    let mut world = bench.world(2);
    let Some(mut remote) = Remote::new(&mut world) else { return world.bench.skip(NONE) };
    let len = 50.min(remote.limits.longest);
    // Reads are of the upper half, which is not written.
    for i in 0..200 {
        remote.write(&mut world, i * 50, len);
        remote.read(&mut world, SIZE / 2 + i * 50, len);
        if i % 10 == 0 {
            world.send(0, 1, Lane::Request, 30);
            world.send(1, 0, Lane::Response, 30);
        }
    }
    until_answered(&mut world);
    world.until_all_arrived();
    world.settle_all();
    assert_eq!(outcomes(&mut world), vec![Ok(()); 400]);
    remote.check(&mut world);
}

/// A channel that is dropped neither reads nor writes its buffers any more, nor lets peers at what it has exposed.
pub fn r3_a_dropped_channel_touches_nothing(bench: &mut Bench) {
    if !bench.fixture.can_kill() {
        return bench.skip("these peers cannot be killed");
    }
    for victim in [0, 1] {
        let mut world = bench.world(2);
        let Some(mut remote) = Remote::new(&mut world) else { return world.bench.skip(NONE) };
        let len = 1000.min(remote.limits.longest);
        for i in 0..8 {
            remote.write(&mut world, 1000 * i, len);
            remote.read(&mut world, SIZE / 2 + 1000 * i, len);
        }
        world.kill(victim);
        if victim == 1 {
            world.rank(1).recorder.exposed[0].poison();
            until_answered(&mut world);
            world.until("the report of a lost peer", |w| w.rank(0).recorder.failed.contains_key(&Peer(1)));
            world.settle_all();
            let exposed = world.rank(1).recorder.exposed[0].check_poison();
            assert_eq!(exposed, Ok(()), "R3: of a process that is gone");
        } else {
            world.until("the report of a lost peer", |w| w.rank(1).recorder.failed.contains_key(&Peer(0)));
            world.settle_all();
            for (at, has) in world.rank(1).recorder.exposed[0].to_bytes().into_iter().enumerate() {
                let is_one = has == pattern(99, at) || has == remote.holds[at];
                assert!(is_one, "R3: byte {at} is {has:#04x}, read after the drop");
            }
        }
        world.finish_checks();
    }
}

/// After memory is withdrawn, transfers that are under way leave it alone, and later ones are refused.
pub fn r6_withdrawn_memory_is_not_touched(bench: &mut Bench) {
    for (size, steps) in [(SIZE, 0), (SIZE, 1), (SIZE, 3), (LARGE, 0), (LARGE, 2)] {
        let mut world = bench.world(2);
        let Some(mut remote) = Remote::of(&mut world, size) else { return world.bench.skip(NONE) };
        let len = (size / 10).min(remote.limits.longest);
        for i in 0..10 {
            remote.write(&mut world, size / 10 * i, len);
        }
        for _ in 0..steps {
            world.step();
        }
        withdraw(&mut world, remote.exposure);
        world.rank(1).recorder.exposed[0].poison();
        until_answered(&mut world);
        let place = remote.place(0);
        // The peer may have failed: networks need not distinguish a place that is gone from one that never
        // was.
        if let Ok(Issued::Yes) = world.rank(0).offer_write(Peer(1), place, len, 5) {
            until_answered(&mut world);
            assert_ne!(outcomes(&mut world).last(), Some(&Ok(())), "R6: written where nothing is exposed");
        }
        world.settle_all();
        assert_eq!(world.rank(1).recorder.exposed[0].check_poison(), Ok(()), "R6: after it was withdrawn");
        world.finish_checks();
    }
}

/// An answer, and a transfer that the other's channel has to help with, wake sleepers.
pub fn r8_answers_wake_sleepers(bench: &mut Bench) {
    if !bench.fixture.can_sleep() {
        return bench.skip("these channels wake no sleeper");
    }
    let deadline = bench.deadline;
    let mut world = bench.world(2);
    let Some(mut remote) = Remote::new(&mut world) else { return world.bench.skip(NONE) };
    let len = remote.limits.write_from.clamp(1, 5000);
    let finished = &AtomicUsize::new(0);
    let place = remote.place(0);
    let [origin, target] = &mut world.ranks[..] else { unreachable!("two ranks") };
    thread::scope(|scope| {
        scope.spawn(move || {
            for round in 0..200 {
                let issued = origin.offer_write(Peer(1), place, len, round).expect("the peer lives");
                assert_eq!(issued, Issued::Yes, "R7: one transfer is not too many");
                origin.sleep_until("an answer", deadline, |r| r.recorder.transfers.is_empty());
            }
            finished.fetch_add(1, SeqCst);
            let last = origin.channel().reserve(Peer(1), Lane::Request, 8);
            assert!(last.is_ok(), "the peer lives");
            assert!(origin.try_small(Peer(1), Lane::Request, 8), "room for the only packet");
            origin.poll_until("the other to finish", deadline, |_| finished.load(SeqCst) == 2);
        });
        let before = target.recorder.packets_from(Peer(0), Lane::Request);
        target.sleep_until("the last packet", deadline, |r| {
            r.recorder.packets_from(Peer(0), Lane::Request) > before
        });
        finished.fetch_add(1, SeqCst);
    });
    (0..len).for_each(|i| remote.holds[i] = pattern(199, i));
    remote.check(&mut world);
}
