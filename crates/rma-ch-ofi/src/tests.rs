//! An unauthenticated sender, and a peer that goes by another table, at a real endpoint. Skips where there is no libfabric.

use crate::OfiChannel;
use crate::block::SlotName;
use crate::config::{OfiConfig, OfiSettings};
use crate::fabric::{Fabric, Handed, probe};
use crate::wire::{HEADER, Header, Kind};
use rma_ch_tcp::{TcpChannel, TcpConfig, TcpSettings};
use rma_core::channel::{
    Budget, BulkToken, Channel, Delivery, Failure, FailureKind, Lane, Placement, Room, Sink,
};
use rma_core::ids::Peer;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const LOOPBACK: Option<IpAddr> = Some(IpAddr::V4(Ipv4Addr::LOCALHOST));
const LIMIT: Duration = Duration::from_secs(10);

#[derive(Default)]
struct Heard {
    packets: Vec<Vec<u8>>,
    failed: Vec<(Peer, Failure)>,
}

impl Sink for Heard {
    fn packet(&mut self, _: Peer, _: Lane, bytes: &[u8]) -> Delivery {
        self.packets.push(bytes.to_vec());
        Delivery::Accepted
    }

    fn bulk(&mut self, _: Peer, _: Lane, _: &[u8], _: u64) -> Placement {
        Placement::Refused("none is sent")
    }

    fn bulk_received(&mut self, _: Peer, _: Lane) {}

    fn bulk_sent(&mut self, _: BulkToken) {}

    fn writable(&mut self, _: Peer, _: Lane) {}

    fn failed(&mut self, peer: Peer, failure: Failure) {
        self.failed.push((peer, failure));
    }
}

/// Two channels, unless there is no libfabric.
fn pair(packet_bytes: [u64; 2]) -> Option<[OfiChannel; 2]> {
    if let Err(why) = probe(&OfiConfig::default()) {
        eprintln!("skipped: {why}");
        return None;
    }
    let addresses: Arc<Mutex<Vec<String>>> = Arc::default();
    Some([0, 1].map(|me: u32| {
        let looked_up_in = Arc::clone(&addresses);
        let settings = TcpSettings {
            me: Peer(me),
            size: 2,
            job: "pair".to_owned(),
            secret: [1; 32],
            listen: Ipv4Addr::LOCALHOST.into(),
            config: TcpConfig::default(),
            directory: Box::new(move |peer: Peer| Ok(looked_up_in.lock().unwrap()[peer.0 as usize].clone())),
        };
        let lower = TcpChannel::bind(settings).unwrap();
        addresses.lock().unwrap().push(lower.address());
        let config =
            OfiConfig { packet_bytes: packet_bytes[me as usize], credits: 2, ..OfiConfig::default() };
        let lower = Box::new(lower);
        OfiChannel::open(OfiSettings { me: Peer(me), size: 2, listen: LOOPBACK, config, lower }).unwrap()
    }))
}

fn poll(channels: &mut [OfiChannel; 2], heard: &mut [Heard; 2]) {
    for (channel, heard) in channels.iter_mut().zip(heard) {
        let _ = channel.poll(heard, Budget { packets: 16, bytes: 1 << 16 });
    }
}

fn until(channels: &mut [OfiChannel; 2], heard: &mut [Heard; 2], done: impl Fn(&[Heard; 2]) -> bool) {
    let end = Instant::now() + LIMIT;
    while !done(heard) {
        assert!(Instant::now() < end, "{:?} {:?}", heard[0].packets, heard[0].failed);
        poll(channels, heard);
    }
}

fn send(channels: &mut [OfiChannel; 2], heard: &mut [Heard; 2], packet: &[u8]) {
    let end = Instant::now() + LIMIT;
    while channels[1].send(Peer(0), Lane::Request, packet).unwrap() == Room::Full {
        assert!(Instant::now() < end, "no room");
        poll(channels, heard);
    }
}

#[test]
fn packets_without_the_token_are_dropped_and_disturb_nobody() {
    let Some(mut channels) = pair([192, 192]) else { return };
    let mut heard = [Heard::default(), Heard::default()];
    send(&mut channels, &mut heard, b"one");
    until(&mut channels, &mut heard, |heard| heard[0].packets.len() == 1);
    // Somebody who knows the address and how packets look, but no token.
    let mut other = Fabric::open(&OfiConfig::default(), LOOPBACK).unwrap();
    let victim = other.insert(channels[0].fabric.address()).unwrap();
    let block = other.add_block(1000, 1, false).unwrap();
    let name = SlotName { block, slot: 0 };
    let header = |kind, token| {
        let (lane, credits) = (Lane::Request, [9, 9]);
        Header { token, from: 1, kind, lane, credits, sequence: 1, body: 1 << 40 }.emit()
    };
    let forged = [header(Kind::Small, [0; 16]), header(Kind::Head, [255; 16]), header(Kind::Piece, [7; 16])];
    for (forged, len) in forged.into_iter().zip([HEADER + 5, 1000, HEADER - 1]) {
        other.part(name, 0, HEADER).write(&forged);
        let end = Instant::now() + LIMIT;
        while !matches!(other.send(name, len, victim), Handed::Taken | Handed::Over) {
            assert!(Instant::now() < end, "the victim is not reached");
            let _ = other.collect(&mut Vec::new());
            poll(&mut channels, &mut heard);
        }
    }
    // More honest packets than there are buffers: none is lost to the others.
    for number in 0..40u8 {
        let _ = other.collect(&mut Vec::new());
        send(&mut channels, &mut heard, &[number]);
    }
    until(&mut channels, &mut heard, |heard| heard[0].packets.len() == 41);
    assert!(heard.iter().all(|heard| heard.failed.is_empty()), "{:?} {:?}", heard[0].failed, heard[1].failed);
    assert!((0..40u8).all(|number| heard[0].packets[1 + usize::from(number)] == [number]));
}

#[test]
fn peers_of_other_sizes_are_told_apart() {
    let Some(mut channels) = pair([192, 400]) else { return };
    let mut heard = [Heard::default(), Heard::default()];
    channels[1].connect(Peer(0)).unwrap();
    until(&mut channels, &mut heard, |heard| heard.iter().all(|heard| heard.failed.len() == 1));
    let (_, failure) = &heard[0].failed[0];
    assert_eq!(failure.kind, FailureKind::Protocol);
    assert!(failure.detail.contains("RMA_OFI_PACKET_BYTES is 400 there and 192 here"), "{failure}");
}
