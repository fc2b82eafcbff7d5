//! The messages on the socket between two processes, as bytes: hello, welcome, refusal, goodbye, knock.
//!
//! | message | sent by | with |
//! | --- | --- | --- |
//! | hello | the initiator, first | the block's memory and its doorbell |
//! | welcome | the acceptor, in answer | its doorbell |
//! | refusal | either, instead of anything, before it closes | |
//! | goodbye | either, last, when it leaves in order | |
//! | knock | the initiator, while it does not have the acceptor's doorbell | |
//!
//! Invariants: whatever bytes come, reading them yields one of these messages or a refusal. A hello or welcome is believed
//! only with a proof over all its bytes. No behaviour here; `crates/rma-ch-shm/wire.md` draws the bytes.

use crate::identity::{Identity, PROOF_LEN};
use crate::layout::Geometry;
use rma_core::ids::Peer;
use rma_core::processor::Processor;

const MAGIC: [u8; 4] = *b"RMAs";
const VERSION: u8 = 2;

/// Bytes of the messages without a proof.
const SHORT: usize = 8;

/// Bytes of a hello or welcome before the proof.
const PROVEN: usize = 40;

/// Bytes of the longest message.
pub(crate) const LONGEST: usize = PROVEN + PROOF_LEN;

macro_rules! refusals {
    ($($name:ident = $code:literal, $text:literal;)*) => {
        /// Why a process does not talk to another.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(crate) enum Refusal {
            $(#[doc = $text] $name = $code,)*
        }

        impl Refusal {
            #[cfg(test)]
            const ALL: &[Self] = &[$(Self::$name),*];

            fn from_code(code: u8) -> Option<Self> {
                match code {
                    $($code => Some(Self::$name),)*
                    _ => None,
                }
            }

            /// The reason as a clause.
            pub(crate) fn text(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

refusals! {
    Message = 1, "the message is not one of this library";
    Version = 2, "the two processes have different versions of the library";
    Proof = 3, "the proof of the job's secret is wrong";
    Number = 4, "the process numbers are not those of this connection";
    Sizes = 5, "RMA_SHM_RING_BYTES or RMA_SHM_PACKET_BYTES differ between the two processes";
    Descriptors = 6, "the descriptors that came along are not those of a connection";
    Repeated = 7, "the two processes are connected already";
    Packet = 8, "a packet was not understood";
    Resources = 9, "the system refused memory or a descriptor";
    Files = 10, "its limit of open files is reached (RLIMIT_NOFILE, ulimit -n)";
    Processor = 11, "the two processes are built for processors of different kinds, whose numbers have different bytes";
}

/// A message as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// Hello or welcome of a process of this job.
    Hello(Peer),
    Welcome(Peer),
    Refusal(Refusal),
    Goodbye,
    Knock,
}

/// This process, as its hellos and welcomes say.
#[derive(Debug)]
pub(crate) struct Introduction {
    identity: Identity,
    me: Peer,
    size: u32,
    geometry: Geometry,
    processor: Processor,
}

#[derive(Clone, Copy)]
#[repr(u8)]
enum Code {
    Hello = 1,
    Welcome = 2,
    Refusal = 3,
    Goodbye = 4,
    Knock = 5,
}

impl Introduction {
    pub(crate) fn new(identity: Identity, me: Peer, size: u32, geometry: Geometry) -> Self {
        Self { identity, me, size, geometry, processor: Processor::HERE }
    }

    pub(crate) fn identity(&self) -> &Identity {
        &self.identity
    }

    pub(crate) fn me(&self) -> Peer {
        self.me
    }

    pub(crate) fn size(&self) -> u32 {
        self.size
    }

    pub(crate) fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// The first message of a connection.
    pub(crate) fn hello(&self, to: Peer) -> [u8; LONGEST] {
        self.proven(Code::Hello, to)
    }

    /// The answer to a hello.
    pub(crate) fn welcome(&self, to: Peer) -> [u8; LONGEST] {
        self.proven(Code::Welcome, to)
    }

    /// Reads a message; a refusal is what to answer.
    pub(crate) fn read(&self, bytes: &[u8]) -> Result<Message, Refusal> {
        let (Some(magic), Some(&[version, code, reason, _])) = (bytes.get(..4), bytes.get(4..SHORT)) else {
            return Err(Refusal::Message);
        };
        if magic != MAGIC {
            return Err(Refusal::Message);
        }
        if version != VERSION {
            return Err(Refusal::Version);
        }
        match (code, bytes.len()) {
            (1, LONGEST) => self.read_proven(bytes).map(Message::Hello),
            (2, LONGEST) => self.read_proven(bytes).map(Message::Welcome),
            (3, SHORT) => Refusal::from_code(reason).map(Message::Refusal).ok_or(Refusal::Message),
            (4, SHORT) => Ok(Message::Goodbye),
            (5, SHORT) => Ok(Message::Knock),
            _ => Err(Refusal::Message),
        }
    }

    fn proven(&self, code: Code, to: Peer) -> [u8; LONGEST] {
        let mut bytes = [0; LONGEST];
        bytes[..SHORT].copy_from_slice(&short(code, 0));
        bytes[8..12].copy_from_slice(&self.me.0.to_le_bytes());
        bytes[12..16].copy_from_slice(&to.0.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.size.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.processor.word().to_le_bytes());
        bytes[24..32].copy_from_slice(&self.geometry.ring_bytes().to_le_bytes());
        bytes[32..40].copy_from_slice(&(self.geometry.max_packet() as u64).to_le_bytes());
        let proof = self.identity.proof(&bytes[..PROVEN]);
        bytes[PROVEN..].copy_from_slice(&proof);
        bytes
    }

    fn read_proven(&self, bytes: &[u8]) -> Result<Peer, Refusal> {
        if !self.identity.is_proof(&bytes[..PROVEN], &bytes[PROVEN..]) {
            return Err(Refusal::Proof);
        }
        let from = Peer(u32_at(bytes, 8));
        let names = (u32_at(bytes, 12), u32_at(bytes, 16));
        if names != (self.me.0, self.size) || from.0 >= self.size || from == self.me {
            return Err(Refusal::Number);
        }
        if Processor::of_word(u32_at(bytes, 20)) != self.processor {
            return Err(Refusal::Processor);
        }
        if Geometry::announced(u64_at(bytes, 24), u64_at(bytes, 32)) != self.geometry {
            return Err(Refusal::Sizes);
        }
        Ok(from)
    }
}

/// The message that says why nothing else comes.
pub(crate) fn refusal(reason: Refusal) -> [u8; SHORT] {
    short(Code::Refusal, reason as u8)
}

/// The last message of a process that leaves in order.
pub(crate) fn goodbye() -> [u8; SHORT] {
    short(Code::Goodbye, 0)
}

/// Wakes the acceptor.
pub(crate) fn knock() -> [u8; SHORT] {
    short(Code::Knock, 0)
}

fn short(code: Code, reason: u8) -> [u8; SHORT] {
    let [a, b, c, d] = MAGIC;
    [a, b, c, d, VERSION, code as u8, reason, 0]
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ShmConfig;

    fn introduction(me: u32, size: u32, secret: u8, ring_bytes: u64) -> Introduction {
        let identity = Identity::new("job".to_owned(), [secret; 32]);
        let config = ShmConfig { ring_bytes, ..ShmConfig::default() };
        Introduction::new(identity, Peer(me), size, Geometry::new(&config))
    }

    #[test]
    fn messages_survive() {
        let (one, two) = (introduction(1, 4, 9, 4096), introduction(2, 4, 9, 4096));
        assert_eq!(two.read(&one.hello(Peer(2))), Ok(Message::Hello(Peer(1))));
        assert_eq!(one.read(&two.welcome(Peer(1))), Ok(Message::Welcome(Peer(2))));
        assert_eq!(one.read(&goodbye()), Ok(Message::Goodbye));
        assert_eq!(one.read(&knock()), Ok(Message::Knock));
        for reason in Refusal::ALL {
            assert_eq!(one.read(&refusal(*reason)), Ok(Message::Refusal(*reason)));
            assert!(!reason.text().is_empty());
        }
    }

    #[test]
    fn each_difference_has_its_refusal() {
        let two = introduction(2, 4, 9, 4096);
        for (other, to, reason) in [
            (introduction(1, 4, 8, 4096), 2, Refusal::Proof),
            (introduction(1, 4, 9, 4096), 3, Refusal::Number),
            (introduction(2, 4, 9, 4096), 2, Refusal::Number),
            (introduction(5, 4, 9, 4096), 2, Refusal::Number),
            (introduction(1, 5, 9, 4096), 2, Refusal::Number),
            (introduction(1, 4, 9, 8192), 2, Refusal::Sizes),
        ] {
            assert_eq!(two.read(&other.hello(Peer(to))), Err(reason), "{other:?}");
        }
        let foreign = Processor::of_word(Processor::HERE.word() ^ 3 << 16);
        let other = Introduction { processor: foreign, ..introduction(1, 4, 9, 4096) };
        assert_eq!(two.read(&other.hello(Peer(2))), Err(Refusal::Processor));
        let mut newer = introduction(1, 4, 9, 4096).hello(Peer(2));
        newer[4] = VERSION + 1;
        assert_eq!(two.read(&newer), Err(Refusal::Version));
    }

    #[test]
    fn no_change_of_a_hello_and_no_other_bytes_pass_for_one() {
        let (one, two) = (introduction(1, 4, 9, 4096), introduction(2, 4, 9, 4096));
        let hello = one.hello(Peer(2));
        for at in 0..hello.len() {
            for bit in 0..8 {
                let mut changed = hello;
                changed[at] ^= 1 << bit;
                assert!(!matches!(two.read(&changed), Ok(Message::Hello(_))), "byte {at} bit {bit}");
            }
        }
        for len in 0..hello.len() {
            assert_eq!(two.read(&hello[..len]), Err(Refusal::Message), "{len} bytes");
        }
        let mut state = 1u64;
        for len in (0..200).cycle().take(20_000) {
            let random = |_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 56) as u8
            };
            let mut bytes = (0..len).map(random).collect::<Vec<u8>>();
            assert!(two.read(&bytes).is_err());
            let known = bytes.len().min(5);
            bytes[..known].copy_from_slice(&hello[..known]);
            assert!(!matches!(two.read(&bytes), Ok(Message::Hello(_) | Message::Welcome(_))));
        }
    }
}
