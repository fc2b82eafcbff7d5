//! The modes of messages that MPI asks for beyond plain ones: scattered memory, synchronous sends, matched probes, cancelled
//! receives.

use super::tests::{bytes, configs, finish};
use super::*;
use crate::testing::{Dice, Net};
use rma_core::ErrorClass;
use rma_core::channel::MIN_PACKET;
use rma_core::datatype::{Gather, Layout, Loop, Scatter};
use rma_core::ids::Peer;

const SCOPE: Scope = Scope { context: 9, plane: Plane::User };

#[test]
fn scattered_memory_travels_like_contiguous_memory() {
    for (i, config) in configs().iter().enumerate() {
        for peer in [0, 1] {
            let mut net = Net::new(2, config, 1, MIN_PACKET, 20 + i as u64);
            let mut dice = Dice::new(i as u64);
            for round in 0..20 {
                let source: Vec<u8> = bytes(round, 4096);
                let mut target = vec![0xee_u8; 4096];
                let (block, count) = (1 + dice.below(9) as u64, dice.below(100) as u64);
                let apart = Layout::nest(3, block, &[Loop { count, stride: 16 }]).unwrap();
                let close = Layout::nest(1, block * count, &[]).unwrap();
                // Scattered at one end, the other, or both; and room for more than the message has.
                let more = Layout::nest(0, 1, &[Loop { count: block * count + 5, stride: 3 }]).unwrap();
                let (from, to) = match round % 3 {
                    0 => (&apart, &close),
                    1 => (&close, &apart),
                    _ => (&apart, &more),
                };
                // SAFETY: the layouts reach at most to byte 3 + 16 * 99 + 9, 1 + 900 and 3 * 904 of vectors of 4096 that
                // outlive the requests.
                let (mut send, mut receive) = unsafe {
                    let message = Gather::new(source.as_ptr(), Layout::clone(from));
                    let room = Scatter::new(target.as_mut_ptr(), Layout::clone(to));
                    let receiver = &net.messengers[peer];
                    let to = Peer(peer as u32);
                    let send = |net: &Net| {
                        net.messengers[0]
                            .begin_send_from(to, SCOPE, round, message, SendMode::Standard)
                            .unwrap()
                    };
                    let receive = || receiver.begin_receive_into(SCOPE, None, Some(round), room).unwrap();
                    if dice.below(2) == 0 {
                        let receive = receive();
                        (send(&net), receive)
                    } else {
                        (send(&net), receive())
                    }
                };
                finish(&mut net, || send.test()).unwrap();
                assert_eq!(finish(&mut net, || receive.test()).unwrap().len, block * count);
                let len = (block * count) as usize;
                let (mut sent, mut got) = (vec![0; len], vec![0; len]);
                // SAFETY: as above; the requests have ended.
                let (mut source, mut target) = unsafe {
                    (Gather::new(source.as_ptr(), Layout::clone(from)), Gather::new(target.as_ptr(), to))
                };
                source.read(&mut sent);
                target.read(&mut got);
                assert_eq!(sent, got);
            }
        }
    }
}

#[test]
fn a_message_too_long_for_scattered_room_touches_nothing_and_the_next_one_comes() {
    for config in configs() {
        for peer in [0, 1] {
            let mut net = Net::new(2, &config, 1, MIN_PACKET, 30);
            let mut target = vec![0xee_u8; 100];
            let room = Layout::nest(0, 1, &[Loop { count: 30, stride: 3 }]).unwrap();
            for (len, fits) in [(31, false), (30, true), (1000, false), (0, true), (1, true)] {
                let mut send = net.messengers[0].begin_send(Peer(peer), SCOPE, 1, bytes(0, len)).unwrap();
                // SAFETY: the room reaches to byte 88 of a vector of 100 that outlives the request.
                let mut receive = unsafe {
                    let room = Scatter::new(target.as_mut_ptr(), room.clone());
                    net.messengers[peer as usize].begin_receive_into(SCOPE, None, None, room).unwrap()
                };
                let end = finish(&mut net, || receive.test());
                assert_eq!(
                    end.as_ref().map_err(|error| error.class()).err(),
                    (!fits).then_some(ErrorClass::Truncate)
                );
                finish(&mut net, || send.test()).unwrap();
                assert!(target.iter().enumerate().all(|(i, byte)| i % 3 == 0 || *byte == 0xee));
                if fits {
                    let got: Vec<u8> = target.iter().step_by(3).copied().take(len).collect();
                    assert_eq!(got, bytes(0, len));
                }
                target.fill(0xee);
            }
        }
    }
}

#[test]
fn a_synchronous_send_ends_when_a_receive_has_taken_it() {
    for config in configs() {
        for peer in [0, 1] {
            for len in [0, 1, 100, 3000] {
                let mut net = Net::new(2, &config, 1, MIN_PACKET, 40);
                let sender = net.messengers[0].clone();
                let mut plain = sender.begin_send(Peer(peer), SCOPE, 1, bytes(1, 10)).unwrap();
                let mut send = sender.begin_synchronous_send(Peer(peer), SCOPE, 2, bytes(2, len)).unwrap();
                for _ in 0..200 {
                    net.step();
                    assert!(send.test().is_none(), "no receive has asked for it");
                }
                // It keeps its place between the others.
                for (tag, len) in [(1, 10), (2, len)] {
                    let receiver = &net.messengers[peer as usize];
                    let mut receive = receiver.begin_receive(SCOPE, None, None, u64::MAX).unwrap();
                    let received = finish(&mut net, || receive.test()).unwrap();
                    assert_eq!((received.tag, received.data), (tag, Some(bytes(tag, len))));
                }
                finish(&mut net, || send.test()).unwrap();
                finish(&mut net, || plain.test()).unwrap();
            }
        }
    }
}

#[test]
fn a_matched_message_is_for_its_handle_only() {
    for config in configs() {
        for peer in [0, 1] {
            let mut net = Net::new(2, &config, 1, MIN_PACKET, 50);
            let lens = [0, 7, 100, 3000];
            let sender = net.messengers[0].clone();
            let mut sends: Vec<_> = (0..4)
                .map(|i| sender.begin_send(Peer(peer), SCOPE, i as u64, bytes(i as u64, lens[i])).unwrap())
                .collect();
            let receiver = net.messengers[peer as usize].clone();
            assert!(receiver.take(SCOPE, None, Some(9)).is_none());
            // Two are taken out, in whatever order they were sent; the others are received around them.
            let second = finish(&mut net, || receiver.take(SCOPE, None, Some(3)));
            let first = finish(&mut net, || receiver.take(SCOPE, None, None));
            assert_eq!(first.waiting(), Waiting { source: Peer(0), tag: 0, len: 0 });
            assert_eq!(second.waiting(), Waiting { source: Peer(0), tag: 3, len: 3000 });
            for tag in [1, 2] {
                let mut receive = receiver.begin_receive(SCOPE, None, None, u64::MAX).unwrap();
                let received = finish(&mut net, || receive.test()).unwrap();
                assert_eq!((received.tag, received.data), (tag, Some(bytes(tag, lens[tag as usize]))));
            }
            assert!(receiver.probe(SCOPE, None, None).is_none());
            let mut target = vec![0; 3000];
            // SAFETY: the vector outlives the request.
            let mut receive = unsafe {
                let span = rma_core::mem::WriteSpan::new(target.as_mut_ptr(), 3000);
                second.begin_receive_into(Scatter::span(span))
            };
            finish(&mut net, || receive.test()).unwrap();
            assert_eq!(target, bytes(3, 3000));
            let mut receive = first.begin_receive(0);
            assert_eq!(finish(&mut net, || receive.test()).unwrap().data, Some(Vec::new()));
            for send in &mut sends {
                finish(&mut net, || send.test()).unwrap();
            }
            while net.step() {}
            let text = format!("{:?}", net.messengers[peer as usize]);
            assert!(text.contains("requests: 0, kept: 0, posted: 0"), "{text}");
        }
    }
}

#[test]
fn a_matched_message_that_is_not_received_still_ends_its_send() {
    for config in configs() {
        for peer in [0, 1] {
            let mut net = Net::new(2, &config, 1, MIN_PACKET, 60);
            let sender = net.messengers[0].clone();
            for len in [0, 10, 3000] {
                let mut send = sender.begin_synchronous_send(Peer(peer), SCOPE, 0, bytes(0, len)).unwrap();
                let receiver = net.messengers[peer as usize].clone();
                drop(finish(&mut net, || receiver.take(SCOPE, None, None)));
                finish(&mut net, || send.test()).unwrap();
            }
            while net.step() {}
            for messenger in &net.messengers {
                let text = format!("{messenger:?}");
                assert!(text.contains("requests: 0, kept: 0, posted: 0"), "{text}");
            }
        }
    }
}

#[test]
fn a_matched_message_of_a_lost_peer_is_whole_or_an_error() {
    for config in configs() {
        let mut net = Net::new(2, &config, 1, MIN_PACKET, 70);
        let _send = net.messengers[1].begin_send(Peer(0), SCOPE, 0, bytes(5, 50)).unwrap();
        let receiver = net.messengers[0].clone();
        let matched = finish(&mut net, || receiver.take(SCOPE, None, None));
        net.lose(1);
        let mut receive = matched.begin_receive(50);
        match finish(&mut net, || receive.test()) {
            Ok(received) => assert_eq!(received.data, Some(bytes(5, 50))),
            Err(error) => assert_eq!(error.class(), ErrorClass::ProcFailed),
        }
    }
}

#[test]
fn a_receive_is_cancelled_before_its_message_or_not_at_all() {
    for config in configs() {
        let mut net = Net::new(2, &config, 1, MIN_PACKET, 80);
        let receiver = net.messengers[1].clone();
        let receive = |tag| receiver.begin_receive(SCOPE, None, tag, u64::MAX).unwrap();
        let (first, second) = (receive(None), receive(Some(1)));
        first.cancel().unwrap();
        // The message goes to the one that is left.
        let mut send = net.messengers[0].begin_send(Peer(1), SCOPE, 1, bytes(1, 500)).unwrap();
        net.run_until(|net| !format!("{:?}", net.messengers[1]).contains("posted: 1"));
        let mut second = second.cancel().unwrap_err();
        assert_eq!(finish(&mut net, || second.test()).unwrap().data, Some(bytes(1, 500)));
        finish(&mut net, || send.test()).unwrap();
        let text = format!("{receiver:?}");
        assert!(text.contains("requests: 0, kept: 0, posted: 0"), "{text}");
    }
}

/// How a withdrawn send ended: whether it was taken back, and what a receive found that was posted before or after.
fn withdraw(net: &mut Net, to: u32, len: usize, steps: usize, posted: bool) -> (bool, Option<Vec<u8>>) {
    let receiver = net.messengers[to as usize].clone();
    let receive = || receiver.begin_receive(SCOPE, Some(Peer(0)), Some(7), u64::MAX).unwrap();
    let before = posted.then(receive);
    let mut send =
        net.messengers[0].begin_synchronous_send(Peer(to), SCOPE, 7, bytes(len as u64, len)).unwrap();
    for _ in 0..steps {
        net.step();
    }
    send.withdraw();
    send.withdraw();
    finish(net, || send.test()).unwrap();
    while net.step() {}
    let found = before.and_then(|receive| match receive.cancel() {
        Ok(()) => None,
        Err(mut receive) => Some(finish(net, || receive.test()).unwrap().data.unwrap()),
    });
    (send.is_withdrawn(), found)
}

#[test]
fn a_send_is_withdrawn_before_a_receive_takes_it_or_not_at_all() {
    for config in configs() {
        let mut ends = [0; 2];
        for (to, len, steps, posted) in (0..2)
            .flat_map(|to| [0, 10, 3000].map(|len| (to, len)))
            .flat_map(|(to, len)| (0..30).map(move |steps| (to, len, steps)))
            .flat_map(|(to, len, steps)| [false, true].map(|posted| (to, len, steps, posted)))
        {
            let mut net = Net::new(2, &config, 1, MIN_PACKET, 90 + steps as u64);
            let (is_withdrawn, found) = withdraw(&mut net, to, len, steps, posted);
            assert!(posted || is_withdrawn, "no receive has taken it");
            assert_eq!(found, (!is_withdrawn).then(|| bytes(len as u64, len)));
            ends[usize::from(is_withdrawn)] += usize::from(posted);
            for messenger in &net.messengers {
                let text = format!("{messenger:?}");
                assert!(text.contains("requests: 0, kept: 0, posted: 0"), "{text}");
            }
        }
        assert!(ends.iter().all(|count| *count > 0), "both ends: {ends:?}");
    }
}

#[test]
fn a_withdrawn_send_ends_when_its_receiver_is_lost_or_has_gone() {
    for config in configs() {
        for steps in 0..12 {
            let mut net = Net::new(2, &config, 1, MIN_PACKET, 200 + steps);
            let mut send =
                net.messengers[0].begin_synchronous_send(Peer(1), SCOPE, 7, bytes(1, 100)).unwrap();
            while net.step() {}
            if steps % 2 == 0 {
                net.messengers[1].say_farewell(std::iter::once(Peer(0)));
            }
            send.withdraw();
            for _ in 0..steps {
                net.step();
            }
            net.lose(1);
            match finish(&mut net, || send.test()) {
                Ok(()) => assert!(send.is_withdrawn()),
                Err(error) => assert_eq!(error.class(), ErrorClass::ProcFailed),
            }
        }
    }
}

#[test]
fn a_message_is_given_back_only_when_it_was_asked_for() {
    use super::packet::Packet;
    use super::request::RequestId;
    use rma_core::channel::{Delivery, Lane};
    use rma_core::progress::Upper;
    let mut net = Net::new(2, &configs()[0], 1, MIN_PACKET, 300);
    let mut send = net.messengers[0].begin_synchronous_send(Peer(1), SCOPE, 7, bytes(1, 100)).unwrap();
    while net.step() {}
    let mut upper = net.messengers[0].upper();
    let withdrawn = |index| Packet::Withdrawn { sender: RequestId { index, generation: 0 } }.emit();
    for (index, lane) in [(0, Lane::Response), (5, Lane::Response), (0, Lane::Request)] {
        let delivery = upper.packet(Peer(1), lane, withdrawn(index).as_ref());
        assert!(matches!(delivery, Delivery::Refused(_)), "{delivery:?}");
    }
    assert!(send.test().is_none());
    // One that the receiver does not keep is no fault: a receive has taken it.
    let unknown = Packet::Withdraw { sender: RequestId { index: 5, generation: 0 } }.emit();
    let delivery = net.messengers[1].upper().packet(Peer(0), Lane::Request, unknown.as_ref());
    assert!(matches!(delivery, Delivery::Accepted), "{delivery:?}");
    send.withdraw();
    finish(&mut net, || send.test()).unwrap();
    assert!(send.is_withdrawn());
}
