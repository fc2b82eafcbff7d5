//! Many peers send to one rank: every packet arrives, in turn, and a poll takes its budget however many
//! wait.

use rma_ch_sim::{Latency, SimChannel, SimConfig, SimNet};
use rma_core::channel::{Budget, BulkToken, Channel, Delivery, Failure, Lane, Placement, Room, Sink, Source};
use rma_core::ids::Peer;

/// More than a poll looks at, several times over.
const MANY: u32 = 3_000;
const EACH: u8 = 3;
const BUDGET: Budget = Budget { packets: 64, bytes: 1 << 20 };

/// How many packets have come from each.
struct Heard(Vec<u8>);

impl Sink for Heard {
    fn packet(&mut self, from: Peer, _: Lane, packet: &[u8]) -> Delivery {
        let heard = &mut self.0[from.0 as usize];
        assert_eq!(packet, [*heard], "packet of rank {from}");
        *heard += 1;
        Delivery::Accepted
    }

    fn bulk(&mut self, _: Peer, _: Lane, _: &[u8], _: u64) -> Placement {
        unreachable!("no bodies are sent")
    }

    fn bulk_received(&mut self, _: Peer, _: Lane) {}

    fn bulk_sent(&mut self, _: BulkToken) {}

    fn writable(&mut self, _: Peer, _: Lane) {}

    fn failed(&mut self, peer: Peer, failure: Failure) {
        unreachable!("rank {peer} lives: {failure:?}")
    }
}

fn send(channel: &mut SimChannel, number: u8) {
    assert_eq!(channel.reserve(Peer(0), Lane::Request, 1), Ok(Room::Granted));
    channel.fill(Source::Bytes(&[number]));
    channel.commit();
}

#[test]
fn many_peers_are_heard_in_turn_and_no_poll_is_idle_before_the_last() {
    let net = SimNet::virtual_time(MANY + 1, SimConfig::default(), Latency::default(), 1);
    let mut one = net.channel(Peer(0));
    let mut many = (1..=MANY).map(|me| net.channel(Peer(me))).collect::<Vec<_>>();
    for number in 0..EACH {
        many.iter_mut().for_each(|channel| send(channel, number));
    }
    // Everything has arrived.
    (0..EACH as u32 * MANY).for_each(|_| net.advance());
    let mut heard = Heard(vec![0; MANY as usize + 1]);
    let mut polls = 0;
    loop {
        let polled = one.poll(&mut heard, BUDGET);
        // As the engine does between two polls: it takes no rank's turn.
        let sent = one.poll(&mut heard, Budget { packets: 0, ..BUDGET });
        assert_eq!(sent.packets, 0);
        if polled.is_idle() {
            break;
        }
        polls += 1;
        assert!(polls < 1_000, "{polls} polls for {EACH} packets of each of {MANY} ranks");
        let least = heard.0[1..].iter().min().unwrap();
        let most = heard.0[1..].iter().max().unwrap();
        assert!(most - least <= 1, "a rank is heard {most} times before another is heard {least} times");
    }
    assert!(heard.0[1..].iter().all(|count| *count == EACH), "{:?}", heard.0);
}

#[test]
fn a_rank_does_not_sleep_while_many_peers_wait() {
    let net = SimNet::virtual_time(MANY + 1, SimConfig::default(), Latency::default(), 2);
    let mut one = net.channel(Peer(0));
    let mut many = (1..=MANY).map(|me| net.channel(Peer(me))).collect::<Vec<_>>();
    many.iter_mut().for_each(|channel| send(channel, 0));
    let mut heard = Heard(vec![0; MANY as usize + 1]);
    let mut idle = 0;
    while heard.0.iter().map(|count| u32::from(*count)).sum::<u32>() < MANY {
        // Nothing moves time but a poll without news.
        let polled = one.poll(&mut heard, BUDGET);
        idle = if polled.is_idle() { idle + 1 } else { 0 };
        assert!(idle < 100, "nothing comes any more");
        net.advance();
    }
}
