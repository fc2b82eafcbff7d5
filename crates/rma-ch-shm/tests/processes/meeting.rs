//! Contact from all sides at once: no packet is lost, sent twice or out of order, whichever side was first.

use crate::family::{Part, Place, Relative, listen, say};
use crate::station::Station;
use rma_core::channel::Lane;
use std::sync::Barrier;
use std::thread;

const PACKETS: u32 = 30;

/// Sends to all others in an order of its own, and waits for all that they send.
fn talk(mut station: Station, place: &Place) {
    let others = |first: u32| {
        let size = place.size;
        (0..size).map(move |i| (first + i) % size).filter(|peer| *peer != place.me)
    };
    for number in 0..PACKETS {
        for to in others(place.me * 3 + number) {
            for lane in Lane::ALL {
                station.send(to, lane, number);
            }
        }
    }
    station.until("the packets of all", |s| {
        let is_all = |from| Lane::ALL.iter().all(|lane| s.got(from, *lane).len() == PACKETS as usize);
        others(0).all(is_all)
    });
    let expected: Vec<u32> = (0..PACKETS).collect();
    for from in others(0) {
        for lane in Lane::ALL {
            assert_eq!(station.got(from, lane), expected, "from {from}");
        }
    }
    assert!(station.log.failed.is_empty(), "{:?}", station.log.failed);
    station.close();
}

/// A child.
pub(crate) fn meet() {
    let place = Place::from_env();
    let station = Station::new(&place, 0);
    say("ready");
    listen();
    talk(station, &place);
    say("done");
    listen();
}

#[test]
fn processes_that_contact_each_other_at_once_lose_nothing() {
    for (round, ring) in ["256", "4K", "128K"].into_iter().cycle().take(12).enumerate() {
        println!("round {round} with rings of {ring}");
        let place = Place::new(0, 5);
        let variables = [("RMA_SHM_RING_BYTES", ring), ("RMA_SHM_BACKLOG", "1")];
        let mut family: Vec<_> =
            (0..place.size).map(|me| Relative::start(Part::Meet, &place, me, &variables)).collect();
        family.iter_mut().for_each(|child| drop(child.hear("ready")));
        family.iter_mut().for_each(Relative::tell);
        family.iter_mut().for_each(|child| drop(child.hear("done")));
        family.iter_mut().for_each(Relative::tell);
        family.into_iter().for_each(Relative::join);
    }
}

#[test]
fn two_that_contact_each_other_at_the_same_moment_lose_nothing() {
    for round in 0..300 {
        let place = Place::new(0, 2);
        let barrier = Barrier::new(2);
        let open = Barrier::new(2);
        thread::scope(|scope| {
            for me in 0..2 {
                let place = Place { me, ..place.clone() };
                let (barrier, open) = (&barrier, &open);
                scope.spawn(move || {
                    let station = Station::new(&place, 0);
                    open.wait();
                    // All offsets between the two, from one ahead to the other.
                    for _ in 0..round * 20 * me as usize % 3000 {
                        std::hint::spin_loop();
                    }
                    talk(station, &place);
                    barrier.wait();
                });
            }
        });
    }
}
