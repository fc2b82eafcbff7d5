//! The decoder under valid streams cut at every byte, and under bytes of no sense.

use super::*;

const LIMIT: u32 = 300;

/// What a stream says, however it was cut.
#[derive(Debug, PartialEq, Eq)]
enum Said {
    Packet(Lane, Vec<u8>),
    Bulk(Lane, Vec<u8>, u64),
    Body(Lane, Vec<u8>),
    Goodbye,
}

/// A reader as simple as can be: keeps all unused bytes, and never looks at more than the decoder asked for.
struct Reader {
    decoder: Decoder,
    kept: Vec<u8>,
    bodies: [Vec<u8>; 2],
    said: Vec<Said>,
}

impl Reader {
    fn new() -> Self {
        Self { decoder: Decoder::new(LIMIT), kept: Vec::new(), bodies: Default::default(), said: Vec::new() }
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), FrameError> {
        self.kept.extend_from_slice(bytes);
        loop {
            if let Some(body) = self.decoder.body() {
                let len = self.kept.len().min(body.chunk_left as usize);
                if len == 0 {
                    return Ok(());
                }
                self.bodies[body.lane as usize].extend(self.kept.drain(..len));
                if self.decoder.body_arrived(len as u32) {
                    self.said
                        .push(Said::Body(body.lane, std::mem::take(&mut self.bodies[body.lane as usize])));
                }
                continue;
            }
            let used = match self.decoder.decode(&self.kept)? {
                Step::Need(len) => {
                    assert!(len > self.kept.len(), "asks for {len} bytes and has {}", self.kept.len());
                    assert!(len <= LIMIT as usize + BULK_HEADER);
                    return Ok(());
                }
                Step::Packet { lane, bytes, used } => {
                    self.said.push(Said::Packet(lane, bytes.to_vec()));
                    used
                }
                Step::Bulk { lane, head, body_len, used } => {
                    self.said.push(Said::Bulk(lane, head.to_vec(), body_len));
                    used
                }
                Step::Chunk => HEADER,
                Step::Goodbye => {
                    self.said.push(Said::Goodbye);
                    HEADER
                }
            };
            self.kept.drain(..used);
        }
    }
}

fn bytes(seed: u8, len: usize) -> Vec<u8> {
    (0..len).map(|i| seed.wrapping_add(i as u8)).collect()
}

/// A stream with all kinds of frames, bodies of both lanes interleaved, and what it says.
fn stream() -> (Vec<u8>, Vec<Said>) {
    use Lane::{Request, Response};
    let mut wire = Vec::new();
    let small = bytes(1, 5);
    wire.extend(packet(Request, 5));
    wire.extend(&small);
    wire.extend(bulk(Request, 3, 7));
    wire.extend([7, 8, 9]);
    let body = bytes(40, 7);
    wire.extend(chunk(Request, 4));
    wire.extend(&body[..4]);
    let longest = bytes(90, LIMIT as usize);
    wire.extend(packet(Response, LIMIT));
    wire.extend(&longest);
    wire.extend(bulk(Response, 1, 2));
    wire.extend([6]);
    wire.extend(chunk(Response, 1));
    wire.extend([1]);
    wire.extend(chunk(Request, 3));
    wire.extend(&body[4..]);
    wire.extend(chunk(Response, 1));
    wire.extend([2]);
    wire.extend(packet(Request, 1));
    wire.extend([3]);
    wire.extend(goodbye());
    let said = vec![
        Said::Packet(Request, small),
        Said::Bulk(Request, vec![7, 8, 9], 7),
        Said::Packet(Response, longest),
        Said::Bulk(Response, vec![6], 2),
        Said::Body(Request, body),
        Said::Body(Response, vec![1, 2]),
        Said::Packet(Request, vec![3]),
        Said::Goodbye,
    ];
    (wire, said)
}

#[test]
fn a_stream_says_the_same_however_it_is_cut() {
    let (wire, said) = stream();
    for step in 1..=wire.len() {
        let mut reader = Reader::new();
        for piece in wire.chunks(step) {
            reader.feed(piece).unwrap();
        }
        assert_eq!(reader.said, said, "in steps of {step}");
        assert!(reader.kept.is_empty() && reader.decoder.said_goodbye());
    }
    for cut in 0..=wire.len() {
        let mut reader = Reader::new();
        reader.feed(&wire[..cut]).unwrap();
        reader.feed(&wire[cut..]).unwrap();
        assert_eq!(reader.said, said, "cut at {cut}");
    }
}

#[test]
fn what_no_process_sends_is_named() {
    use FrameError as E;
    use Lane::{Request, Response};
    let open = |lane| {
        let mut wire = bulk(lane, 1, 10).to_vec();
        wire.push(0);
        wire
    };
    let with = |mut start: Vec<u8>, more: &[u8]| {
        start.extend(more);
        start
    };
    let cases: Vec<(Vec<u8>, E)> = vec![
        (vec![0], E::Kind(0)),
        (vec![9; 8], E::Reserved),
        (vec![9, 0, 0, 0, 1, 0, 0, 0], E::Kind(9)),
        (vec![1, 2, 0, 0, 1, 0, 0, 0], E::Lane(2)),
        (vec![1, 0, 0, 1, 1, 0, 0, 0], E::Reserved),
        (vec![4, 1, 0, 0, 0, 0, 0, 0], E::Reserved),
        (vec![4, 0, 0, 0, 1, 0, 0, 0], E::Reserved),
        (packet(Request, 0).to_vec(), E::Empty),
        (packet(Request, LIMIT + 1).to_vec(), E::TooLong { len: LIMIT + 1, limit: LIMIT }),
        (bulk(Request, u32::MAX, 1).to_vec(), E::TooLong { len: u32::MAX, limit: LIMIT }),
        (bulk(Request, 1, 0).to_vec(), E::Empty),
        (bulk(Request, 1, 1 << 63).to_vec(), E::BodyTooLong(1 << 63)),
        (chunk(Response, 1).to_vec(), E::NoBody(Response)),
        (with(open(Request), &chunk(Response, 1)), E::NoBody(Response)),
        (with(open(Request), &chunk(Request, 0)), E::Empty),
        (with(open(Request), &chunk(Request, 11)), E::ChunkTooLong { len: 11, left: 10 }),
        (with(open(Request), &packet(Request, 1)), E::BodyOpen(Request)),
        (with(open(Response), &bulk(Response, 1, 1)), E::BodyOpen(Response)),
        (with(open(Response), &goodbye()), E::BodyOpen(Response)),
        (with(goodbye().to_vec(), &[1]), E::AfterGoodbye),
        (with(goodbye().to_vec(), &goodbye()), E::AfterGoodbye),
    ];
    for (wire, error) in cases {
        assert_eq!(Reader::new().feed(&wire), Err(error), "{wire:?}");
        let mut slow = Reader::new();
        let first = wire.iter().find_map(|byte| slow.feed(&[*byte]).err());
        assert!(first.is_some(), "byte by byte: {wire:?}");
        assert!(!error.to_string().is_empty());
    }
}

#[test]
fn random_bytes_never_panic_and_never_ask_for_more_than_a_frame() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (valid, _) = stream();
    let mut refused = 0;
    for round in 0..20_000 {
        // Half of the rounds are noise, half are a valid stream with a few bytes changed, which gets deeper.
        let mut wire = if round % 2 == 0 {
            (0..random.below(64)).map(|_| random.below(if round % 4 == 0 { 256 } else { 5 }) as u8).collect()
        } else {
            valid.clone()
        };
        if round % 2 == 1 {
            for _ in 0..1 + random.below(4) {
                let at = random.below(wire.len() as u64) as usize;
                wire[at] ^= 1 << random.below(8);
            }
        }
        let mut reader = Reader::new();
        let mut rest = &wire[..];
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(1 + random.below(rest.len() as u64) as usize);
            rest = after;
            if reader.feed(piece).is_err() {
                refused += 1;
                break;
            }
        }
    }
    assert!(refused > 10_000, "only {refused} rounds found something wrong");
}

/// Numbers that are the same in every run (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}
