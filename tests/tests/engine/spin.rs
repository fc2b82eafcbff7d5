//! How a wait begins: looks at the channel's memory, with neither clock nor poll until there is something.

use rma_core::Engine;
use rma_core::channel::{
    Armed, Budget, BulkToken, Capabilities, Channel, Closing, Delivery, Failure, Lane, MIN_PACKET, Placement,
    Polled, Room, Sink, Source, Usage,
};
use rma_core::config::EngineConfig;
use rma_core::datatype::Gather;
use rma_core::error::{Error, ErrorClass, Result};
use rma_core::host::{Combine, Group, Host, HostRequest, Locality, Outcome, SegmentRequest};
use rma_core::ids::Peer;
use rma_core::poller::Registrar;
use rma_core::progress::Upper;
use rma_core::wire::{Protocol, header};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// What happens at a channel, at the host and above the engine.
#[derive(Default)]
struct Desk {
    /// Looks until the packet lies there; 0 is none at all.
    packet_at: AtomicU32,
    /// Looks from a packet to the next; 0 is no other.
    next_in: AtomicU32,
    looks: AtomicU32,
    /// Polls for packets until one finds the packet; 0 is none at all.
    polls_left: AtomicU32,
    polls: AtomicU32,
    /// The channel cannot tell whether it is quiet.
    is_blind: AtomicBool,
    /// The processor is this thread's all the time, also in turns that it gives away.
    has_all_turns: AtomicBool,
    /// Readings of the clock.
    clock: AtomicU32,
    /// Microseconds from one reading to the next; with 0 no wait is over because of the clock.
    tick_us: AtomicU32,
    packets: AtomicU32,
    /// Polls that take no packet, which send what lies in the channel; and how many of them there were before the first turn.
    flushes: AtomicU32,
    flushes_before_turn: AtomicU32,
    /// Something is to be sent.
    is_due: AtomicBool,
    /// There is room in the lane, which the next poll tells; and it has told so.
    has_room: AtomicBool,
    is_writable: AtomicBool,
    sent: AtomicU32,
    /// Something lies in the channel, which the next poll writes.
    has_unwritten: AtomicBool,
}

impl Desk {
    fn has_packet(&self) -> bool {
        let at = self.packet_at.load(SeqCst);
        at > 0 && self.looks.load(SeqCst) >= at
    }

    fn is_found_by_this_poll(&self) -> bool {
        let left = self.polls_left.load(SeqCst);
        self.polls_left.store(left.saturating_sub(1), SeqCst);
        left == 1
    }
}

struct Quiet(Arc<Desk>);

// SAFETY: it takes no bulk bodies and places none.
unsafe impl Channel for Quiet {
    fn capabilities(&self) -> Capabilities {
        Capabilities { name: "quiet", max_packet: MIN_PACKET, bulk_from: MIN_PACKET }
    }

    fn register(&mut self, _: &Registrar) -> std::io::Result<()> {
        Ok(())
    }

    fn connect(&mut self, _: Peer) -> std::result::Result<(), Failure> {
        Ok(())
    }

    fn reserve(&mut self, _: Peer, _: Lane, _: usize) -> std::result::Result<Room, Failure> {
        Ok(Room::Full)
    }

    fn fill(&mut self, _: Source<'_>) {}

    fn commit(&mut self) {}

    fn send_bulk(
        &mut self,
        _: Peer,
        _: Lane,
        _: &[u8],
        _: Gather,
        _: BulkToken,
    ) -> std::result::Result<Room, Failure> {
        Ok(Room::Full)
    }

    fn poll(&mut self, sink: &mut dyn Sink, budget: Budget) -> Polled {
        self.0.polls.fetch_add(1, SeqCst);
        let mut polled = Polled::default();
        self.0.flushes.fetch_add(u32::from(budget.packets == 0), SeqCst);
        let is_found = budget.packets > 0 && self.0.is_found_by_this_poll();
        if is_found || budget.packets > 0 && self.0.has_packet() {
            let next_in = self.0.next_in.load(SeqCst);
            let next_at = if next_in > 0 { self.0.looks.load(SeqCst) + next_in } else { 0 };
            self.0.packet_at.store(next_at, SeqCst);
            assert_eq!(sink.packet(Peer(1), Lane::Request, &header(Protocol::Message)), Delivery::Accepted);
            (polled.packets, polled.moved) = (1, true);
        }
        polled.moved |= self.0.has_unwritten.swap(false, SeqCst);
        if self.0.has_room.swap(false, SeqCst) {
            self.0.is_writable.store(true, SeqCst);
            sink.writable(Peer(1), Lane::Request);
            polled.moved = true;
        }
        polled
    }

    fn is_quiet(&self) -> bool {
        self.0.looks.fetch_add(1, SeqCst);
        !self.0.is_blind.load(SeqCst) && !self.0.has_packet() && !self.0.has_room.load(SeqCst)
    }

    fn arm(&mut self) -> Armed {
        Armed::Busy
    }

    fn close(&mut self) -> Closing {
        Closing::Closed
    }

    fn usage(&self) -> Usage {
        Usage::default()
    }
}

impl Host for Quiet {
    fn begin_barrier(&self, _: &Group) -> Result<HostRequest> {
        Err(alone())
    }

    fn begin_reduce(&self, _: &Group, _: Combine, _: &[u64]) -> Result<HostRequest> {
        Err(alone())
    }

    fn poll(&self, _: HostRequest) -> Result<Option<Outcome>> {
        Err(alone())
    }

    fn begin_segment(&self, _: &Group, _: SegmentRequest) -> Result<HostRequest> {
        Err(alone())
    }

    fn locality(&self, _: Peer) -> Locality {
        Locality::Remote
    }

    fn now(&self) -> Duration {
        let readings = self.0.clock.fetch_add(1, SeqCst);
        if readings == 0 {
            // A turn is measured.
            self.0.flushes_before_turn.store(self.0.flushes.load(SeqCst), SeqCst);
        }
        Duration::from_micros(u64::from(readings * self.0.tick_us.load(SeqCst)))
    }

    fn processor_time(&self) -> Option<Duration> {
        let time = u64::from(self.0.clock.load(SeqCst) * self.0.tick_us.load(SeqCst));
        self.0.has_all_turns.load(SeqCst).then_some(Duration::from_micros(time))
    }
}

fn alone() -> Error {
    Error::new(ErrorClass::Other, "host", "there is no other rank")
}

impl Upper for Quiet {
    fn packet(&mut self, _: Peer, _: Lane, _: &[u8]) -> Delivery {
        self.0.packets.fetch_add(1, SeqCst);
        Delivery::Accepted
    }

    fn bulk(&mut self, _: Peer, _: Lane, _: &[u8], _: u64) -> Placement {
        Placement::Refused("none is sent")
    }

    fn bulk_received(&mut self, _: Peer, _: Lane) {}

    fn bulk_sent(&mut self, _: BulkToken) {}

    fn failed(&mut self, _: Peer, _: &Failure) {}

    fn advance(&mut self, _: &mut dyn Channel) -> bool {
        let was_due = self.0.is_due.swap(false, SeqCst) | self.0.is_writable.swap(false, SeqCst);
        self.0.sent.fetch_add(u32::from(was_due), SeqCst);
        was_due
    }

    fn is_due(&self) -> bool {
        self.0.is_due.load(SeqCst)
    }
}

fn engine() -> (Engine, Arc<Desk>) {
    engine_that_spins(30)
}

fn engine_that_spins(spin_us: u64) -> (Engine, Arc<Desk>) {
    let desk = Arc::<Desk>::default();
    let quiet = || Quiet(Arc::clone(&desk));
    let config = EngineConfig { spin_us, ..EngineConfig::default() };
    let engine = Engine::new(config, Box::new(quiet()), Arc::new(quiet()), Box::new(quiet())).unwrap();
    (engine, desk)
}

/// Waits for a packet more than there were.
fn wait(engine: &Engine, desk: &Desk) {
    let before = desk.packets.load(SeqCst);
    let start = Instant::now();
    let mut ready = || {
        assert!(start.elapsed() < Duration::from_secs(20), "the wait does not end");
        Ok((desk.packets.load(SeqCst) > before).then_some(()))
    };
    engine.wait_until("test", &|| "a packet".to_owned(), &mut ready).unwrap();
}

#[test]
fn a_packet_that_is_near_costs_one_poll_and_no_clock() {
    let (engine, desk) = engine();
    for near in [2, 3, 20, 60] {
        desk.looks.store(0, SeqCst);
        desk.packet_at.store(near, SeqCst);
        let (polls, steps) = (desk.polls.load(SeqCst), engine.counters().progress_steps);
        wait(&engine, &desk);
        assert_eq!(desk.polls.load(SeqCst) - polls, 1, "{near} looks");
        assert_eq!(engine.counters().progress_steps - steps, 1, "{near} looks");
        assert_eq!(desk.clock.load(SeqCst), 0, "{near} looks");
    }
}

#[test]
fn a_wait_for_memory_answers_a_packet_with_one_poll_and_tests_after_a_few_looks() {
    let (engine, desk) = engine();
    for near in [2, 20, 60] {
        desk.looks.store(0, SeqCst);
        desk.packet_at.store(near, SeqCst);
        let (polls, packets) = (desk.polls.load(SeqCst), desk.packets.load(SeqCst));
        let (mut tests, mut behind) = (0, 0);
        let mut ready = |may_sleep: bool| {
            assert!(!may_sleep && tests < 1000, "{near} looks, {tests} tests");
            tests += 1;
            behind += u32::from(desk.packets.load(SeqCst) > packets);
            Ok((behind > 3).then_some(()))
        };
        engine.wait_in_memory("test", &|| "a word in memory".to_owned(), &mut ready).unwrap();
        assert_eq!(desk.polls.load(SeqCst) - polls, 1, "{near} looks");
        assert_eq!(desk.clock.load(SeqCst), 0, "{near} looks");
        assert!(desk.looks.load(SeqCst) < 8 * tests, "{tests} tests in {:?} looks", desk.looks);
    }
}

#[test]
fn looks_end_after_a_few_microseconds() {
    for (tick_us, polls_once) in [(0, true), (4, false)] {
        let (engine, desk) = engine();
        desk.tick_us.store(tick_us, SeqCst);
        desk.packet_at.store(200, SeqCst);
        wait(&engine, &desk);
        assert_eq!(desk.polls.load(SeqCst) == 1, polls_once, "{tick_us} us between two readings");
    }
}

#[test]
fn a_packet_that_is_far_is_found_by_the_loop_of_all_waits() {
    let (engine, desk) = engine();
    desk.packet_at.store(100_000, SeqCst);
    wait(&engine, &desk);
    assert!(desk.clock.load(SeqCst) > 0);
}

#[test]
fn a_channel_that_cannot_tell_is_looked_at_once() {
    let (engine, desk) = engine();
    desk.is_blind.store(true, SeqCst);
    desk.packet_at.store(1, SeqCst);
    wait(&engine, &desk);
    assert!(desk.looks.load(SeqCst) <= 2, "{:?}", desk.looks);
    assert_eq!(
        desk.polls.load(SeqCst),
        2,
        "the poll that finds it, and one that sends what lies in the channel"
    );
}

#[test]
fn what_is_there_already_is_answered_with_one_poll() {
    let (engine, desk) = engine();
    engine.wait_until("test", &String::new, &mut || Ok(Some(()))).unwrap();
    assert_eq!((desk.polls.load(SeqCst), desk.clock.load(SeqCst)), (1, 0));
}

#[test]
fn what_is_due_is_sent_before_the_first_look() {
    let (engine, desk) = engine();
    desk.is_due.store(true, SeqCst);
    desk.packet_at.store(5, SeqCst);
    wait(&engine, &desk);
    assert_eq!((desk.sent.load(SeqCst), desk.polls.load(SeqCst), desk.clock.load(SeqCst)), (1, 1, 0));
}

#[test]
fn what_waits_for_room_leaves_in_the_step_that_learns_of_it_though_none_calls_it_due() {
    let (engine, desk) = engine();
    for step in 1..=3 {
        desk.has_room.store(true, SeqCst);
        engine.poll();
        assert_eq!(desk.sent.load(SeqCst), step);
    }
}

#[test]
fn of_many_calls_few_poll_where_only_what_they_put_into_the_channel_is_written() {
    let (engine, desk) = engine();
    let calls = |each: &dyn Fn()| {
        let steps = engine.counters().progress_steps;
        for _ in 0..320 {
            each();
            engine.poll_throttled();
        }
        engine.counters().progress_steps - steps
    };
    let steps = calls(&|| desk.has_unwritten.store(true, SeqCst));
    assert!((10..=16).contains(&steps), "one in 32, and a few before: {steps}");
    assert!(desk.flushes.load(SeqCst) >= 10, "they write");
    // A peer that sends is served by every call.
    desk.looks.store(1, SeqCst);
    assert!(calls(&|| desk.packet_at.store(1, SeqCst)) > 280);
}

#[test]
fn behind_a_wait_a_few_calls_go_by_before_one_polls() {
    let (engine, _desk) = engine();
    let steps = || engine.counters().progress_steps;
    // A poll is due with the next call.
    while engine.pass_poll() {}
    engine.wait_until("a test", &|| "nothing".to_owned(), &mut || Ok(Some(()))).unwrap();
    let before = steps();
    (0..7).for_each(|_| engine.poll_throttled());
    assert_eq!(steps(), before, "the wait has served the peers");
    engine.poll_throttled();
    assert!(steps() > before);
}

#[test]
fn a_moment_of_serving_takes_what_is_near_and_what_follows_soon_for_a_while() {
    // The first packet by that look, the next ones so many looks behind it; those that are taken, a poll for each.
    for (first, next, taken) in [(1, 0, 1), (4, 0, 1), (9, 0, 0), (2, 20, 8), (2, 40, 1)] {
        let (engine, desk) = engine();
        desk.packet_at.store(first, SeqCst);
        desk.next_in.store(next, SeqCst);
        engine.serve();
        let counts = [&desk.packets, &desk.polls, &desk.clock].map(|count| count.load(SeqCst));
        assert_eq!(counts, [taken, taken, 0], "look {first}, {next} behind it");
    }
}

#[test]
fn a_moment_of_serving_sends_what_is_due_and_polls_once_where_a_look_tells_nothing() {
    for (is_blind, spin_us) in [(true, 30), (false, 0)] {
        let (engine, desk) = engine_that_spins(spin_us);
        desk.is_blind.store(is_blind, SeqCst);
        desk.is_due.store(true, SeqCst);
        engine.serve();
        let counts = [&desk.sent, &desk.polls].map(|count| count.load(SeqCst));
        assert_eq!(counts, [1, 1], "blind: {is_blind}");
    }
}

#[test]
fn an_error_ends_the_looks() {
    let (engine, desk) = engine();
    desk.packet_at.store(5, SeqCst);
    let mut ready = || match desk.packets.load(SeqCst) {
        0 => Ok(None::<()>),
        _ => Err(alone()),
    };
    let error = engine.wait_until("test", &String::new, &mut ready).unwrap_err();
    assert_eq!(error.class(), ErrorClass::Other);
}

#[test]
fn what_another_thread_brings_ends_the_wait_without_a_packet() {
    for _ in 0..200 {
        let (engine, _) = engine();
        let is_there = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                is_there.store(true, SeqCst);
                engine.wake_waiters();
            });
            let start = Instant::now();
            let mut ready = || {
                assert!(start.elapsed() < Duration::from_secs(20), "the wait does not end");
                Ok(is_there.load(SeqCst).then_some(()))
            };
            engine.wait_until("test", &String::new, &mut ready).unwrap();
        });
    }
}

/// Waits for a packet that the channel has at that poll; answers the turns that the wait has given away.
fn turns_until_poll(engine: &Engine, desk: &Desk, poll: u32, tick_us: u32) -> u64 {
    desk.tick_us.store(tick_us, SeqCst);
    desk.polls_left.store(poll, SeqCst);
    let before = engine.counters().turns_given;
    wait(engine, desk);
    engine.counters().turns_given - before
}

#[test]
fn a_rank_that_gets_what_it_waits_for_by_turns_gives_them_at_once_until_they_are_of_no_use() {
    // Microseconds from one reading of the clock to the next, which is how long a turn takes: one that
    // another thread has taken, and one that none has.
    const TAKEN: u32 = 3;
    const OWN: u32 = 1;
    let (engine, desk) = engine();
    desk.is_blind.store(true, SeqCst);
    assert_eq!(turns_until_poll(&engine, &desk, 2, TAKEN), 0, "a wait begins by spinning");
    for _ in 0..2 {
        // The third look in vain is six microseconds after the first, and the packet is there behind the turn.
        assert_eq!(turns_until_poll(&engine, &desk, 4, TAKEN), 1);
    }
    assert_eq!(turns_until_poll(&engine, &desk, 1, TAKEN), 1, "a wait that knows better does not spin");
    for _ in 0..2 {
        assert_eq!(turns_until_poll(&engine, &desk, 1, OWN), 1);
    }
    assert_eq!(
        turns_until_poll(&engine, &desk, 2, TAKEN),
        0,
        "it spins again where no other takes its turns"
    );
}

/// The scheduler looks for a free core when it wakes a rank, and not while two on one core give each other turns.
#[test]
fn of_waits_that_give_turns_at_once_a_few_sleep_where_ranks_do_not_outnumber_cores() {
    const TAKEN: u32 = 3;
    for (spin_us, expected) in [(30, vec![8, 24, 56, 120]), (0, vec![])] {
        let (engine, desk) = engine_that_spins(spin_us);
        desk.is_blind.store(true, SeqCst);
        (0..2).for_each(|_| _ = turns_until_poll(&engine, &desk, 4, TAKEN));
        let sleeps = |wait: &u32| {
            let before = engine.counters().sleeps;
            let turns = turns_until_poll(&engine, &desk, 3, TAKEN);
            let sleeps = engine.counters().sleeps - before;
            assert!(
                (sleeps, turns) == (1, 0) || (sleeps == 0 && turns > 0),
                "wait {wait}: {sleeps}, {turns}"
            );
            sleeps == 1
        };
        assert_eq!((1..=150).filter(sleeps).collect::<Vec<u32>>(), expected, "{spin_us} us");
    }
}

#[test]
fn where_ranks_outnumber_cores_what_is_due_leaves_before_the_first_turn_and_the_turn_comes_before_the_first_poll()
 {
    let (engine, desk) = engine_that_spins(0);
    desk.is_blind.store(true, SeqCst);
    for is_due in [true, false] {
        let (sent, flushes) = (desk.sent.load(SeqCst), desk.flushes.load(SeqCst));
        desk.clock.store(0, SeqCst);
        desk.is_due.store(is_due, SeqCst);
        assert_eq!(turns_until_poll(&engine, &desk, 1, 3), 1);
        assert_eq!(desk.sent.load(SeqCst) - sent, u32::from(is_due));
        assert_eq!(desk.flushes_before_turn.load(SeqCst) - flushes, 1, "it lay in the channel meanwhile");
    }
}

#[test]
fn a_rank_that_has_its_turns_itself_goes_on_spinning_however_long_they_take() {
    const LONG_CALL: u32 = 3;
    let (engine, desk) = engine();
    desk.is_blind.store(true, SeqCst);
    desk.has_all_turns.store(true, SeqCst);
    for _ in 0..50 {
        assert_eq!(turns_until_poll(&engine, &desk, 4, LONG_CALL), 1, "a turn behind six microseconds");
        assert_eq!(turns_until_poll(&engine, &desk, 2, LONG_CALL), 0, "it still begins by spinning");
    }
}

#[test]
fn a_wait_behind_a_short_sleep_spins_for_twice_as_long_and_behind_a_long_one_as_ever() {
    // Microseconds from one reading of the clock to the next, which is how long a sleep takes here.
    for (sleep_us, sleeps_again) in [(100, false), (900, false), (1100, true)] {
        let desk = Arc::<Desk>::default();
        let quiet = || Quiet(Arc::clone(&desk));
        let config = EngineConfig { yields: 0, ..EngineConfig::default() };
        let engine = Engine::new(config, Box::new(quiet()), Arc::new(quiet()), Box::new(quiet())).unwrap();
        desk.is_blind.store(true, SeqCst);
        let sleeps_until_poll = |poll| {
            let before = engine.counters().sleeps;
            turns_until_poll(&engine, &desk, poll, sleep_us);
            engine.counters().sleeps - before
        };
        assert_eq!(sleeps_until_poll(4), 1, "two polls are further apart than waits spin");
        assert_eq!(sleeps_until_poll(4), u64::from(sleeps_again), "a sleep of {sleep_us} us");
    }
}
