//! Messages that are sent at once, between those that take the slow path.

use super::tests::{bytes, configs, finish};
use super::{MessageConfig, Plane, Scope};
use crate::testing::{Dice, Net};
use rma_core::channel::MIN_PACKET;
use rma_core::ids::Peer;

const SCOPE: Scope = Scope { context: 1, plane: Plane::User };
const ROOMY: MessageConfig = MessageConfig { eager_bytes: 4096, window_bytes: 65536 };

/// Two processes that have been in contact.
fn in_contact(config: &MessageConfig, depth: usize, seed: u64) -> Net {
    let mut net = Net::new(2, config, depth, MIN_PACKET, seed);
    assert!(!net.try_send(0, 1, SCOPE, 0, b""), "contact is made on the slow path");
    let mut send = net.messengers[0].begin_send(Peer(1), SCOPE, 0, Vec::new()).unwrap();
    let mut receive = net.messengers[1].begin_receive(SCOPE, None, None, 0).unwrap();
    finish(&mut net, || receive.test()).unwrap();
    finish(&mut net, || send.test()).unwrap();
    net
}

#[test]
fn a_short_message_is_a_packet_at_once_and_no_request() {
    let mut net = in_contact(&ROOMY, 4, 1);
    let before = net.messengers[0].packets_sent();
    assert!(net.try_send(0, 1, SCOPE, 3, b"short"));
    assert_eq!(net.messengers[0].packets_sent(), before + 1);
    assert!(net.messengers[0].has_sent_all());
    let text = format!("{:?}", net.messengers[0]);
    assert!(text.contains("requests: 0"), "{text}");
    let mut receive = net.messengers[1].begin_receive(SCOPE, Some(Peer(0)), Some(3), 5).unwrap();
    assert_eq!(finish(&mut net, || receive.test()).unwrap().data.as_deref(), Some(&b"short"[..]));
}

#[test]
fn what_cannot_go_at_once_is_left_as_it_was() {
    let mut net = in_contact(&ROOMY, 2, 2);
    let before = net.messengers[0].packets_sent();
    assert!(!net.try_send(0, 1, SCOPE, 1, &bytes(1, 4097)), "too long");
    assert!(!net.try_send(0, 0, SCOPE, 1, b"self"), "to itself");
    let mut first = net.messengers[0].begin_send(Peer(1), SCOPE, 1, b"first".to_vec()).unwrap();
    assert!(!net.try_send(0, 1, SCOPE, 1, b"second"), "another is before it");
    assert_eq!(net.messengers[0].packets_sent(), before);
    finish(&mut net, || first.test()).unwrap();
    let sent = (0..10).filter(|_| net.try_send(0, 1, SCOPE, 2, b"fills")).count();
    assert!(sent <= 2, "{sent} packets in a lane of two");
    net.run_until(|net| net.messengers[1].probe(SCOPE, None, Some(1)).is_some());
    while net.step() {}
    // Nothing of the credit was lost by those that found no room: all that a window has room for still go at once.
    for _ in 0..100 {
        assert!(net.try_send(0, 1, SCOPE, 2, b"fills"));
        while net.step() {}
    }
    net.lose(1);
    assert!(!net.try_send(0, 1, SCOPE, 1, b"late"), "the receiver is lost");
}

#[test]
fn both_ways_together_keep_the_order() {
    const MESSAGES: u64 = 300;
    for (i, config) in configs().iter().enumerate() {
        let mut net = in_contact(config, 2, 10 + i as u64);
        let mut dice = Dice::new(i as u64);
        let mut at_once = 0;
        for number in 0..MESSAGES {
            let message = bytes(number, [0, 8, 16, 100, 1000][dice.below(5)]);
            if dice.below(3) > 0 && net.try_send(0, 1, SCOPE, 5, &message) {
                at_once += 1;
            } else {
                drop(net.messengers[0].begin_send(Peer(1), SCOPE, 5, message).unwrap());
            }
            for _ in 0..dice.below(8) {
                net.step();
            }
        }
        for number in 0..MESSAGES {
            let mut receive = net.messengers[1].begin_receive(SCOPE, None, None, 1000).unwrap();
            let received = finish(&mut net, || receive.test()).unwrap();
            let len = received.len as usize;
            assert_eq!(received.data, Some(bytes(number, len)), "message {number} of {config:?}");
        }
        // The least window has no room for any message.
        assert_eq!(at_once > 0, config.window_bytes > 64, "{at_once}, {config:?}");
    }
}
