//! Messages over a network of tiny queues and a drawn schedule.

use super::packet::{Label, Packet};
use super::request::RequestId;
use super::*;
use crate::testing::{Dice, Net};
use rma_core::ErrorClass;
use rma_core::channel::{Delivery, Lane, MIN_PACKET, Placement};
use rma_core::datatype::{Gather, Scatter};
use rma_core::host::Group;
use rma_core::ids::{Peer, Rank};
use rma_core::mem::{ReadSpan, WriteSpan};
use rma_core::progress::Upper;

const SCOPE: Scope = Scope { context: 1, plane: Plane::User };
const NO_LIMIT: u64 = u64::MAX;

fn config(eager_bytes: u64, window_bytes: u64) -> MessageConfig {
    MessageConfig { eager_bytes, window_bytes }
}

/// Every way in which a message can travel: nothing at once, everything, only some.
pub(super) fn configs() -> [MessageConfig; 5] {
    [config(0, 1), config(4096, 65536), config(16, 300), config(1 << 20, 65), config(64, 200)]
}

pub(super) fn bytes(seed: u64, len: usize) -> Vec<u8> {
    let mut dice = Dice::new(seed);
    (0..len).map(|_| dice.below(256) as u8).collect()
}

#[test]
fn every_message_arrives_whole_and_in_order() {
    const ROUNDS: usize = 25;
    for (i, config) in configs().iter().enumerate() {
        for size in [1, 2, 5] {
            let mut net = Net::new(size, config, 1 + i % 2, MIN_PACKET, 100 * i as u64 + u64::from(size));
            let mut dice = Dice::new(i as u64);
            let lens = [0, 1, 15, 16, 17, 100, 168, 169, 1000, 5000];
            let (mut sends, mut receives) = (Vec::new(), Vec::new());
            for round in 0..ROUNDS {
                for from in 0..size {
                    for to in 0..size {
                        let seed = (round as u64) << 32 | u64::from(from) << 16 | u64::from(to);
                        let message = bytes(seed, lens[dice.below(lens.len())]);
                        let tag = round as u64 % 2;
                        let send = |net: &Net| {
                            let sender = &net.messengers[from as usize];
                            sender.begin_send(Peer(to), SCOPE, tag, message.clone()).unwrap()
                        };
                        let receive = |net: &Net| {
                            let receiver = &net.messengers[to as usize];
                            receiver.begin_receive(SCOPE, Some(Peer(from)), Some(tag), NO_LIMIT).unwrap()
                        };
                        // In both orders, and with the network moving in between or not.
                        let (s, r) = match dice.below(2) {
                            0 => (send(&net), receive(&net)),
                            _ => {
                                let r = receive(&net);
                                (send(&net), r)
                            }
                        };
                        sends.push(s);
                        receives.push((r, from, tag, message));
                        for _ in 0..dice.below(6) {
                            net.step();
                        }
                    }
                }
            }
            while !(sends.is_empty() && receives.is_empty()) {
                sends.retain_mut(|send| match send.test() {
                    None => true,
                    Some(end) => {
                        end.unwrap();
                        false
                    }
                });
                receives.retain_mut(|(receive, from, tag, message)| match receive.test() {
                    None => true,
                    Some(end) => {
                        let received = end.unwrap();
                        assert_eq!((received.source, received.tag), (Peer(*from), *tag));
                        assert_eq!(received.len, message.len() as u64);
                        assert_eq!(received.data.as_ref(), Some(&*message));
                        false
                    }
                });
                let left = sends.len() + receives.len();
                assert!(left == 0 || net.step(), "{left} left, {:?}", net.messengers);
            }
            net.run_until(|net| net.messengers.iter().all(Messenger::has_sent_all));
            for messenger in &net.messengers {
                let text = format!("{messenger:?}");
                assert!(text.contains("requests: 0, kept: 0, posted: 0"), "{text}");
            }
        }
    }
}

pub(super) fn finish<T>(net: &mut Net, mut test: impl FnMut() -> Option<T>) -> T {
    for _ in 0..100_000 {
        if let Some(end) = test() {
            return end;
        }
        net.step();
    }
    panic!("it does not end");
}

#[test]
fn any_source_and_any_tag_take_what_comes_first() {
    let mut net = Net::new(3, &config(16, 4096), 4, MIN_PACKET, 1);
    let _a = net.messengers[1].begin_send(Peer(0), SCOPE, 7, bytes(1, 10)).unwrap();
    net.run_until(|net| net.messengers[0].probe(SCOPE, None, None).is_some());
    let _b = net.messengers[2].begin_send(Peer(0), SCOPE, 8, bytes(2, 1000)).unwrap();
    net.run_until(|net| net.messengers[0].probe(SCOPE, Some(Peer(2)), None).is_some());
    let waiting = net.messengers[0].probe(SCOPE, None, Some(8)).unwrap();
    assert_eq!(waiting, Waiting { source: Peer(2), tag: 8, len: 1000 });
    let elsewhere = Scope { plane: Plane::Collective, ..SCOPE };
    assert_eq!(net.messengers[0].probe(elsewhere, None, None), None);
    for (source, seed, len) in [(1, 1, 10), (2, 2, 1000)] {
        let mut receive = net.messengers[0].begin_receive(SCOPE, None, None, NO_LIMIT).unwrap();
        let received = finish(&mut net, || receive.test()).unwrap();
        assert_eq!((received.source, received.data), (Peer(source), Some(bytes(seed, len))));
    }
}

#[test]
fn raw_memory_is_read_and_written_in_place() {
    for (config, peer) in configs().iter().flat_map(|config| [(config, 0), (config, 1)]) {
        let mut net = Net::new(2, config, 1, MIN_PACKET, 3);
        for len in [0, 1, 100, 3000] {
            let message = bytes(len as u64, len);
            let mut memory = vec![0xee_u8; len + 8];
            // SAFETY: both vectors outlive the requests, and are not used before those have ended.
            let (source, sink) = unsafe {
                (ReadSpan::new(message.as_ptr(), len), WriteSpan::new(memory.as_mut_ptr(), len + 8))
            };
            // SAFETY: as above.
            let (mut send, mut receive) = unsafe {
                let to = &net.messengers[peer];
                let receive = to.begin_receive_into(SCOPE, None, Some(9), Scatter::span(sink)).unwrap();
                let (to, source) = (Peer(peer as u32), Gather::span(source));
                let send = net.messengers[0].begin_send_from(to, SCOPE, 9, source, SendMode::Standard);
                (send.unwrap(), receive)
            };
            finish(&mut net, || send.test()).unwrap();
            let received = finish(&mut net, || receive.test()).unwrap();
            assert_eq!((received.len, received.data), (len as u64, None));
            assert_eq!(memory[..len], message);
            assert_eq!(memory[len..], [0xee; 8]);
        }
    }
}

#[test]
fn a_message_too_long_for_its_buffer_is_an_error_that_names_both() {
    for config in configs() {
        for peer in [0, 1] {
            let mut net = Net::new(2, &config, 1, MIN_PACKET, 4);
            let mut send = net.messengers[0].begin_send(Peer(peer), SCOPE, 0, bytes(0, 100)).unwrap();
            let mut receive = net.messengers[peer as usize].begin_receive(SCOPE, None, None, 99).unwrap();
            let error = finish(&mut net, || receive.test()).unwrap_err();
            assert_eq!(error.class(), ErrorClass::Truncate);
            assert!(error.to_string().contains("100 bytes") && error.to_string().contains("99"), "{error}");
            let refused = receive.refused().map(|message| (message.source, message.tag, message.len));
            assert_eq!(refused, Some((Peer(0), 0, 100)));
            finish(&mut net, || send.test()).unwrap();
        }
    }
}

#[test]
fn unasked_messages_take_bounded_memory() {
    let window = 1000;
    let mut net = Net::new(2, &config(512, window), 4, 1024, 5);
    let sends: Vec<_> =
        (0..100).map(|i| net.messengers[0].begin_send(Peer(1), SCOPE, i, bytes(i, 100)).unwrap()).collect();
    while net.step() {}
    let text = format!("{:?}", net.messengers[1]);
    assert!(text.contains("kept: 100"), "{text}"); // six whole ones, the rest only announced
    let mut sends = sends;
    let at_once = sends.iter_mut().filter_map(SendRequest::test).count();
    assert_eq!(at_once, window as usize / 164);
    for i in (0..100).rev() {
        let mut receive = net.messengers[1].begin_receive(SCOPE, None, Some(i), NO_LIMIT).unwrap();
        let received = finish(&mut net, || receive.test()).unwrap();
        assert_eq!(received.data, Some(bytes(i, 100)));
    }
    // The room is granted again.
    net.run_until(|net| net.messengers[1].has_sent_all());
    while net.step() {}
    let mut again = net.messengers[0].begin_send(Peer(1), SCOPE, 0, bytes(7, 100)).unwrap();
    while net.step() {}
    assert!(again.test().is_some());
}

#[test]
fn a_steady_exchange_needs_no_packets_of_its_own_for_credit() {
    let mut net = Net::new(2, &config(512, 1000), 4, 1024, 6);
    for round in 0..50 {
        for (me, peer) in [(0, 1), (1, 0)] {
            let _ = net.messengers[me].begin_send(Peer(peer), SCOPE, round, bytes(round, 50)).unwrap();
        }
        for (me, peer) in [(0, 1), (1, 0)] {
            let mut receive =
                net.messengers[me].begin_receive(SCOPE, Some(Peer(peer)), Some(round), 50).unwrap();
            finish(&mut net, || receive.test()).unwrap();
        }
    }
    assert_eq!(net.packets, [50, 50]);
}

#[test]
fn a_lost_peer_ends_what_depends_on_it_and_nothing_else() {
    for config in configs() {
        let mut net = Net::new(3, &config, 1, MIN_PACKET, 7);
        let mut last_words = net.messengers[2].begin_send(Peer(0), SCOPE, 1, bytes(1, 10)).unwrap();
        let mut receive = net.messengers[0].begin_receive(SCOPE, Some(Peer(2)), Some(1), NO_LIMIT).unwrap();
        finish(&mut net, || receive.test()).unwrap().data.unwrap();
        let _ = finish(&mut net, || last_words.test());
        let sends: Vec<_> = [0, 10, 5000]
            .map(|len| net.messengers[0].begin_send(Peer(2), SCOPE, 0, bytes(2, len)).unwrap())
            .into();
        let from_it = net.messengers[0].begin_receive(SCOPE, Some(Peer(2)), None, NO_LIMIT).unwrap();
        let from_any = net.messengers[0].begin_receive(SCOPE, None, Some(9), NO_LIMIT).unwrap();
        let other = net.messengers[0].begin_receive(SCOPE, Some(Peer(1)), Some(3), NO_LIMIT).unwrap();
        for _ in 0..5 {
            net.step();
        }
        net.lose(2);
        let mut from_it = from_it;
        let error = finish(&mut net, || from_it.test()).unwrap_err();
        assert_eq!(error.class(), ErrorClass::ProcFailed);
        assert!(error.to_string().contains("process 2 is lost"), "{error}");
        // Another peer may still send: each test says so until the failure is acknowledged.
        let mut from_any = from_any;
        for _ in 0..2 {
            let error = from_any.test().unwrap().unwrap_err();
            assert_eq!(error.class(), ErrorClass::ProcFailedPending);
            assert!(error.to_string().contains("process 2"), "{error}");
        }
        let all = Group::of(SCOPE.context, Rank(0), &[0, 1, 2].map(Peer));
        assert_eq!(net.messengers[0].failed(&all), [Peer(2)]);
        assert_eq!((net.messengers[0].acknowledge(&all, 0), net.messengers[0].acknowledge(&all, 9)), (0, 1));
        assert_eq!(net.messengers[0].acknowledged(&all), [Peer(2)]);
        assert!(from_any.test().is_none());
        let _send = net.messengers[1].begin_send(Peer(0), SCOPE, 9, bytes(9, 3)).unwrap();
        assert_eq!(finish(&mut net, || from_any.test()).unwrap().data, Some(bytes(9, 3)));
        for mut send in sends {
            let _ = finish(&mut net, || send.test()); // left or lost, but ended
        }
        let mut later = net.messengers[0].begin_send(Peer(2), SCOPE, 0, Vec::new()).unwrap();
        assert_eq!(later.test().unwrap().unwrap_err().class(), ErrorClass::ProcFailed);
        let mut later = net.messengers[0].begin_receive(SCOPE, Some(Peer(2)), None, 0).unwrap();
        assert!(later.test().unwrap().is_err());
        assert!(net.messengers[0].lost(Peer(2)).is_some() && net.messengers[0].lost(Peer(1)).is_none());
        // The first to be lost is remembered, from whomever a process has heard of it; hearing of it ends no request.
        assert_eq!(net.messengers[1].first_lost(), Some(Peer(2)));
        net.messengers[0].hear_of_loss(Peer(1));
        assert_eq!(net.messengers[0].first_lost(), Some(Peer(2)));
        let mut other = other;
        let _send = net.messengers[1].begin_send(Peer(0), SCOPE, 3, bytes(3, 300)).unwrap();
        assert_eq!(finish(&mut net, || other.test()).unwrap().data, Some(bytes(3, 300)));
    }
}

#[test]
fn no_request_waits_for_a_peer_that_said_farewell() {
    for config in configs() {
        let mut net = Net::new(3, &config, 1, MIN_PACKET, 12);
        let early = net.messengers[0].begin_receive(SCOPE, Some(Peer(1)), Some(1), NO_LIMIT).unwrap();
        let in_vain = net.messengers[0].begin_receive(SCOPE, Some(Peer(1)), Some(2), NO_LIMIT).unwrap();
        let last = net.messengers[0].begin_receive(Scope::LAST, Some(Peer(1)), None, NO_LIMIT).unwrap();
        let any = net.messengers[0].begin_receive(SCOPE, None, Some(3), NO_LIMIT).unwrap();
        let sends = [
            net.messengers[1].begin_send(Peer(0), SCOPE, 1, bytes(1, 500)).unwrap(),
            net.messengers[1].begin_send(Peer(0), SCOPE, 4, bytes(4, 500)).unwrap(),
        ];
        net.messengers[1].say_farewell([Peer(0), Peer(1)].into_iter());
        let meeting = net.messengers[1].begin_send(Peer(0), Scope::LAST, 0, Vec::new()).unwrap();
        let [mut early, mut in_vain, mut last, mut any] = [early, in_vain, last, any];
        assert_eq!(finish(&mut net, || early.test()).unwrap().data, Some(bytes(1, 500)));
        let error = finish(&mut net, || in_vain.test()).unwrap_err();
        assert!(error.to_string().contains("process 1 has ended its part"), "{error}");
        finish(&mut net, || last.test()).unwrap();
        // What it sent before is still there, and nothing else will be.
        let mut kept = net.messengers[0].begin_receive(SCOPE, Some(Peer(1)), Some(4), NO_LIMIT).unwrap();
        assert_eq!(finish(&mut net, || kept.test()).unwrap().data, Some(bytes(4, 500)));
        let mut late = net.messengers[0].begin_receive(SCOPE, Some(Peer(1)), None, NO_LIMIT).unwrap();
        assert!(late.test().unwrap().is_err());
        assert!(any.test().is_none());
        let _other = net.messengers[2].begin_send(Peer(0), SCOPE, 3, Vec::new()).unwrap();
        finish(&mut net, || any.test()).unwrap();
        drop((sends, meeting));
    }
}

/// Process 4 is neither near process 1 nor has had contact with it.
#[test]
fn a_farewell_reaches_those_who_wait_from_afar() {
    let ways = [(true, false), (true, true), (false, false), (false, true)];
    let planes = [Plane::User, Plane::Collective, Plane::Host, Plane::Window, Plane::Partitioned];
    for ((is_early, sends), plane) in ways.into_iter().flat_map(|way| planes.map(|plane| (way, plane))) {
        let scope = Scope { context: 1, plane };
        let config = MessageConfig::default();
        let mut net = Net::new(8, &config, 1, MIN_PACKET, 12);
        let leave = |net: &mut Net| {
            net.messengers[1].say_farewell(super::near::near(1, 8).map(Peer));
            let sent = net.messengers[1].clone();
            finish(net, || sent.has_sent_all().then_some(()));
        };
        if is_early {
            leave(&mut net);
        }
        let sent = sends.then(|| net.messengers[4].begin_send(Peer(1), scope, 9, Vec::new()).unwrap());
        let mut waits = net.messengers[4].begin_receive(scope, Some(Peer(1)), Some(1), NO_LIMIT).unwrap();
        // In a collective there may be contact yet, so the peer is greeted only before a sleep.
        let is_late = !matches!(plane, Plane::User | Plane::Partitioned);
        let greets = net.messengers[4].upper().before_sleep();
        assert_eq!(greets, is_late && !sends, "{plane:?}");
        if !is_early {
            let greeted = net.messengers[4].clone();
            finish(&mut net, || greeted.has_sent_all().then_some(()));
            assert!(waits.test().is_none() && !net.messengers[4].has_left(Peer(1)));
            leave(&mut net);
        }
        let error = finish(&mut net, || waits.test()).unwrap_err();
        assert!(error.to_string().contains("process 1 has ended its part"), "{error}");
        assert!(net.messengers[4].has_left(Peer(1)) && !net.messengers[4].has_left(Peer(6)));
        assert_eq!(net.messengers[4].first_lost(), Some(Peer(1)));
        assert_eq!(net.messengers[4].packets_sent(), 1, "a greeting, or the message in its place");
        drop(sent);
    }
}

/// What is to be greeted later is bounded, whatever is waited for without a sleep.
#[test]
fn many_peers_that_are_waited_for_are_greeted_before_a_sleep() {
    let scope = Scope { context: 1, plane: Plane::Collective };
    let mut net = Net::new(200, &MessageConfig::default(), 1, MIN_PACKET, 14);
    let waits = |from: u32| net.messengers[0].begin_receive(scope, Some(Peer(from)), None, NO_LIMIT).unwrap();
    let _receives: Vec<_> = (70..170).map(waits).collect();
    while net.step() {}
    assert_eq!(net.messengers[0].packets_sent(), 64);
    assert!(net.messengers[0].upper().before_sleep());
    while net.step() {}
    assert_eq!(net.messengers[0].packets_sent(), 100 - 4, "four of them are near");
    assert!(!net.messengers[0].upper().before_sleep());
}

/// A process has made contact with another by whatever it has sent there, and does not greet it later.
#[test]
fn whoever_has_sent_anything_hears_of_an_end() {
    let scope = Scope { context: 1, plane: Plane::Collective };
    let mut net = Net::new(8, &MessageConfig::default(), 1, MIN_PACKET, 13);
    let circle = Group::of(1, Rank(1), &[Peer(1), Peer(4)]);
    net.messengers[4].quit(scope, 3, &circle, ErrorClass::Other, [Peer(1)].into_iter());
    while net.step() {}
    net.messengers[1].say_farewell(super::near::near(1, 8).map(Peer));
    let mut waits = net.messengers[4].begin_receive(SCOPE, Some(Peer(1)), None, NO_LIMIT).unwrap();
    let error = finish(&mut net, || waits.test()).unwrap_err();
    assert_eq!(error.class(), ErrorClass::ProcAborted, "{error}");
}

/// A send that waits for a receive ends when no receive will come any more; so does a wait for a message to be looked at.
#[test]
fn who_has_left_takes_and_sends_nothing_more() {
    for plane in [Plane::User, Plane::Collective, Plane::Partitioned] {
        for (is_early, seed) in [(true, 1), (false, 2)] {
            let scope = Scope { context: 1, plane };
            let mut net = Net::new(8, &config(16, 300), 1, MIN_PACKET, seed);
            let leave = |net: &mut Net| {
                net.messengers[1].say_farewell(super::near::near(1, 8).map(Peer));
                while net.step() {}
            };
            if is_early {
                leave(&mut net);
            }
            let mut send = net.messengers[4].begin_send(Peer(1), scope, 9, bytes(1, 2000)).unwrap();
            let mut last = net.messengers[4].begin_send(Peer(1), Scope::LAST, 9, bytes(2, 2000)).unwrap();
            if !is_early {
                while net.step() {}
                assert!(send.test().is_none(), "nobody has asked for it");
                leave(&mut net);
            }
            let error = finish(&mut net, || send.test()).unwrap_err();
            assert_eq!(error.class(), ErrorClass::ProcAborted, "{error}");
            assert_eq!(net.messengers[4].first_lost(), Some(Peer(1)));
            // But for the last meeting.
            assert!(last.test().is_none());
            let mut takes =
                net.messengers[1].begin_receive(Scope::LAST, Some(Peer(4)), None, NO_LIMIT).unwrap();
            assert_eq!(finish(&mut net, || takes.test()).unwrap().len, 2000);
            finish(&mut net, || last.test()).unwrap();
            assert!(net.messengers[4].has_sent_all());
        }
    }
    let mut net = Net::new(8, &MessageConfig::default(), 1, MIN_PACKET, 3);
    let prober = net.messengers[4].clone();
    assert!(prober.check_source(SCOPE, Some(Peer(1))).is_ok() && prober.check_source(SCOPE, None).is_ok());
    net.messengers[1].say_farewell(super::near::near(1, 8).map(Peer));
    let error = finish(&mut net, || prober.check_source(SCOPE, Some(Peer(1))).err());
    assert_eq!((error.class(), error.call()), (ErrorClass::ProcAborted, "probe"), "{error}");
}

#[test]
fn dropped_requests_leave_nothing_behind() {
    for config in configs() {
        let mut net = Net::new(2, &config, 1, MIN_PACKET, 8);
        drop(net.messengers[1].begin_receive(SCOPE, None, Some(5), NO_LIMIT).unwrap());
        for len in [10, 3000] {
            drop(net.messengers[0].begin_send(Peer(1), SCOPE, 5, bytes(0, len)).unwrap());
            drop(net.messengers[0].begin_send(Peer(0), SCOPE, 5, bytes(0, len)).unwrap());
        }
        for _ in 0..20 {
            net.step();
        }
        for (me, source) in [(1, 0), (1, 0), (0, 0), (0, 0)] {
            let mut receive =
                net.messengers[me].begin_receive(SCOPE, Some(Peer(source)), Some(5), NO_LIMIT).unwrap();
            finish(&mut net, || receive.test()).unwrap();
        }
        // A receive that is dropped while its message is under way ends by itself.
        drop(net.messengers[0].begin_send(Peer(1), SCOPE, 6, bytes(0, 3000)).unwrap());
        net.run_until(|net| net.messengers[1].probe(SCOPE, None, None).is_some());
        drop(net.messengers[1].begin_receive(SCOPE, None, None, NO_LIMIT).unwrap());
        net.run_until(|net| net.messengers.iter().all(Messenger::has_sent_all));
        while net.step() {}
        for messenger in &net.messengers {
            let text = format!("{messenger:?}");
            assert!(text.contains("requests: 0, kept: 0, posted: 0"), "{text}");
        }
    }
}

#[test]
fn wrong_processes_are_named() {
    let net = Net::new(2, &config(0, 1), 1, MIN_PACKET, 9);
    let error = net.messengers[0].begin_send(Peer(2), SCOPE, 0, Vec::new()).unwrap_err();
    assert_eq!(error.to_string(), "send: process 2 is not in 0 to 1 (MPI_ERR_RANK)");
    assert!(net.messengers[0].begin_receive(SCOPE, Some(Peer(9)), None, 0).is_err());
}

#[test]
fn packets_that_no_messenger_sends_are_refused() {
    let mut net = Net::new(3, &config(64, 1000), 1, MIN_PACKET, 10);
    let unknown = RequestId { index: 0, generation: 0 };
    let label = Label { scope: SCOPE, tag: 0 };
    let refused = |net: &mut Net, from, lane, packet: Packet| {
        let delivery = net.inject(from, 0, lane, packet.emit().as_ref());
        assert!(matches!(delivery, Delivery::Refused(_)), "{packet:?}");
    };
    refused(&mut net, 1, Lane::Response, Packet::Accept { sender: unknown, receiver: unknown });
    refused(&mut net, 1, Lane::Request, Packet::Body { receiver: unknown });
    refused(&mut net, 1, Lane::Response, Packet::Credit { credit: 1 });
    refused(&mut net, 1, Lane::Response, Packet::Eager { label, credit: 0 });
    refused(&mut net, 1, Lane::Request, Packet::Eager { label, credit: 1 });
    let too_much = [Packet::Eager { label, credit: 0 }.emit().as_ref(), &[0; 937]].concat();
    assert!(matches!(net.inject(1, 0, Lane::Request, &too_much), Delivery::Refused(_)));

    // Names of live requests, used by another peer or with another length.
    let announced = net.messengers[0].begin_send(Peer(1), SCOPE, 0, bytes(0, 500)).unwrap();
    net.run_until(|net| net.messengers[1].probe(SCOPE, None, None).is_some());
    let (sender, receiver) = (announced.id(), unknown);
    refused(&mut net, 2, Lane::Response, Packet::Accept { sender, receiver });
    let awaiting = net.messengers[0].begin_receive(SCOPE, Some(Peer(1)), None, NO_LIMIT).unwrap();
    let body = Packet::Body { receiver: awaiting.id() }.emit();
    assert!(matches!(net.inject_bulk(1, 0, body.as_ref(), 500), Placement::Refused(_)), "not announced");
    let announce = Packet::Announce { label, credit: 0, sender: unknown, len: 500 };
    assert_eq!(net.inject(1, 0, Lane::Request, announce.emit().as_ref()), Delivery::Accepted);
    for (from, len) in [(2, 500), (1, 499), (1, u64::MAX)] {
        assert!(matches!(net.inject_bulk(from, 0, body.as_ref(), len), Placement::Refused(_)));
    }
    assert!(matches!(net.inject_bulk(1, 0, &body.as_ref()[..7], 500), Placement::Refused(_)));
    assert!(matches!(net.inject_bulk(1, 0, announce.emit().as_ref(), 500), Placement::Refused(_)));
    assert!(matches!(net.inject_bulk(1, 0, body.as_ref(), 500), Placement::Into(_)));
}

#[test]
fn an_announced_length_without_memory_is_an_error_not_the_end() {
    let mut net = Net::new(2, &config(64, 1000), 1, MIN_PACKET, 11);
    let mut receive = net.messengers[0].begin_receive(SCOPE, None, None, NO_LIMIT).unwrap();
    let label = Label { scope: SCOPE, tag: 0 };
    let len = 1 << 60;
    let announce = Packet::Announce { label, credit: 0, sender: receive.id(), len };
    assert_eq!(net.inject(1, 0, Lane::Request, announce.emit().as_ref()), Delivery::Accepted);
    let body = Packet::Body { receiver: receive.id() }.emit();
    match net.inject_bulk(1, 0, body.as_ref(), len) {
        Placement::Into(scatter) => assert!(scatter.is_discard()),
        other => panic!("{other:?}"),
    }
    assert!(receive.test().is_none());
}
