//! The handshake as messages: which side may send what, and what follows from it. No connection, no time, no
//! choice of numbers.
//!
//! The side that connects (dialer) and the side that is connected to (answerer) prove to each other that they know the
//! job's secret, without saying it: each sends a fresh random number, and each answers with a keyed hash (HMAC-SHA-256)
//! over everything said so far. The two proofs are over different words, so neither can be played back as the other.
//!
//! ```text
//!   dialer                                  answerer
//!     hello: from, to, job, number ───────▶   checks what needs no secret
//!     checks the proof  ◀─── answer: go on (or why not), number, proof
//!     proof ──────────────────────────────▶   checks it: now the dialer is known
//!     ◀────────────────────────────── verdict: accepted, mine instead, or refused
//! ```
//!
//! Invariants: no message has a variable length; proofs are compared in constant time; nothing is believed before the
//! proof (a hello is only a claim). Frames may follow the verdict at once. `crates/rma-ch-tcp/wire.md` has the bytes.

use crate::mac::Mac;
use crate::seal::Keys;
use rma_core::ids::Peer;
use rma_core::processor::Processor;
use std::fmt;

/// Length of a hello.
pub(crate) const HELLO: usize = 104;
/// Length of an answer.
pub(crate) const ANSWER: usize = 84;
/// Length of a proof.
pub(crate) const PROOF: usize = 32;
/// Length of a verdict.
pub(crate) const VERDICT: usize = 8;
/// The longest message.
pub(crate) const LONGEST: usize = HELLO;
/// Bytes at the start of hello and answer that are the same in all versions: magic, version, byte order.
pub(crate) const PREFIX: usize = 12;

/// What stands before the proof in an answer.
const UNPROVEN: usize = ANSWER - 32;

const MAGIC: [u8; 8] = *b"\x89rmatcp\n";
const VERSION: u16 = 2;
/// Written in the order of the machine's bytes, so that the other kind of machine reads another number.
const ORDER: u16 = 0x0102;

const ANSWERER_LABEL: &[u8] = b"rma tcp 2 answerer";
const DIALER_LABEL: &[u8] = b"rma tcp 2 dialer";
/// For the keys of what follows the handshake.
const ANSWERER_FRAMES_LABEL: &[u8] = b"rma tcp 2 frames of the answerer";
const DIALER_FRAMES_LABEL: &[u8] = b"rma tcp 2 frames of the dialer";

/// A random number that is used once.
pub(crate) type Nonce = [u8; 32];

/// What this process says of itself and knows of the job.
pub(crate) struct Identity {
    pub(crate) me: Peer,
    pub(crate) size: u32,
    terms: Terms,
    job: [u8; 32],
    secret: [u8; 32],
}

/// What has to be the same on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    /// The longest packet.
    pub(crate) packet: u32,
    pub(crate) processor: Processor,
    /// Whether what follows the handshake is sealed.
    pub(crate) authenticate: bool,
}

/// Why a handshake goes no further: the codes that an answer carries instead of a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// It did not start like a handshake.
    Magic,
    Version(u16),
    ByteOrder,
    Job,
    Size(u32),
    /// The hello is meant for another process.
    NotMe(Peer),
    /// The hello's sender is not another process of the job.
    From(Peer),
    /// The two processes differ in the longest packet.
    Packet(u32),
    /// The other side is built for this kind of processor.
    Processor(Processor),
    /// The two processes differ in whether frames are authenticated.
    Authenticate(bool),
    Proof,
    /// Bits that are always zero, or a code that is never sent.
    Reserved,
    /// The other side has no descriptor left for a connection.
    Files,
}

/// The end of a handshake that did not get to a proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) reason: Reason,
    /// What to send before closing.
    pub(crate) answer: Option<[u8; ANSWER]>,
}

/// The last word of a handshake, about an authenticated dialer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// This connection is the one between the two.
    Accepted,
    /// The answerer is connecting too, and its connection will be the one.
    Mine,
    /// The answerer has given the dialer up, or has a connection to it already.
    Refused,
}

/// The dialer after its hello.
pub(crate) struct Dialer {
    to: Peer,
    hello: [u8; HELLO],
}

/// The answerer after its answer.
pub(crate) struct Answerer {
    from: Peer,
    hello: [u8; HELLO],
    answer: [u8; ANSWER],
}

impl Identity {
    pub(crate) fn new(me: Peer, size: u32, job: &str, secret: [u8; 32], terms: Terms) -> Self {
        Self { me, size, terms, job: hmac_sha256::Hash::hash(job.as_bytes()), secret }
    }

    /// Starts a handshake with `to`: the state, and the hello to send.
    pub(crate) fn dial(&self, to: Peer, nonce: Nonce) -> (Dialer, [u8; HELLO]) {
        let mut hello = [0; HELLO];
        let mut out = Writer(&mut hello);
        out.put(&prefix());
        out.put(&self.size.to_le_bytes());
        out.put(&self.me.0.to_le_bytes());
        out.put(&to.0.to_le_bytes());
        out.put(&self.terms.packet.to_le_bytes());
        out.put(&self.terms.processor.word().to_le_bytes());
        out.put(&u32::from(self.terms.authenticate).to_le_bytes());
        out.put(&[0; 4]);
        out.put(&self.job);
        out.put(&nonce);
        (Dialer { to, hello }, hello)
    }

    /// Reads a hello: the state and the answer to send.
    ///
    /// # Errors
    /// When the handshake is over: the reason, and what to send before closing (nothing to a dialer of
    /// another protocol).
    pub(crate) fn answer(
        &self,
        hello: &[u8; HELLO],
        nonce: Nonce,
    ) -> Result<(Answerer, [u8; ANSWER]), Refusal> {
        let from = self.check_hello(hello).map_err(|reason| {
            let answer =
                (reason != Reason::Magic).then(|| emit_answer(reason.code(), self.terms.processor, &[0; 32]));
            Refusal { reason, answer }
        })?;
        let mut answer = emit_answer(0, self.terms.processor, &nonce);
        let proof = self.mac(ANSWERER_LABEL, &[hello, &answer[..UNPROVEN]]).finish();
        answer[UNPROVEN..].copy_from_slice(&proof);
        Ok((Answerer { from, hello: *hello, answer }, answer))
    }

    /// Reads an answer: the proof to send.
    ///
    /// # Errors
    /// When the answerer says why not, or has not proven that it is of the job.
    pub(crate) fn prove(&self, dialer: &Dialer, answer: &[u8; ANSWER]) -> Result<[u8; PROOF], Reason> {
        check_prefix(answer)?;
        let mut input = Reader(&answer[PREFIX..]);
        let code = u32::from_le_bytes(input.take());
        let processor = Processor::of_word(u32::from_le_bytes(input.take()));
        if code != 0 {
            return Err(self.refused(dialer, code, processor));
        }
        let mac = self.mac(ANSWERER_LABEL, &[&dialer.hello, &answer[..UNPROVEN]]);
        if !mac.begins_with(&answer[UNPROVEN..]) {
            return Err(Reason::Proof);
        }
        Ok(self.mac(DIALER_LABEL, &[&dialer.hello, answer]).finish())
    }

    /// Reads a proof: which process the dialer is.
    ///
    /// # Errors
    /// When it does not know the secret.
    pub(crate) fn verify(&self, answerer: &Answerer, proof: &[u8; PROOF]) -> Result<Peer, Reason> {
        let mac = self.mac(DIALER_LABEL, &[&answerer.hello, &answerer.answer]);
        if mac.begins_with(proof) { Ok(answerer.from) } else { Err(Reason::Proof) }
    }

    /// The dialer's keys for what follows a proven answer, if it is to be sealed.
    pub(crate) fn keys_of_dialer(&self, dialer: &Dialer, answer: &[u8; ANSWER]) -> Option<Keys> {
        let (send, receive) = self.keys(&dialer.hello, answer)?;
        Some(Keys { send, receive })
    }

    /// The answerer's keys for what follows a verified proof, if it is to be sealed.
    pub(crate) fn keys_of_answerer(&self, answerer: &Answerer) -> Option<Keys> {
        let (receive, send) = self.keys(&answerer.hello, &answerer.answer)?;
        Some(Keys { send, receive })
    }

    /// Keys of the dialer's and of the answerer's frames: of this secret, and of this connection by both random numbers.
    fn keys(&self, hello: &[u8; HELLO], answer: &[u8; ANSWER]) -> Option<([u8; 32], [u8; 32])> {
        let key = |label| self.mac(label, &[hello, answer]).finish();
        self.terms.authenticate.then(|| (key(DIALER_FRAMES_LABEL), key(ANSWERER_FRAMES_LABEL)))
    }

    fn check_hello(&self, hello: &[u8; HELLO]) -> Result<Peer, Reason> {
        check_prefix(hello)?;
        let mut input = Reader(&hello[PREFIX..]);
        let size = u32::from_le_bytes(input.take());
        let from = Peer(u32::from_le_bytes(input.take()));
        let to = Peer(u32::from_le_bytes(input.take()));
        let packet = u32::from_le_bytes(input.take());
        let processor = Processor::of_word(u32::from_le_bytes(input.take()));
        let authenticate = match u32::from_le_bytes(input.take()) {
            0 => false,
            1 => true,
            _ => return Err(Reason::Reserved),
        };
        if input.take::<4>() != [0; 4] {
            return Err(Reason::Reserved);
        }
        if input.take::<32>() != self.job {
            return Err(Reason::Job);
        }
        if size != self.size {
            return Err(Reason::Size(size));
        }
        if to != self.me {
            return Err(Reason::NotMe(to));
        }
        if from == self.me || from.0 >= self.size {
            return Err(Reason::From(from));
        }
        if processor != self.terms.processor {
            return Err(Reason::Processor(processor));
        }
        if packet != self.terms.packet {
            return Err(Reason::Packet(packet));
        }
        if authenticate != self.terms.authenticate {
            return Err(Reason::Authenticate(authenticate));
        }
        Ok(from)
    }

    /// What a code in an answer means to the dialer, which knows what it said; the answerer has said what its
    /// processor is.
    fn refused(&self, dialer: &Dialer, code: u32, processor: Processor) -> Reason {
        let all = [
            Reason::Version(VERSION),
            Reason::ByteOrder,
            Reason::Job,
            Reason::Size(self.size),
            Reason::NotMe(dialer.to),
            Reason::From(self.me),
            Reason::Packet(self.terms.packet),
            Reason::Processor(processor),
            Reason::Authenticate(self.terms.authenticate),
            Reason::Files,
        ];
        all.into_iter().find(|reason| reason.code() == code).unwrap_or(Reason::Reserved)
    }

    fn mac(&self, label: &[u8], parts: &[&[u8]]) -> Mac {
        let mut mac = Mac::new(&self.secret);
        mac.update(label);
        for part in parts {
            mac.update(part);
        }
        mac
    }
}

/// Whether these first [`PREFIX`] bytes, or fewer, can start a hello of this version. Asked before all of it
/// is there, so that a speaker of another protocol is not waited for.
///
/// # Errors
/// When they cannot.
pub(crate) fn check_start(bytes: &[u8]) -> Result<(), Reason> {
    match bytes.get(..PREFIX) {
        Some(prefix) => check_prefix(prefix),
        None if MAGIC.starts_with(&bytes[..bytes.len().min(MAGIC.len())]) => Ok(()),
        None => Err(Reason::Magic),
    }
}

impl Verdict {
    /// The message.
    pub(crate) fn emit(self) -> [u8; VERDICT] {
        let code = match self {
            Self::Accepted => 1,
            Self::Mine => 2,
            Self::Refused => 3,
        };
        [code, 0, 0, 0, 0, 0, 0, 0]
    }

    /// Reads the message.
    ///
    /// # Errors
    /// When it is none.
    pub(crate) fn parse(bytes: &[u8; VERDICT]) -> Result<Self, Reason> {
        [Self::Accepted, Self::Mine, Self::Refused]
            .into_iter()
            .find(|verdict| verdict.emit() == *bytes)
            .ok_or(Reason::Reserved)
    }
}

impl Reason {
    /// What an answer carries; never 0, which is "go on".
    fn code(self) -> u32 {
        match self {
            Self::Magic => 1,
            Self::Version(_) => 2,
            Self::ByteOrder => 3,
            Self::Job => 4,
            Self::Size(_) => 5,
            Self::NotMe(_) => 6,
            Self::From(_) => 7,
            Self::Packet(_) => 8,
            Self::Proof => 9,
            Self::Reserved => 10,
            Self::Files => 11,
            Self::Processor(_) => 12,
            Self::Authenticate(_) => 13,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Magic => f.write_str("it does not speak this protocol"),
            Self::Version(theirs) => write!(f, "version {theirs} of the protocol is not understood"),
            Self::ByteOrder => f.write_str("the two machines order bytes differently"),
            Self::Job => f.write_str("another job's name"),
            Self::Size(size) => write!(f, "a job of {size} processes is not the job of the other side"),
            Self::NotMe(peer) => write!(f, "the connection is meant for process {peer}, which is not here"),
            Self::From(peer) => write!(f, "a connection from process {peer} is not possible"),
            Self::Packet(bytes) => {
                write!(f, "RMA_TCP_PACKET_BYTES is {bytes} and not as on the other side")
            }
            Self::Processor(theirs) => write!(
                f,
                "the other side is built for another kind of processor ({theirs}) than this one ({}), and numbers have other bytes \
                 there",
                Processor::HERE
            ),
            Self::Authenticate(switch) => {
                write!(f, "RMA_TCP_AUTHENTICATE is {} and not as on the other side", u8::from(*switch))
            }
            Self::Proof => f.write_str("it does not know the job's secret"),
            Self::Reserved => f.write_str("a handshake message with a value that is never sent"),
            Self::Files => f.write_str("its limit of open files is reached (RLIMIT_NOFILE, ulimit -n)"),
        }
    }
}

/// The answer to a connection that cannot be taken in, whatever it says.
pub(crate) fn turned_away() -> [u8; ANSWER] {
    emit_answer(Reason::Files.code(), Processor::HERE, &[0; 32])
}

fn prefix() -> [u8; PREFIX] {
    let mut bytes = [0; PREFIX];
    let mut out = Writer(&mut bytes);
    out.put(&MAGIC);
    out.put(&VERSION.to_le_bytes());
    out.put(&ORDER.to_ne_bytes());
    bytes
}

fn check_prefix(bytes: &[u8]) -> Result<(), Reason> {
    let mut input = Reader(bytes);
    if input.take() != MAGIC {
        return Err(Reason::Magic);
    }
    match u16::from_le_bytes(input.take()) {
        VERSION => {}
        other => return Err(Reason::Version(other)),
    }
    if u16::from_ne_bytes(input.take()) == ORDER { Ok(()) } else { Err(Reason::ByteOrder) }
}

/// An answer without its proof.
fn emit_answer(code: u32, processor: Processor, nonce: &Nonce) -> [u8; ANSWER] {
    let mut answer = [0; ANSWER];
    let mut out = Writer(&mut answer);
    out.put(&prefix());
    out.put(&code.to_le_bytes());
    out.put(&processor.word().to_le_bytes());
    out.put(nonce);
    answer
}

/// Fills a message of fixed length from its start.
struct Writer<'a>(&'a mut [u8]);

impl Writer<'_> {
    fn put(&mut self, bytes: &[u8]) {
        let (here, rest) = std::mem::take(&mut self.0).split_at_mut(bytes.len());
        here.copy_from_slice(bytes);
        self.0 = rest;
    }
}

/// Reads a message of fixed length from its start.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (here, rest) = self.0.split_first_chunk().expect("messages have all their fields");
        self.0 = rest;
        *here
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity of process {} of {}", self.me, self.size)
    }
}

impl fmt::Debug for Dialer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dialer of process {}", self.to)
    }
}

impl fmt::Debug for Answerer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Answerer of a claimed process {}", self.from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMS: Terms = Terms { packet: 4096, processor: Processor::HERE, authenticate: false };

    fn identity(me: u32) -> Identity {
        Identity::new(Peer(me), 4, "job", [7; 32], TERMS)
    }

    #[test]
    fn two_processes_of_a_job_know_each_other() {
        let (a, b) = (identity(0), identity(3));
        let (dialer, hello) = a.dial(Peer(3), [1; 32]);
        for len in 0..=HELLO {
            assert_eq!(check_start(&hello[..len]), Ok(()));
        }
        let (answerer, answer) = b.answer(&hello, [2; 32]).unwrap();
        let proof = a.prove(&dialer, &answer).unwrap();
        assert_eq!(b.verify(&answerer, &proof), Ok(Peer(0)));
        for verdict in [Verdict::Accepted, Verdict::Mine, Verdict::Refused] {
            assert_eq!(Verdict::parse(&verdict.emit()), Ok(verdict));
        }
    }

    #[test]
    fn the_secret_decides() {
        let (a, b) = (identity(0), identity(3));
        let outsider = Identity::new(Peer(0), 4, "job", [8; 32], TERMS);
        let (dialer, hello) = outsider.dial(Peer(3), [1; 32]);
        let (answerer, answer) = b.answer(&hello, [2; 32]).unwrap();
        assert_eq!(outsider.prove(&dialer, &answer), Err(Reason::Proof));
        let blind = outsider.mac(DIALER_LABEL, &[&hello, &answer]).finish();
        assert_eq!(b.verify(&answerer, &blind), Err(Reason::Proof));
        // What the answerer proves cannot be sent back as the dialer's proof.
        let mirrored = answer[UNPROVEN..].try_into().unwrap();
        assert_eq!(b.verify(&answerer, &mirrored), Err(Reason::Proof));
        // A proof is for one pair of numbers.
        let (dialer, hello) = a.dial(Peer(3), [1; 32]);
        let (_, old) = b.answer(&hello, [2; 32]).unwrap();
        let proof = a.prove(&dialer, &old).unwrap();
        let (fresh, _) = b.answer(&hello, [3; 32]).unwrap();
        assert_eq!(b.verify(&fresh, &proof), Err(Reason::Proof));
    }

    #[test]
    fn a_changed_bit_is_noticed_wherever_it_is() {
        let (a, b) = (identity(0), identity(3));
        let (dialer, hello) = a.dial(Peer(3), [1; 32]);
        for bit in 0..HELLO * 8 {
            let mut changed = hello;
            changed[bit / 8] ^= 1 << (bit % 8);
            if let Ok((_, answer)) = b.answer(&changed, [2; 32]) {
                assert_eq!(a.prove(&dialer, &answer), Err(Reason::Proof), "bit {bit} of the hello");
            }
        }
        let (answerer, answer) = b.answer(&hello, [2; 32]).unwrap();
        for bit in 0..ANSWER * 8 {
            let mut changed = answer;
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(a.prove(&dialer, &changed).is_err(), "bit {bit} of the answer");
        }
        let proof = a.prove(&dialer, &answer).unwrap();
        for bit in 0..PROOF * 8 {
            let mut changed = proof;
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(b.verify(&answerer, &changed), Err(Reason::Proof), "bit {bit} of the proof");
        }
        for byte in 0..VERDICT {
            let mut changed = Verdict::Accepted.emit();
            changed[byte] ^= 0x40;
            assert_eq!(Verdict::parse(&changed), Err(Reason::Reserved));
        }
    }

    #[test]
    fn keys_are_of_one_connection_and_one_direction() {
        let with = |authenticate| {
            let terms = Terms { authenticate, ..TERMS };
            [0, 3].map(|me| Identity::new(Peer(me), 4, "job", [7; 32], terms))
        };
        let meet = |[a, b]: &[Identity; 2], [of_dialer, of_answerer]: [u8; 2]| {
            let (dialer, hello) = a.dial(Peer(3), [of_dialer; 32]);
            let (answerer, answer) = b.answer(&hello, [of_answerer; 32]).unwrap();
            (a.keys_of_dialer(&dialer, &answer), b.keys_of_answerer(&answerer))
        };
        let mut all = Vec::new();
        for random in [[1, 2], [1, 3], [4, 2]] {
            let (Some(a), Some(b)) = meet(&with(true), random) else { panic!("no keys") };
            assert_eq!((a.send, a.receive), (b.receive, b.send));
            all.extend([a.send, a.receive]);
        }
        all.sort_unstable();
        assert!(all.windows(2).all(|two| two[0] != two[1]), "a key serves twice");
        assert!(matches!(meet(&with(false), [1, 2]), (None, None)));
    }

    #[test]
    fn a_wrong_dialer_learns_why_and_one_of_another_protocol_nothing() {
        let b = identity(3);
        let with = |me: u32, size: u32, job: &str, terms: Terms, to: u32| {
            let dialing = Identity::new(Peer(me), size, job, [7; 32], terms);
            let (dialer, hello) = dialing.dial(Peer(to), [1; 32]);
            let Refusal { reason, answer } = b.answer(&hello, [2; 32]).expect_err("refused");
            (reason, dialing.prove(&dialer, &answer.unwrap()).unwrap_err())
        };
        assert_eq!(with(0, 4, "jab", TERMS, 3), (Reason::Job, Reason::Job));
        assert_eq!(with(0, 5, "job", TERMS, 3), (Reason::Size(5), Reason::Size(5)));
        assert_eq!(with(0, 4, "job", TERMS, 2), (Reason::NotMe(Peer(2)), Reason::NotMe(Peer(2))));
        assert_eq!(with(3, 4, "job", TERMS, 3), (Reason::From(Peer(3)), Reason::From(Peer(3))));
        assert_eq!(with(4, 4, "job", TERMS, 3), (Reason::From(Peer(4)), Reason::From(Peer(4))));
        let packet = Terms { packet: 512, ..TERMS };
        assert_eq!(with(0, 4, "job", packet, 3), (Reason::Packet(512), Reason::Packet(512)));
        // Each side names the other's kind, and its own switch.
        let foreign = Processor::of_word(TERMS.processor.word() ^ 3 << 16);
        let processor = Terms { processor: foreign, ..TERMS };
        let both = (Reason::Processor(foreign), Reason::Processor(Processor::HERE));
        assert_eq!(with(0, 4, "job", processor, 3), both);
        let authenticate = Terms { authenticate: true, ..TERMS };
        assert_eq!(
            with(0, 4, "job", authenticate, 3),
            (Reason::Authenticate(true), Reason::Authenticate(true))
        );

        let (_, hello) = identity(0).dial(Peer(3), [1; 32]);
        let mut http = hello;
        http[..16].copy_from_slice(b"GET / HTTP/1.1\r\n");
        let nothing = Refusal { reason: Reason::Magic, answer: None };
        assert_eq!(b.answer(&http, [2; 32]).err(), Some(nothing));
        assert_eq!(check_start(b"GE"), Err(Reason::Magic));
        let mut newer = hello;
        newer[8] = 3;
        assert_eq!(check_start(&newer[..PREFIX]), Err(Reason::Version(3)));
        let mut turned = hello;
        turned.swap(10, 11);
        assert_eq!(check_start(&turned), Err(Reason::ByteOrder));
    }
}
