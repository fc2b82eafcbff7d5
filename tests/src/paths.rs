//! The ways that one-sided operations can take between processes, and the smallest value of everything that has a size.

use crate::job::Ended;

/// A way, as variables, and which channels carry packets on it.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// For messages.
    pub name: &'static str,
    /// How to ask for it.
    pub variables: &'static [(&'static str, &'static str)],
    shm: Carries,
    tcp: Carries,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Carries {
    Nothing,
    /// Now and then one that wakes a rank which waits for a lock.
    WakeUps,
    /// When there is more than one rank.
    Something,
    /// When there is more than one virtual node, of so many ranks each.
    BetweenNodes(u32),
}

const fn path(
    name: &'static str,
    variables: &'static [(&'static str, &'static str)],
    shm: Carries,
    tcp: Carries,
) -> Path {
    Path { name, variables, shm, tcp }
}

/// Every way.
pub const PATHS: [Path; 6] = [
    path("direct", &[], Carries::WakeUps, Carries::Nothing),
    path("shm packets", &[("RMA_DIRECT", "0")], Carries::Something, Carries::Nothing),
    path("shm forced", &[("RMA_CHANNEL", "shm")], Carries::Something, Carries::Nothing),
    path("tcp", &[("RMA_CHANNEL", "tcp")], Carries::Nothing, Carries::Something),
    path("nodes of 2", &[("RMA_RANKS_PER_NODE", "2")], Carries::WakeUps, Carries::BetweenNodes(2)),
    path("nodes of 3", &[("RMA_RANKS_PER_NODE", "3")], Carries::WakeUps, Carries::BetweenNodes(3)),
];

/// The three ways that differ between two ranks: direct, packets over shm, packets over tcp.
pub const PURE_PATHS: [Path; 3] = [PATHS[0], PATHS[1], PATHS[3]];

/// Everything that has a size, at its smallest. Limits in time are left alone, except that no wait spins.
pub const SMALLEST: [(&str, &str); 34] = [
    ("RMA_SLOTS", "1"),
    ("RMA_OP_POOL_WINDOW", "1"),
    ("RMA_OP_POOL_GLOBAL", "0"),
    ("RMA_TARGET_POOL_WINDOW", "1"),
    ("RMA_TARGET_POOL_GLOBAL", "0"),
    ("RMA_PIGGYBACK_THRESHOLD", "0"),
    ("RMA_PACK_FROM", "1"),
    ("RMA_LOCK_DATA_BYTES", "0"),
    ("RMA_LOCK_QUEUE_BYTES", "0"),
    ("RMA_LOCK_DIRECTORY", "1"),
    ("RMA_ANNOUNCERS", "1"),
    ("RMA_CREDITS", "1"),
    ("RMA_UNIT_BYTES", "16"),
    ("RMA_SHAPE_ENTRIES", "4"),
    ("RMA_POLL_PACKETS", "1"),
    ("RMA_POLL_BYTES", "1"),
    ("RMA_DIRECT_POLL_INTERVAL", "1"),
    ("RMA_SPIN", "0"),
    ("RMA_YIELDS", "0"),
    ("RMA_MESSAGE_EAGER", "0"),
    ("RMA_MESSAGE_WINDOW", "1"),
    ("RMA_SHM_RING_BYTES", "256"),
    ("RMA_SHM_PACKET_BYTES", "192"),
    ("RMA_SHM_BULK_BYTES", "1"),
    ("RMA_SHM_BACKLOG", "1"),
    ("RMA_SHM_CHECK_INTERVAL", "1"),
    ("RMA_TCP_PACKET_BYTES", "192"),
    ("RMA_TCP_BULK_BYTES", "1"),
    ("RMA_TCP_SEND_BYTES", "1"),
    ("RMA_TCP_BULKS", "1"),
    ("RMA_TCP_RECEIVE_BYTES", "1"),
    ("RMA_TCP_CHUNK_BYTES", "1"),
    ("RMA_TCP_SOCKET_BYTES", "1"),
    ("RMA_TCP_STRANGERS", "1"),
];

impl Path {
    /// Checks that the packets of a job went where this path has them go.
    ///
    /// # Panics
    /// When they did not.
    pub fn check(&self, ranks: u32, ended: &Ended) {
        for (channel, carries) in [("shm", self.shm), ("tcp", self.tcp)] {
            let expected = match carries {
                Carries::Nothing => false,
                Carries::WakeUps => continue,
                Carries::Something => ranks > 1,
                Carries::BetweenNodes(size) => ranks > size,
            };
            let packets = ended.packets(channel);
            assert_eq!(
                packets > 0,
                expected,
                "{}: {packets} packets over {channel} with {ranks} ranks",
                self.name
            );
        }
    }
}
