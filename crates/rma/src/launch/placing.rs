//! Which rank goes to which host: pure, from the hosts' slots and the number of ranks.

use super::hosts::Host;
use super::options::MapBy;

/// Where a rank is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seat {
    /// Index of its host.
    pub(super) host: usize,
    /// Its place among the ranks of its host.
    pub(super) place: u32,
}

/// A seat for each rank, in rank order. When all slots are taken, more ranks take them once more.
pub(super) fn place(hosts: &[Host], ranks: u32, by: MapBy) -> Vec<Seat> {
    let mut counts = vec![0; hosts.len()];
    round(hosts, by)
        .cycle()
        .take(ranks as usize)
        .map(|host| {
            let place = counts[host];
            counts[host] += 1;
            Seat { host, place }
        })
        .collect()
}

/// The hosts in the order in which their slots are taken.
fn round(hosts: &[Host], by: MapBy) -> std::vec::IntoIter<usize> {
    let slots = |host: usize| hosts[host].slots;
    let mut order: Vec<(u32, usize)> =
        (0..hosts.len()).flat_map(|host| (0..slots(host)).map(move |slot| (slot, host))).collect();
    if by == MapBy::Node {
        order.sort_unstable();
    }
    order.into_iter().map(|(_, host)| host).collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::super::hosts::Hosts;
    use super::*;

    fn hosts_of(list: &str, ranks: u32, by: MapBy) -> String {
        let hosts = Hosts::of_list(list).unwrap();
        let seats = place(hosts.all(), ranks, by);
        for (host, _) in hosts.all().iter().enumerate() {
            let places = seats.iter().filter(|seat| seat.host == host).map(|seat| seat.place);
            assert!(places.eq(0..seats.iter().filter(|seat| seat.host == host).count() as u32));
        }
        seats.iter().map(|seat| hosts.all()[seat.host].name.as_str()).collect()
    }

    #[test]
    fn slots_are_filled_by_host_or_in_turn_and_start_over() {
        for (list, ranks, by_slot, by_node) in [
            ("a,b:2", 3, "abb", "abb"),
            ("a:2,b:2", 4, "aabb", "abab"),
            ("a:3,b", 4, "aaab", "abaa"),
            ("a:2,b", 7, "aabaaba", "abaabaa"),
            ("a:4,b:4", 2, "aa", "ab"),
            ("a", 3, "aaa", "aaa"),
        ] {
            assert_eq!(hosts_of(list, ranks, MapBy::Slot), by_slot, "{list}");
            assert_eq!(hosts_of(list, ranks, MapBy::Node), by_node, "{list}");
        }
    }
}
