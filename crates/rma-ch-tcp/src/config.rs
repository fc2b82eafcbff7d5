//! The settings of a TCP channel: those of the job, and the table of variables with the limits that follow
//! from them.
//!
//! Invariant: every limit of [`Limits`] is large enough for one packet, whatever the variables say. Knows no connection.

use crate::frame::{BULK_HEADER, HEADER};
use rma_core::channel::MIN_PACKET;
use rma_core::ids::Peer;
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::time::Duration;

/// Longest packet that can be configured; also bounds what a peer may announce.
pub(crate) const LONGEST_PACKET: u64 = 1 << 20;

rma_core::variables! {
    /// Sizes and time-outs of the TCP channel.
    pub struct TcpConfig {
        /// Longest small packet.
        packet_bytes: u64 = 16384u64, "RMA_TCP_PACKET_BYTES", Bytes, MIN_PACKET as u64..=1 << 20,
            "longest packet that is copied into the send queue; the same in all processes of a job",
            "covers the bodies below the bulk threshold, and keeps what is kept for a peer small";
        /// Bodies from this size on are sent from where they lie.
        bulk_bytes: u64 = 8192u64, "RMA_TCP_BULK_BYTES", Bytes, 1..=1 << 20,
            "bodies from this size on are not copied into the send queue (at most the longest packet)",
            "below it the copy costs less than the second frame header and the longer system call";
        /// Send queue of each peer and lane.
        send_bytes: u64 = 262_144u64, "RMA_TCP_SEND_BYTES", Bytes, 1..=1 << 30,
            "packets queued for each peer in each of the two lanes; grows as it is used",
            "thousands of small operations become a few writes, and a slow peer holds no more than this";
        /// Bulk bodies queued for each peer and lane.
        bulks: u64 = 64u64, "RMA_TCP_BULKS", Count, 1..=1 << 16,
            "bodies that wait or are under way for each peer in each of the two lanes",
            "enough to keep a connection busy, and an entry is small";
        /// Receive buffer of each connection.
        receive_bytes: u64 = 32768u64, "RMA_TCP_RECEIVE_BYTES", Bytes, 1..=1 << 30,
            "what one read takes in for small packets (at least the longest packet)",
            "hundreds of small packets in one read; more would copy more of the bodies";
        /// Longest piece of a bulk body that keeps the other lane waiting.
        chunk_bytes: u64 = 1u64 << 20, "RMA_TCP_CHUNK_BYTES", Bytes, 1..=1 << 30,
            "a body is cut into pieces of this size, and packets of the other lane go between them",
            "0.1 ms on a fast link; one call of the system for 1 MiB, where two took a fifth longer";
        /// Socket buffers; 0 leaves them to the system.
        socket_bytes: u64 = 0u64, "RMA_TCP_SOCKET_BYTES", Bytes, 0..=1 << 30,
            "SO_SNDBUF and SO_RCVBUF of every connection; 0 leaves them to the system. With a few KiB small messages may wait for the system, a fifth of a second each",
            "the system sizes them by the measured round trip, which a fixed number would turn off";
        /// Connections that are read without asking the system first.
        direct_reads: u64 = 2u64, "RMA_TCP_DIRECT_READS", Count, 0..=64,
            "the most recently active connections that each poll reads without asking which are readable",
            "one system call fewer in a round trip; more would cost a poll that finds nothing too much";
        /// How long the system may take to make a connection.
        connect_timeout_s: u64 = 30u64, "RMA_TCP_CONNECT_TIMEOUT", Seconds, 1..=86_400,
            "a peer whose system does not answer for so long is unreachable; a busy peer is not",
            "several repeated connection requests, yet shorter than the system's own two minutes";
        /// How long an incoming connection may take to authenticate.
        handshake_timeout_s: u64 = 10u64, "RMA_TCP_HANDSHAKE_TIMEOUT", Seconds, 1..=86_400,
            "an incoming connection that does not authenticate in so long is dropped",
            "far more than a peer needs, yet unauthenticated connections soon make room";
        /// Incoming connections that have not authenticated.
        unauthenticated: u64 = 64u64, "RMA_TCP_STRANGERS", Count, 1..=1 << 16,
            "incoming connections that may be authenticating at one time; for more, those that are silent make way",
            "a whole node of peers at once, at a cost of a few hundred bytes each";
        /// Proof of every byte behind the handshake.
        authenticate: bool = false, "RMA_TCP_AUTHENTICATE", Switch, (),
            "what is sent carries a proof that it comes from the peer, whole and in order; the same in all processes of a job",
            "a network that only the job's machines are on needs none, and it costs each byte a copy and a hash on both sides";
        /// How long the peer's system may leave bytes unconfirmed; 0 leaves that to this system.
        ack_timeout_s: u64 = 30u64, "RMA_TCP_ACK_TIMEOUT", Seconds, 0..=86_400,
            "a peer whose system confirms nothing of what is under way for so long is lost; 0 leaves that to this system",
            "a cut network shows nothing else, and the system alone takes a quarter of an hour; each gap is tried seven times";
        /// Silence after which the system asks whether the peer's system is there; 0 turns it off.
        keepalive_s: u64 = 60u64, "RMA_TCP_KEEPALIVE", Seconds, 0..=32_767,
            "silence after which the peer's system is asked for a sign of life; 0 turns that off",
            "finds a machine without power in some minutes; a stopped process is alive, its system answers";
    }
}

/// Looks up the address text of a peer; see [`TcpSettings::directory`].
pub type Directory = Box<dyn FnMut(Peer) -> io::Result<String> + Send>;

/// What one process of a job needs to talk to the others over TCP.
pub struct TcpSettings {
    /// This process.
    pub me: Peer,
    /// Number of processes in the job.
    pub size: u32,
    /// Name of the job, so that the processes of two jobs never mix.
    pub job: String,
    /// What all processes of the job know, and no other process.
    pub secret: [u8; 32],
    /// Address of the interface to listen on: a specific one, since it is what the others connect to.
    pub listen: IpAddr,
    /// Sizes and time-outs.
    pub config: TcpConfig,
    /// Answers what [`crate::TcpChannel::address`] said in the process of that number, behind which `@` and the name of its machine may
    /// stand, for messages; asked at the first contact.
    pub directory: Directory,
}

impl fmt::Debug for TcpSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TcpSettings")
            .field("me", &self.me)
            .field("size", &self.size)
            .field("job", &self.job)
            .field("listen", &self.listen)
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

/// The variables as the channel uses them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) packet: usize,
    pub(crate) bulk_from: usize,
    /// Room of a lane's send queue, frame headers included.
    pub(crate) lane: usize,
    pub(crate) bulks: usize,
    pub(crate) receive: usize,
    pub(crate) chunk: u32,
    pub(crate) socket: Option<usize>,
    pub(crate) direct_reads: usize,
    pub(crate) connect_timeout: Duration,
    pub(crate) handshake_timeout: Duration,
    pub(crate) unauthenticated: usize,
    pub(crate) authenticate: bool,
    pub(crate) ack_timeout: Option<Duration>,
    pub(crate) keepalive: Option<Duration>,
}

impl Limits {
    pub(crate) fn new(config: &TcpConfig) -> Self {
        let packet = as_len(config.packet_bytes.clamp(MIN_PACKET as u64, LONGEST_PACKET));
        let longest_frame = packet + HEADER.max(BULK_HEADER);
        Self {
            packet,
            bulk_from: as_len(config.bulk_bytes).min(packet),
            lane: as_len(config.send_bytes).max(longest_frame),
            bulks: as_len(config.bulks).max(1),
            receive: as_len(config.receive_bytes).max(longest_frame),
            chunk: u32::try_from(config.chunk_bytes).unwrap_or(u32::MAX).max(1),
            socket: (config.socket_bytes > 0).then(|| as_len(config.socket_bytes)),
            direct_reads: as_len(config.direct_reads),
            connect_timeout: Duration::from_secs(config.connect_timeout_s),
            handshake_timeout: Duration::from_secs(config.handshake_timeout_s),
            unauthenticated: as_len(config.unauthenticated).max(1),
            authenticate: config.authenticate,
            ack_timeout: (config.ack_timeout_s > 0).then(|| Duration::from_secs(config.ack_timeout_s)),
            keepalive: (config.keepalive_s > 0).then(|| Duration::from_secs(config.keepalive_s)),
        }
    }
}

/// All ranges of the table end far below the address space of any supported system.
fn as_len(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_values_leave_room_for_one_packet() {
        let smallest = TcpConfig::read(&|name| {
            Some(
                match name {
                    "RMA_TCP_PACKET_BYTES" => "192",
                    "RMA_TCP_SOCKET_BYTES"
                    | "RMA_TCP_DIRECT_READS"
                    | "RMA_TCP_AUTHENTICATE"
                    | "RMA_TCP_ACK_TIMEOUT"
                    | "RMA_TCP_KEEPALIVE" => "0",
                    _ => "1",
                }
                .to_owned(),
            )
        })
        .unwrap();
        let limits = Limits::new(&smallest);
        assert_eq!((limits.packet, limits.bulk_from, limits.chunk, limits.bulks), (192, 1, 1, 1));
        assert_eq!((limits.lane, limits.receive), (192 + BULK_HEADER, 192 + BULK_HEADER));
        assert_eq!((limits.socket, limits.ack_timeout, limits.keepalive), (None, None, None));
    }

    #[test]
    fn a_bulk_threshold_over_the_longest_packet_is_the_longest_packet() {
        let config = TcpConfig { packet_bytes: 1000, bulk_bytes: 5000, ..TcpConfig::default() };
        assert_eq!(Limits::new(&config).bulk_from, 1000);
    }

    #[test]
    fn the_secret_does_not_print() {
        let settings = TcpSettings {
            me: Peer(1),
            size: 2,
            job: "j".to_owned(),
            secret: [0xab; 32],
            listen: IpAddr::from([127, 0, 0, 1]),
            config: TcpConfig::default(),
            directory: Box::new(|_| Ok(String::new())),
        };
        let text = format!("{settings:?}");
        assert!(text.contains("job") && !text.contains("171") && !text.contains("secret"), "{text}");
    }
}
