//! C6: after arming has answered "sleep", whatever a poll would act on wakes the sleeper. No wake-up is lost.
//!
//! Each rank runs on a thread of its own and sleeps whenever it may. In a ping-pong, one lost wake-up stops both sides; a
//! sleep that ends by its time limit with work waiting fails the test ([`super::rank`]).

use super::bench::Bench;
use super::memory::Shape;
use super::rank::{PLENTY, TestedRank};
use crate::channel::{Armed, Lane};
use crate::ids::Peer;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

const CANNOT: &str = "these channels wake no sleeper";
const THREADS: &str = "running each rank on a thread";
/// A sleep that something must end takes no longer than this.
const WOKEN_WITHIN: Duration = Duration::from_secs(4);
const PING_PONGS: usize = 1500;

/// Pauses of different lengths, so that arrivals hit every moment of "poll, arm, sleep".
fn pause(round: usize) {
    for _ in 0..(round * 37) % 1500 {
        std::hint::spin_loop();
    }
}

/// Sends a small packet from a thread that sleeps while there is no room.
fn send(rank: &mut TestedRank, to: Peer, lane: Lane, len: usize, deadline: Instant) {
    if !rank.try_small(to, lane, len) {
        rank.sleep_until("room", deadline, |r| {
            !r.recorder.full.contains(&(to, lane)) && r.try_small(to, lane, len)
        });
    }
}

/// Three clients ask a server, each waits asleep for its answer.
pub fn c6_ping_pong_between_sleepers(bench: &mut Bench) {
    if !bench.fixture.can_sleep() {
        return bench.skip(CANNOT);
    }
    let deadline = bench.deadline;
    let mut world = bench.world(4);
    world.bench.note(THREADS.to_owned());
    let [server, clients @ ..] = &mut world.ranks[..] else { unreachable!("four ranks") };
    thread::scope(|scope| {
        for client in clients {
            scope.spawn(move || {
                for round in 0..PING_PONGS {
                    pause(round * client.me.0 as usize);
                    send(client, Peer(0), Lane::Request, 1 + round % 100, deadline);
                    client.sleep_until("an answer", deadline, |r| {
                        r.recorder.packets_from(Peer(0), Lane::Response) == round + 1
                    });
                }
            });
        }
        let mut answered = [0; 4];
        while answered.iter().sum::<usize>() < 3 * PING_PONGS {
            server.sleep_until("a question", deadline, |r| {
                (1..4).any(|c| r.recorder.packets_from(Peer(c), Lane::Request) > answered[c as usize])
            });
            for c in 1..4 {
                while server.recorder.packets_from(Peer(c), Lane::Request) > answered[c as usize] {
                    answered[c as usize] += 1;
                    send(server, Peer(c), Lane::Response, 8, deadline);
                }
            }
        }
        // The last answers may need polls to leave.
        server.poll_until("the last answers to leave", deadline, |_| {
            world.ledger.on_their_way(|s| s.from == Peer(0)) == 0
        });
    });
    assert!(world.ranks.iter().any(|r| r.sleeps > 0), "C6: no rank ever slept");
    world.finish_checks();
}

/// Bulk in both directions between two sleepers: pieces of bodies, and the report that a body has left, wake too.
pub fn c6_bulk_wakes_sleepers(bench: &mut Bench) {
    if !bench.fixture.can_sleep() {
        return bench.skip(CANNOT);
    }
    let deadline = bench.deadline;
    let size = bench.fixture.largest_body().min(300_000);
    let mut world = bench.world(2);
    world.bench.note(THREADS.to_owned());
    let finished = &AtomicUsize::new(0);
    thread::scope(|scope| {
        for rank in &mut world.ranks {
            scope.spawn(move || {
                let other = Peer(1 - rank.me.0);
                for round in 0..40 {
                    pause(round);
                    let shapes = (Shape::Contiguous, Shape::Strided);
                    rank.sleep_until("room for a bulk", deadline, |r| {
                        !r.recorder.full.contains(&(other, Lane::Request))
                            && r.try_bulk(other, Lane::Request, size - round, shapes)
                    });
                    rank.sleep_until("the other's bulk, and word that mine has left", deadline, |r| {
                        r.recorder.packets_from(other, Lane::Request) > round
                            && r.recorder.outgoing.is_empty()
                    });
                }
                // The other may need this rank's polls for its last word.
                finished.fetch_add(1, SeqCst);
                rank.poll_until("the other to finish", deadline, |_| finished.load(SeqCst) == 2);
            });
        }
    });
    world.finish_checks();
}

/// A sender sleeps on a full lane and is woken each time that there is room.
pub fn c6_room_wakes_a_sleeper(bench: &mut Bench) {
    if !bench.fixture.can_sleep() {
        return bench.skip(CANNOT);
    }
    const PACKETS: usize = 3000;
    let deadline = bench.deadline;
    let mut world = bench.world(2);
    let max = world.rank(0).capabilities().max_packet;
    let [sender, receiver] = &mut world.ranks[..] else { unreachable!("two ranks") };
    let ledger = &world.ledger;
    thread::scope(|scope| {
        scope.spawn(move || {
            for i in 0..PACKETS {
                send(sender, Peer(1), Lane::ALL[i / 100 % 2], max, deadline);
            }
            sender.poll_until("everything to leave", deadline, |_| ledger.on_their_way(|_| true) == 0);
        });
        let mut round = 0;
        receiver.sleep_until("all packets", deadline, |r| {
            round += 1;
            pause(round);
            Lane::ALL.map(|lane| r.recorder.packets_from(Peer(0), lane)).iter().sum::<usize>() == PACKETS
        });
    });
    world.finish_checks();
}

/// The first packet of a peer never met wakes, connection and all.
pub fn c6_first_contact_wakes_a_sleeper(bench: &mut Bench) {
    if !bench.fixture.can_sleep() {
        return bench.skip(CANNOT);
    }
    let deadline = bench.deadline;
    for _ in 0..10 {
        let mut world = bench.world(2);
        world.bench.note(THREADS.to_owned());
        let [sender, sleeper] = &mut world.ranks[..] else { unreachable!("two ranks") };
        let (asleep, when_asleep) = mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(move || {
                while sleeper.arm() == Armed::Busy {
                    let _ = sleeper.poll(PLENTY);
                    assert!(Instant::now() < deadline, "C6: an idle rank never gets to sleep");
                }
                asleep.send(()).expect("the sender waits for it");
                assert!(sleeper.sleep(WOKEN_WITHIN), "C6: a first packet wakes no sleeper");
                sleeper.sleep_until("the packet", deadline, |r| {
                    r.recorder.packets_from(Peer(0), Lane::Request) == 1
                });
                send(sleeper, Peer(0), Lane::Response, 1, deadline);
                sleeper.sleep_until("the packet after it", deadline, |r| {
                    r.recorder.packets_from(Peer(0), Lane::Request) == 2
                });
            });
            when_asleep.recv().expect("the sleeper sends it");
            send(sender, Peer(1), Lane::Request, 10, deadline);
            sender.sleep_until("the answer", deadline, |r| {
                r.recorder.packets_from(Peer(1), Lane::Response) == 1
            });
            send(sender, Peer(1), Lane::Request, 10, deadline);
            // Until then the packet may need polls to leave.
            sender.poll_until("the last packet to arrive", deadline, |_| {
                world.ledger.on_their_way(|_| true) == 0
            });
        });
    }
}

/// A death wakes a sleeper, although no packet comes.
pub fn c6_death_wakes_a_sleeper(bench: &mut Bench) {
    if !bench.fixture.can_sleep() {
        return bench.skip(CANNOT);
    }
    if !bench.fixture.can_kill() {
        return bench.skip("these peers cannot be killed");
    }
    let deadline = bench.deadline;
    for _ in 0..5 {
        let mut world = bench.world(2);
        world.introduce(0, 1);
        let victim = world.rank(1).take_channel().expect("it lives");
        let fixture = &mut world.bench.fixture;
        let sleeper = &mut world.ranks[0];
        let (asleep, when_asleep) = mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(move || {
                while sleeper.arm() == Armed::Busy {
                    let _ = sleeper.poll(PLENTY);
                    assert!(Instant::now() < deadline, "C6: an idle rank never gets to sleep");
                }
                asleep.send(()).expect("the killer waits for it");
                assert!(sleeper.sleep(WOKEN_WITHIN), "C6: a death wakes no sleeper");
                sleeper.sleep_until("the report", deadline, |r| r.recorder.failed.contains_key(&Peer(1)));
            });
            when_asleep.recv().expect("the sleeper sends it");
            fixture.kill(Peer(1), victim);
        });
    }
}

/// Ranks that know each other and have nothing to do sleep, and are not woken all the time.
pub fn c6_an_idle_rank_stays_asleep(bench: &mut Bench) {
    if !bench.fixture.can_sleep() {
        return bench.skip(CANNOT);
    }
    let mut world = bench.world(2);
    world.introduce(0, 1);
    let end = Instant::now() + Duration::from_millis(200);
    let mut rounds = 0;
    while Instant::now() < end {
        let rank = world.rank(0);
        let _ = rank.poll(PLENTY);
        if rank.arm() == Armed::Sleep {
            rank.sleep(end.saturating_duration_since(Instant::now()));
        }
        rounds += 1;
    }
    assert!(rounds <= 50, "C6: an idle rank woke {rounds} times in 0.2 s");
}

/// Arming never answers "sleep" while something that has arrived waits to be polled.
pub fn c6_arm_says_busy_while_packets_wait(bench: &mut Bench) {
    if !bench.fixture.can_sleep() {
        return bench.skip(CANNOT);
    }
    let mut world = bench.world(2);
    world.introduce(0, 1);
    for i in 0..200 {
        world.until("room", |w| w.rank(0).try_small(Peer(1), Lane::ALL[i % 2], 10));
        // The sender alone, until the packet has left it.
        world.settle(0);
        let rank = world.rank(1);
        if rank.arm() == Armed::Sleep {
            assert!(rank.sleep(WOKEN_WITHIN), "C6: armed after an arrival, and never woken");
        }
        world.until_all_arrived();
    }
}
