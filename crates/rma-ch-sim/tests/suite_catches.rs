//! The conformance suite fails channels that break a clause: a wrapper breaks one at a time.

use rma_ch_sim::{SimConfig, SimNet};
use rma_core::channel::conformance::{Fixture, Test, run, tests};
use rma_core::channel::{
    Armed, Budget, BulkToken, Capabilities, Channel, Closing, Delivery, Failure, Lane, Placement, Polled,
    RemoteMemory, Room, Sink, Source, TransferError, TransferLimits, TransferToken, Usage,
};
use rma_core::datatype::Gather;
use rma_core::ids::Peer;
use rma_core::poller::Registrar;
use std::panic::catch_unwind;
use std::time::Duration;
use std::{io, thread};

/// What is noticed by the time limit alone.
const FOUND_BY_TIME: [Flaw; 5] =
    [Flaw::NeverNotices, Flaw::NeverFails, Flaw::NeverAnswers, Flaw::Blocks, Flaw::SleepsBlindly];

/// What is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flaw {
    WrongByte,
    LosesPacket,
    SendsTwice,
    CommitsOnPoll,
    NoticesTwice,
    NeverNotices,
    SaysSentTooEarly,
    SaysSentTwice,
    IgnoresBudget,
    SleepsBlindly,
    NeverSleeps,
    FailsTwice,
    NeverFails,
    LeavesWithoutGoodbye,
    UsesTooMuch,
    CountsEverybody,
    OneLane,
    Blocks,
    AnswersTwice,
    NeverAnswers,
}

struct Flawed {
    inner: Box<dyn Channel>,
    flaw: Flaw,
    has_reservation: Option<(usize, usize)>,
    early: Vec<BulkToken>,
    packets: u32,
}

struct FlawedSink<'a> {
    sink: &'a mut dyn Sink,
    flaw: Flaw,
    packets: &'a mut u32,
}

// SAFETY: not kept on purpose in one case (`SaysSentTooEarly`), in which the suite keeps the memory until the channels are
// dropped, so that the flaw shows as wrong bytes.
unsafe impl Channel for Flawed {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn register(&mut self, registrar: &Registrar) -> io::Result<()> {
        self.inner.register(registrar)
    }

    fn connect(&mut self, peer: Peer) -> Result<(), Failure> {
        self.inner.connect(peer)
    }

    fn reserve(&mut self, peer: Peer, lane: Lane, len: usize) -> Result<Room, Failure> {
        if self.flaw == Flaw::OneLane
            && lane == Lane::Response
            && self.inner.reserve(peer, Lane::Request, len)? == Room::Full
        {
            return Ok(Room::Full);
        }
        let room = self.inner.reserve(peer, lane, len)?;
        self.has_reservation = (room == Room::Granted).then_some((0, len));
        Ok(room)
    }

    fn fill(&mut self, source: Source<'_>) {
        if let Some((filled, _)) = &mut self.has_reservation {
            *filled += source.len();
        }
        self.inner.fill(source);
    }

    fn commit(&mut self) {
        self.has_reservation = None;
        self.inner.commit();
    }

    fn send_bulk(
        &mut self,
        peer: Peer,
        lane: Lane,
        head: &[u8],
        body: Gather,
        token: BulkToken,
    ) -> Result<Room, Failure> {
        let room = self.inner.send_bulk(peer, lane, head, body, token)?;
        if room == Room::Granted && self.flaw == Flaw::SaysSentTooEarly {
            self.early.push(token);
        }
        Ok(room)
    }

    fn poll(&mut self, sink: &mut dyn Sink, budget: Budget) -> Polled {
        if self.flaw == Flaw::CommitsOnPoll
            && self.has_reservation.take().is_some_and(|(has, len)| has == len)
        {
            self.inner.commit();
        }
        if self.flaw == Flaw::Blocks {
            thread::sleep(Duration::from_secs(3600));
        }
        self.early.drain(..).for_each(|token| sink.bulk_sent(token));
        let budget = if self.flaw == Flaw::IgnoresBudget {
            Budget { packets: u32::MAX, bytes: usize::MAX }
        } else {
            budget
        };
        self.inner.poll(&mut FlawedSink { sink, flaw: self.flaw, packets: &mut self.packets }, budget)
    }

    fn arm(&mut self) -> Armed {
        match self.flaw {
            Flaw::SleepsBlindly => Armed::Sleep,
            Flaw::NeverSleeps => Armed::Busy,
            _ => self.inner.arm(),
        }
    }

    fn close(&mut self) -> Closing {
        if self.flaw == Flaw::LeavesWithoutGoodbye { Closing::Closed } else { self.inner.close() }
    }

    fn transfers(&self, peer: Peer) -> Option<TransferLimits> {
        self.inner.transfers(peer)
    }

    fn remote_memory(&mut self) -> Option<&mut dyn RemoteMemory> {
        self.inner.remote_memory()
    }

    fn usage(&self) -> Usage {
        let usage = self.inner.usage();
        match self.flaw {
            Flaw::UsesTooMuch if usage.peers > 0 => Usage { bytes: usage.limit_bytes + 1, ..usage },
            Flaw::CountsEverybody => Usage { peers: usage.peers + 1, ..usage },
            _ => usage,
        }
    }
}

impl Sink for FlawedSink<'_> {
    fn packet(&mut self, from: Peer, lane: Lane, bytes: &[u8]) -> Delivery {
        *self.packets += 1;
        match self.flaw {
            Flaw::WrongByte if *self.packets == 50 => {
                let mut bytes = bytes.to_vec();
                bytes[0] ^= 1;
                self.sink.packet(from, lane, &bytes)
            }
            Flaw::LosesPacket if *self.packets == 50 => Delivery::Accepted,
            Flaw::SendsTwice if *self.packets == 50 => {
                let _ = self.sink.packet(from, lane, bytes);
                self.sink.packet(from, lane, bytes)
            }
            _ => self.sink.packet(from, lane, bytes),
        }
    }

    fn bulk(&mut self, from: Peer, lane: Lane, head: &[u8], body_len: u64) -> Placement {
        self.sink.bulk(from, lane, head, body_len)
    }

    fn bulk_received(&mut self, from: Peer, lane: Lane) {
        self.sink.bulk_received(from, lane);
    }

    fn bulk_sent(&mut self, token: BulkToken) {
        match self.flaw {
            Flaw::SaysSentTooEarly => {}
            Flaw::SaysSentTwice => {
                self.sink.bulk_sent(token);
                self.sink.bulk_sent(token);
            }
            _ => self.sink.bulk_sent(token),
        }
    }

    fn transferred(&mut self, token: TransferToken, outcome: Result<(), TransferError>) {
        if self.flaw != Flaw::NeverAnswers {
            self.sink.transferred(token, outcome);
        }
        if self.flaw == Flaw::AnswersTwice {
            self.sink.transferred(token, outcome);
        }
    }

    fn writable(&mut self, peer: Peer, lane: Lane) {
        if self.flaw == Flaw::NeverNotices {
            return;
        }
        self.sink.writable(peer, lane);
        if self.flaw == Flaw::NoticesTwice {
            self.sink.writable(peer, lane);
        }
    }

    fn failed(&mut self, peer: Peer, failure: Failure) {
        if self.flaw == Flaw::NeverFails {
            return;
        }
        self.sink.failed(peer, failure.clone());
        if self.flaw == Flaw::FailsTwice {
            self.sink.failed(peer, failure);
        }
    }
}

struct FlawedFixture(Flaw);

impl Fixture for FlawedFixture {
    fn channels(&mut self, count: u32) -> Vec<Box<dyn Channel>> {
        let config = SimConfig { lane_packets: 4, transfers: 4, ..SimConfig::default() };
        let net = SimNet::real_time(count, config);
        let flawed = |me| Flawed {
            inner: Box::new(net.channel(Peer(me))),
            flaw: self.0,
            has_reservation: None,
            early: Vec::new(),
            packets: 0,
        };
        (0..count).map(|me| Box::new(flawed(me)) as Box<dyn Channel>).collect()
    }

    fn largest_body(&self) -> usize {
        10_000
    }

    fn time_limit(&self) -> Duration {
        // All else is noticed long before, also on a busy machine.
        Duration::from_secs(if FOUND_BY_TIME.contains(&self.0) { 3 } else { 30 })
    }
}

/// The test fails, with these words in its report.
fn catches(flaw: Flaw, test: Test, words: &str) {
    let result = catch_unwind(|| run("flawed", move || Box::new(FlawedFixture(flaw)), test));
    let Err(panic) = result else { panic!("{flaw:?} went unnoticed") };
    let text = match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => (*panic.downcast::<&str>().expect("panics carry text")).to_owned(),
    };
    assert!(text.contains(words), "{flaw:?} was noticed, but {words:?} is not in: {text}");
}

#[test]
fn wrong_lost_and_repeated_packets() {
    catches(Flaw::WrongByte, tests::c1_small_packets_keep_their_order, "C1: rank 1, from rank 0");
    catches(Flaw::LosesPacket, tests::c1_small_packets_keep_their_order, "C1: rank 1");
    catches(Flaw::SendsTwice, tests::c1_small_packets_keep_their_order, "C1: rank 1");
    catches(Flaw::CommitsOnPoll, tests::c2_dropped_reservations_send_nothing, "C1: rank 1");
}

#[test]
fn notices_of_room_that_are_missing_or_too_many() {
    catches(Flaw::NoticesTwice, tests::c3_full_then_one_writable, "C3: rank 0");
    catches(Flaw::NeverNotices, tests::c3_full_then_one_writable, "still waiting for the notice");
    catches(Flaw::OneLane, tests::lanes_a_full_request_lane_leaves_responses_free, "full request lane");
}

#[test]
fn bodies_given_back_too_early_or_twice() {
    catches(Flaw::SaysSentTooEarly, tests::c4_bodies_end_with_exactly_one_bulk_sent, "of the body is 0xee");
    catches(Flaw::SaysSentTwice, tests::c4_bodies_end_with_exactly_one_bulk_sent, "twice or unasked");
}

#[test]
fn polls_that_ignore_their_budget_or_block() {
    catches(Flaw::IgnoresBudget, tests::c5_polls_keep_their_budget, "C5: rank 0");
    catches(Flaw::UsesTooMuch, tests::c5_polls_keep_their_budget, "C8: rank");
    catches(
        Flaw::CountsEverybody,
        tests::c8_usage_is_bounded_and_follows_contact,
        "C8: peers before contact",
    );
}

#[test]
fn polls_that_never_return() {
    catches(Flaw::Blocks, tests::c1_small_packets_keep_their_order, "does not return (C5)");
}

#[test]
fn sleepers_that_are_not_woken_or_never_sleep() {
    catches(Flaw::SleepsBlindly, tests::c6_first_contact_wakes_a_sleeper, "still waits for the answer");
    catches(Flaw::NeverSleeps, tests::c6_an_idle_rank_stays_asleep, "C6: an idle rank woke");
}

#[test]
fn failures_that_are_missing_or_too_many() {
    catches(Flaw::FailsTwice, tests::c7_death_is_reported_once_and_last, "failed twice");
    catches(Flaw::NeverFails, tests::c7_death_is_reported_once_and_last, "still waiting for the report");
    catches(
        Flaw::LeavesWithoutGoodbye,
        tests::c7_goodbye_is_not_a_failure,
        "a goodbye was taken for a failure",
    );
}

#[test]
fn answers_of_transfers_that_are_missing_or_too_many() {
    catches(Flaw::AnswersTwice, tests::r2_every_transfer_is_answered_once, "answered twice, or unasked");
    catches(
        Flaw::NeverAnswers,
        tests::r1_transfers_land_where_they_are_named,
        "the answers of all transfers",
    );
}
