//! Receives into lent memory, between those that have a request.

use super::tests::{bytes, configs, finish};
use super::{Making, MessageConfig, Messenger, Plane, Scope, ShortReceive, Waiting, messenger::LentReceive};
use crate::testing::{Dice, Net};
use rma_core::ErrorClass;
use rma_core::channel::MIN_PACKET;
use rma_core::host::Group;
use rma_core::ids::{Peer, Rank};
use rma_core::mem::WriteSpan;

const SCOPE: Scope = Scope { context: 1, plane: Plane::User };
const ROOMY: MessageConfig = MessageConfig { eager_bytes: 4096, window_bytes: 65536 };

/// Two processes that have been in contact.
fn in_contact(config: &MessageConfig, seed: u64) -> Net {
    let mut net = Net::new(2, config, 4, MIN_PACKET, seed);
    send(&mut net, 0, b"");
    let mut receive = net.messengers[1].begin_receive(SCOPE, None, None, 0).unwrap();
    finish(&mut net, || receive.test()).unwrap();
    net
}

/// Sends to process 1 and lets all arrive that can.
fn send(net: &mut Net, tag: u64, message: &[u8]) {
    drop(net.messengers[0].begin_send(Peer(1), SCOPE, tag, message.to_vec()).unwrap());
    while net.step() {}
}

/// Lends memory, which must outlive what is answered.
fn lend<'a>(
    messenger: &'a Messenger,
    source: Option<u32>,
    tag: Option<u64>,
    memory: &mut [u8],
) -> Option<Result<Waiting, LentReceive<'a>>> {
    // SAFETY: the tests look at the memory only when the receive has ended or been dropped.
    unsafe {
        let memory = WriteSpan::new(memory.as_mut_ptr(), memory.len());
        messenger.lend(SCOPE, source.map(Peer), tag, memory)
    }
}

fn posted(lent: Option<Result<Waiting, LentReceive<'_>>>) -> LentReceive<'_> {
    lent.expect("it is short enough").expect_err("nothing has arrived")
}

fn message(end: Option<ShortReceive>) -> Waiting {
    match end {
        Some(ShortReceive::Message(waiting)) => waiting,
        other => panic!("{other:?}"),
    }
}

fn state(net: &Net) -> String {
    format!("{:?}", net.messengers[1])
}

#[test]
fn a_short_message_is_stored_without_a_request_whenever_it_comes() {
    let mut net = in_contact(&ROOMY, 1);
    let mut memory = [0; 8];
    send(&mut net, 3, b"before");
    let waiting = Waiting { source: Peer(0), tag: 3, len: 6 };
    let messenger = net.messengers[1].clone();
    assert_eq!(lend(&messenger, Some(0), None, &mut memory).unwrap().unwrap(), waiting);
    assert_eq!(&memory, b"before\0\0");
    let mut lent = posted(lend(&messenger, None, Some(4), &mut memory));
    send(&mut net, 3, b"another");
    assert!(lent.test().is_none() && !lent.has_moved(), "it has another tag");
    send(&mut net, 4, b"waited");
    assert!(lent.has_moved(), "a wait looks at this alone");
    assert!(state(&net).contains("requests: 0"), "{}", state(&net));
    assert_eq!(message(lent.test()), Waiting { tag: 4, ..waiting });
    assert!(lent.test().is_none(), "it ends once");
    drop(lent);
    assert_eq!(&memory, b"waited\0\0");
    assert!(state(&net).contains("kept: 1, posted: 0"), "{}", state(&net));
    // The credit of all of them comes back: more than the window has room for go through.
    for _ in 0..3000 {
        let mut lent = posted(lend(&messenger, None, Some(4), &mut memory));
        send(&mut net, 4, b"waited");
        assert_eq!(message(lent.test()).len, 6);
    }
}

#[test]
fn order_is_that_of_the_calls_among_receives_of_both_kinds() {
    let mut net = in_contact(&ROOMY, 2);
    let mut memory = [0; 8];
    let messenger = net.messengers[1].clone();
    let mut first = messenger.begin_receive(SCOPE, None, None, 8).unwrap();
    let mut lent = posted(lend(&messenger, Some(0), Some(1), &mut memory));
    let mut last = messenger.begin_receive(SCOPE, None, None, 8).unwrap();
    assert!(lend(&messenger, None, None, &mut [0; 8]).is_none(), "one at a time");
    for text in [b"first", b"lent.", b"last."] {
        send(&mut net, 1, text);
    }
    assert_eq!(message(lent.test()).len, 5);
    assert_eq!(&memory[..5], b"lent.");
    assert_eq!(first.test().unwrap().unwrap().data.as_deref(), Some(&b"first"[..]));
    assert_eq!(last.test().unwrap().unwrap().data.as_deref(), Some(&b"last."[..]));
}

#[test]
fn whatever_else_comes_of_it_is_a_request() {
    let mut net = in_contact(&ROOMY, 3);
    let messenger = net.messengers[1].clone();
    let mut memory = [0; 100];
    let goes_on = |lent: &mut LentReceive<'_>| match lent.has_moved().then(|| lent.test()).flatten() {
        Some(ShortReceive::Request(request)) => request,
        other => panic!("{other:?}"),
    };
    // Too long, before and after.
    send(&mut net, 1, b"longer than three");
    assert!(lend(&messenger, None, Some(1), &mut memory[..3]).is_none());
    let mut lent = posted(lend(&messenger, None, Some(2), &mut memory[..3]));
    send(&mut net, 2, b"longer than three");
    let mut request = goes_on(&mut lent);
    assert_eq!(request.test().unwrap().unwrap_err().class(), ErrorClass::Truncate);
    assert_eq!(request.refused().map(|refused| refused.len), Some(17));
    assert_eq!(memory, [0; 100]);
    // Announced, because its sender waits for the receive.
    let mut lent = posted(lend(&messenger, Some(0), Some(3), &mut memory));
    assert!(!lent.has_moved(), "what became of the one before says nothing");
    let mut ssend = net.messengers[0].begin_synchronous_send(Peer(1), SCOPE, 3, vec![7; 100]).unwrap();
    net.run_until(|_| ssend.test().is_some());
    let mut request = goes_on(&mut lent);
    assert_eq!(finish(&mut net, || request.test()).unwrap().len, 100);
    assert_eq!(memory, [7; 100]);
    // To itself, by another thread.
    let mut lent = posted(lend(&messenger, None, Some(4), &mut memory));
    messenger.begin_send(Peer(1), SCOPE, 4, vec![9; 5]).unwrap().test().unwrap().unwrap();
    assert_eq!(goes_on(&mut lent).test().unwrap().unwrap().source, Peer(1));
    assert_eq!(memory[..6], [9, 9, 9, 9, 9, 7]);
    // The end of the peer.
    let mut lent = posted(lend(&messenger, Some(0), Some(5), &mut memory));
    net.lose(0);
    assert_eq!(goes_on(&mut lent).test().unwrap().unwrap_err().class(), ErrorClass::ProcFailed);
    assert!(lend(&messenger, Some(0), Some(5), &mut memory).is_none(), "whose end is known");
    assert!(state(&net).contains("requests: 0"), "{}", state(&net));
}

#[test]
fn a_farewell_ends_it() {
    let mut net = in_contact(&ROOMY, 4);
    let messenger = net.messengers[1].clone();
    let mut memory = [0; 8];
    let mut lent = posted(lend(&messenger, Some(0), None, &mut memory));
    net.messengers[0].say_farewell(std::iter::once(Peer(1)));
    while net.step() {}
    let Some(ShortReceive::Request(mut request)) = lent.test() else { panic!("it goes on as a request") };
    assert_eq!(request.test().unwrap().unwrap_err().class(), ErrorClass::ProcAborted);
    assert!(lend(&messenger, Some(0), None, &mut memory).is_none(), "a peer that has left sends nothing");
}

#[test]
fn one_that_is_dropped_takes_no_message() {
    let mut net = in_contact(&ROOMY, 5);
    let messenger = net.messengers[1].clone();
    let mut memory = [0; 8];
    drop(posted(lend(&messenger, None, None, &mut memory)));
    assert!(state(&net).contains("posted: 0"), "{}", state(&net));
    send(&mut net, 1, b"kept");
    assert_eq!(memory, [0; 8]);
    let mut receive = messenger.begin_receive(SCOPE, None, None, 8).unwrap();
    assert_eq!(receive.test().unwrap().unwrap().data.as_deref(), Some(&b"kept"[..]));
    // One that has become a request gives that up too.
    let lent = posted(lend(&messenger, None, None, &mut memory[..1]));
    send(&mut net, 1, b"too long");
    drop(lent);
    assert!(state(&net).contains("requests: 0"), "{}", state(&net));
}

#[test]
fn both_ways_together_receive_everything_in_order() {
    const MESSAGES: u64 = 300;
    for (i, config) in configs().iter().enumerate() {
        let mut net = in_contact(config, 10 + i as u64);
        let mut dice = Dice::new(i as u64);
        let messenger = net.messengers[1].clone();
        let lens: Vec<_> = (0..MESSAGES).map(|_| [0, 8, 16, 100, 1000][dice.below(5)]).collect();
        let mut sent = 0;
        for (number, len) in lens.iter().copied().enumerate() {
            for _ in 0..dice.below(3) {
                if let Some(len) = lens.get(sent) {
                    let message = bytes(sent as u64, *len);
                    drop(net.messengers[0].begin_send(Peer(1), SCOPE, 5, message).unwrap());
                    sent += 1;
                }
            }
            while sent <= number {
                drop(
                    net.messengers[0].begin_send(Peer(1), SCOPE, 5, bytes(sent as u64, lens[sent])).unwrap(),
                );
                sent += 1;
            }
            for _ in 0..dice.below(8) {
                net.step();
            }
            let mut memory = vec![0; 1000];
            let received = match lend(&messenger, Some(0), Some(5), &mut memory) {
                Some(Ok(waiting)) => waiting.len,
                Some(Err(mut lent)) => match finish(&mut net, || lent.test()) {
                    ShortReceive::Message(waiting) => waiting.len,
                    ShortReceive::Request(mut request) => finish(&mut net, || request.test()).unwrap().len,
                },
                None => {
                    let mut request = messenger.begin_receive(SCOPE, Some(Peer(0)), Some(5), 1000).unwrap();
                    let received = finish(&mut net, || request.test()).unwrap();
                    memory[..received.len as usize].copy_from_slice(&received.data.unwrap());
                    received.len
                }
            };
            assert_eq!(received, len as u64, "message {number} of {config:?}");
            assert_eq!(memory[..len], bytes(number as u64, len), "message {number} of {config:?}");
        }
    }
}

/// Not even short ones, which need no request otherwise: none would be received, and none comes.
#[test]
fn messages_to_and_from_a_rank_that_lacks_the_communicator_fail() {
    let mut net = in_contact(&ROOMY, 20);
    drop(net.messengers[1].begin_send(Peer(0), SCOPE, 0, Vec::new()).unwrap());
    while net.step() {}
    assert!(net.try_send(1, 0, SCOPE, 0, b"before"));
    let making = Making { parent: 5, number: 1, part: 0 };
    net.messengers[0].fail_making(making, (0..2).map(Peer));
    let messenger = net.messengers[1].clone();
    messenger.open(&Group::of(SCOPE.context, Rank(1), &[0, 1].map(Peer)));
    messenger.note_made(making, None, SCOPE.context);
    while net.step() {}
    let mut memory = [0; 8];
    assert!(lend(&messenger, Some(0), None, &mut memory).is_none(), "the slow path says why");
    assert!(!net.try_send(1, 0, SCOPE, 0, b"after"), "the slow path says why");
    let mut send = messenger.begin_send(Peer(0), SCOPE, 0, vec![1]).unwrap();
    assert_eq!(send.test().unwrap().unwrap_err().class(), ErrorClass::ProcFailed);
    // Other communicators are as they were.
    assert!(net.try_send(1, 0, Scope { context: 2, plane: Plane::User }, 0, b"other"));
}
