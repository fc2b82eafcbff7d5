//! What the launcher and its proxy on another host say to each other: frames, each a length, a kind and fields.
//!
//! ```text
//!   length of the rest (32 bits, little endian) | kind (8 bits) | fields: numbers of 32 bits, texts as length and bytes
//! ```
//!
//! Reading is total: whatever comes in is a frame, the beginning of one, or an error that says what is wrong. A shell that prints
//! something before the proxy starts is the error that people see.

use super::options::{BindTo, Program};
use super::rank::RankSource;
use super::waits::processes::Activity;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// Of these frames; both sides must have the same.
pub(super) const VERSION: u32 = 2;
/// Bytes of it in a frame.
const VERSION_LEN: usize = 4;
/// Longest frame: a start carries an environment, which systems limit to a few MiB.
const FRAME_MAX: usize = 16 << 20;
/// Bytes of what is no frame that an error shows.
const SHOWN: usize = 48;

/// A frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// A sign of life, either way.
    Beat,

    // From the launcher.
    /// What to start; the first.
    Start(Box<ProxyStart>),
    /// Answers of PMI for a rank.
    Answers { rank: u32, bytes: Vec<u8> },
    /// Standard input for rank 0.
    Input(Vec<u8>),
    /// It ends.
    InputEnd,
    /// So many bytes of an output stream are passed on, and as many may come.
    Took { source: RankSource, bytes: u32 },
    /// This stream of the rank has no reader any more.
    Close { rank: u32, source: RankSource },
    /// A signal for all ranks.
    Signal(u32),
    /// The launcher says nothing until it says something: it is stopped.
    Silent,
    /// It wants to know what the ranks' processes do.
    Look,

    // From the proxy.
    /// The proxy is there; the first.
    Hello { version: u32 },
    /// A rank has started.
    Started { rank: u32, pid: u32 },
    /// Ranks cannot be started; `code` is the exit status for it.
    Refused { code: u32, why: String },
    /// What a rank has said by PMI.
    Said { rank: u32, bytes: Vec<u8> },
    /// A rank has closed its PMI connection.
    HungUp { rank: u32 },
    /// A rank does not read what it has asked for.
    Deaf { rank: u32 },
    /// Output of a rank.
    Output { rank: u32, source: RankSource, bytes: Vec<u8> },
    /// An output stream of a rank has ended.
    OutputEnd { rank: u32, source: RankSource },
    /// A rank's process has ended, with a status as wait(2) has it.
    Exited { rank: u32, status: u32 },
    /// So many bytes of the input have been passed on, and as many may come.
    InputTook(u32),
    /// Rank 0 has closed its input.
    InputClosed,
    /// What a rank's process does.
    Seen { rank: u32, activity: Activity },
}

/// What a proxy has to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProxyStart {
    pub(super) version: u32,
    /// Ranks of the whole job.
    pub(super) size: u32,
    /// The launcher's directory.
    pub(super) directory: PathBuf,
    /// The launcher's environment.
    pub(super) base: Vec<(OsString, OsString)>,
    /// What the options of the job set.
    pub(super) environment: Vec<(String, String)>,
    pub(super) programs: Vec<Program>,
    /// Ranks of this host, and which program each runs.
    pub(super) ranks: Vec<(u32, u32)>,
    pub(super) bind_to: BindTo,
    pub(super) keep_children: bool,
    /// After so long without a frame the other side is lost.
    pub(super) silence_ms: u32,
}

/// Cuts bytes into frames.
#[derive(Debug, Default)]
pub(super) struct FrameReader {
    bytes: Vec<u8>,
    /// Where the next frame begins.
    at: usize,
}

impl FrameReader {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if self.at > 0 {
            self.bytes.drain(..self.at);
            self.at = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole frame of a proxy, whose first one this is: other words may be the beginning of a length.
    ///
    /// # Errors
    /// As [`FrameReader::next_frame`].
    pub(super) fn first_frame(&mut self) -> Result<Option<Frame>, String> {
        let mut hello = Vec::new();
        Frame::Hello { version: VERSION }.emit(&mut hello);
        let came = &self.bytes[self.at..];
        let compared = came.len().min(hello.len() - VERSION_LEN);
        if came[..compared] != hello[..compared] { Err(self.shown()) } else { self.next_frame() }
    }

    /// The next whole frame.
    ///
    /// # Errors
    /// What is wrong with the bytes that come next.
    pub(super) fn next_frame(&mut self) -> Result<Option<Frame>, String> {
        let rest = &self.bytes[self.at..];
        let Some((length, rest)) = rest.split_first_chunk() else { return Ok(None) };
        let length = u32::from_le_bytes(*length) as usize;
        if !(1..=FRAME_MAX).contains(&length) {
            return Err(self.shown());
        }
        let Some(body) = rest.get(..length) else { return Ok(None) };
        let frame = Frame::parse(body).ok_or_else(|| format!("a frame of kind {}", body[0]))?;
        self.at += 4 + length;
        Ok(Some(frame))
    }

    /// The bytes that come next, in words.
    fn shown(&self) -> String {
        let next = &self.bytes[self.at..];
        format!("{:?}", String::from_utf8_lossy(&next[..next.len().min(SHOWN)]))
    }
}

impl Frame {
    /// The bytes, which go behind those that are there.
    pub(super) fn emit(&self, to: &mut Vec<u8>) {
        let at = to.len();
        to.extend_from_slice(&[0; 4]);
        let mut fields = FrameFields(to);
        match self {
            Self::Beat => fields.kind(0),
            Self::Start(start) => fields.kind(1).start(start),
            Self::Answers { rank, bytes } => fields.kind(2).number(*rank).rest(bytes),
            Self::Input(bytes) => fields.kind(3).rest(bytes),
            Self::InputEnd => fields.kind(4),
            Self::Took { source, bytes } => fields.kind(5).source(*source).number(*bytes),
            Self::Close { rank, source } => fields.kind(6).number(*rank).source(*source),
            Self::Signal(signal) => fields.kind(7).number(*signal),
            Self::Silent => fields.kind(8),
            Self::Hello { version } => fields.kind(9).number(*version),
            Self::Started { rank, pid } => fields.kind(10).number(*rank).number(*pid),
            Self::Refused { code, why } => fields.kind(11).number(*code).rest(why.as_bytes()),
            Self::Said { rank, bytes } => fields.kind(12).number(*rank).rest(bytes),
            Self::HungUp { rank } => fields.kind(13).number(*rank),
            Self::Deaf { rank } => fields.kind(14).number(*rank),
            Self::Output { rank, source, bytes } => fields.kind(15).number(*rank).source(*source).rest(bytes),
            Self::OutputEnd { rank, source } => fields.kind(16).number(*rank).source(*source),
            Self::Exited { rank, status } => fields.kind(17).number(*rank).number(*status),
            Self::InputTook(bytes) => fields.kind(18).number(*bytes),
            Self::InputClosed => fields.kind(19),
            Self::Look => fields.kind(20),
            Self::Seen { rank, activity } => fields.kind(21).number(*rank).number(activity.number()),
        };
        let length = (to.len() - at - 4) as u32;
        to[at..at + 4].copy_from_slice(&length.to_le_bytes());
    }

    /// Whether it can be sent: only a start can be too long.
    pub(super) fn fits(&self) -> bool {
        let mut bytes = Vec::new();
        self.emit(&mut bytes);
        bytes.len() - 4 <= FRAME_MAX
    }

    fn parse(body: &[u8]) -> Option<Self> {
        let (kind, fields) = body.split_first()?;
        let mut from = Cursor(fields);
        let frame = match kind {
            0 => Self::Beat,
            1 => Self::Start(Box::new(from.start()?)),
            2 => Self::Answers { rank: from.number()?, bytes: from.rest() },
            3 => Self::Input(from.rest()),
            4 => Self::InputEnd,
            5 => Self::Took { source: from.source()?, bytes: from.number()? },
            6 => Self::Close { rank: from.number()?, source: from.source()? },
            7 => Self::Signal(from.number()?),
            8 => Self::Silent,
            9 => Self::Hello { version: from.number()? },
            10 => Self::Started { rank: from.number()?, pid: from.number()? },
            11 => Self::Refused { code: from.number()?, why: String::from_utf8(from.rest()).ok()? },
            12 => Self::Said { rank: from.number()?, bytes: from.rest() },
            13 => Self::HungUp { rank: from.number()? },
            14 => Self::Deaf { rank: from.number()? },
            15 => Self::Output { rank: from.number()?, source: from.source()?, bytes: from.rest() },
            16 => Self::OutputEnd { rank: from.number()?, source: from.source()? },
            17 => Self::Exited { rank: from.number()?, status: from.number()? },
            18 => Self::InputTook(from.number()?),
            19 => Self::InputClosed,
            20 => Self::Look,
            21 => Self::Seen { rank: from.number()?, activity: Activity::of_number(from.number()?)? },
            _ => return None,
        };
        from.0.is_empty().then_some(frame)
    }
}

/// Fields to write.
struct FrameFields<'a>(&'a mut Vec<u8>);

impl FrameFields<'_> {
    fn kind(&mut self, kind: u8) -> &mut Self {
        self.rest(&[kind])
    }

    fn rest(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    fn number(&mut self, number: u32) -> &mut Self {
        self.rest(&number.to_le_bytes())
    }

    fn source(&mut self, source: RankSource) -> &mut Self {
        self.number(u32::from(source == RankSource::Stderr))
    }

    fn text(&mut self, text: &OsStr) -> &mut Self {
        self.number(text.len() as u32).rest(text.as_bytes())
    }

    fn list<T>(&mut self, items: &[T], emit: impl Fn(&mut Self, &T)) -> &mut Self {
        self.number(items.len() as u32);
        items.iter().for_each(|item| emit(self, item));
        self
    }

    fn texts<T: AsRef<OsStr>>(&mut self, texts: &[T]) -> &mut Self {
        self.number(texts.len() as u32);
        texts.iter().for_each(|text| _ = self.text(text.as_ref()));
        self
    }

    fn start(&mut self, start: &ProxyStart) -> &mut Self {
        fn pair<T: AsRef<OsStr>>(fields: &mut FrameFields<'_>, (name, value): &(T, T)) {
            fields.text(name.as_ref()).text(value.as_ref());
        }
        let bind_to = match start.bind_to {
            BindTo::Core => 0,
            BindTo::Socket => 1,
            BindTo::None => 2,
        };
        self.number(start.version).number(start.size).text(start.directory.as_os_str());
        self.list(&start.base, pair).list(&start.environment, pair);
        self.list(&start.programs, |fields, program| {
            fields.texts(&program.command).list(&program.variables, pair);
            fields.texts(&program.wdir.iter().collect::<Vec<_>>());
        });
        self.list(&start.ranks, |fields, (rank, program)| _ = fields.number(*rank).number(*program));
        self.number(bind_to).number(u32::from(start.keep_children)).number(start.silence_ms)
    }
}

/// Fields to read.
struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn number(&mut self) -> Option<u32> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*number))
    }

    fn rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.0).to_vec()
    }

    fn source(&mut self) -> Option<RankSource> {
        match self.number()? {
            0 => Some(RankSource::Stdout),
            1 => Some(RankSource::Stderr),
            _ => None,
        }
    }

    fn text(&mut self) -> Option<OsString> {
        let (text, rest) = self.number().and_then(|length| self.0.split_at_checked(length as usize))?;
        self.0 = rest;
        // A variable or a word with this byte cannot be given to a program.
        (!text.contains(&0)).then(|| OsString::from_vec(text.to_vec()))
    }

    fn list<T>(&mut self, parse: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.number()?;
        // Each item takes bytes, so a wrong count ends the list soon.
        (0..count).map(|_| parse(self)).collect()
    }

    fn start(&mut self) -> Option<ProxyStart> {
        let text = |from: &mut Self| from.text()?.into_string().ok();
        Some(ProxyStart {
            version: self.number()?,
            size: self.number()?,
            directory: self.text()?.into(),
            base: self.list(|from| Some((from.text()?, from.text()?)))?,
            environment: self.list(|from| Some((text(from)?, text(from)?)))?,
            programs: self.list(|from| {
                let command = from.list(Self::text).filter(|command| !command.is_empty())?;
                let variables = from.list(|from| Some((text(from)?, text(from)?)))?;
                let wdir = from.list(Self::text)?.pop().map(PathBuf::from);
                Some(Program { ranks: 1, command, variables, wdir })
            })?,
            ranks: self.list(|from| Some((from.number()?, from.number()?)))?,
            bind_to: match self.number()? {
                0 => BindTo::Core,
                1 => BindTo::Socket,
                2 => BindTo::None,
                _ => return None,
            },
            keep_children: self.number()? != 0,
            silence_ms: self.number()?,
        })
        .filter(|start| start.ranks.iter().all(|(_, program)| (*program as usize) < start.programs.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Frame> {
        let (rank, source, bytes) = (7, RankSource::Stderr, b"cmd=x\n".to_vec());
        let program = Program {
            ranks: 1,
            variables: vec![("A".into(), "b c".into())],
            wdir: Some("/tmp".into()),
            command: vec!["a".into(), OsString::from_vec(vec![0xff])],
        };
        let start = ProxyStart {
            version: VERSION,
            size: 3,
            directory: "/".into(),
            base: vec![("HOME".into(), "/root".into()), ("E".into(), "".into())],
            environment: vec![("RMA_CHANNEL".into(), "tcp".into())],
            programs: vec![program.clone(), Program { wdir: None, variables: Vec::new(), ..program }],
            ranks: vec![(1, 0), (2, 1)],
            bind_to: BindTo::Socket,
            keep_children: true,
            silence_ms: 10_000,
        };
        vec![
            Frame::Beat,
            Frame::Start(Box::new(start)),
            Frame::Answers { rank, bytes: bytes.clone() },
            Frame::Input(Vec::new()),
            Frame::InputEnd,
            Frame::Took { source, bytes: 9 },
            Frame::Close { rank, source },
            Frame::Signal(15),
            Frame::Silent,
            Frame::Hello { version: VERSION },
            Frame::Started { rank, pid: 12 },
            Frame::Refused { code: 127, why: "nö".into() },
            Frame::Said { rank, bytes: bytes.clone() },
            Frame::HungUp { rank },
            Frame::Deaf { rank },
            Frame::Output { rank, source: RankSource::Stdout, bytes },
            Frame::OutputEnd { rank, source },
            Frame::Exited { rank, status: 9 },
            Frame::InputTook(4),
            Frame::InputClosed,
            Frame::Look,
            Frame::Seen { rank, activity: Activity::Stopped },
        ]
    }

    fn bytes(frame: &Frame) -> Vec<u8> {
        let mut bytes = Vec::new();
        frame.emit(&mut bytes);
        bytes
    }

    #[test]
    fn before_a_proxy_nothing_else_speaks() {
        for noise in ["\n", "x", "ab", "\x05", "\x05\0\0\0\n", "welcome\n"] {
            let mut reader = FrameReader::default();
            reader.push(noise.as_bytes());
            let early = reader.first_frame();
            reader.push(&bytes(&Frame::Hello { version: VERSION }));
            let end = early.and_then(|_| reader.first_frame());
            assert!(end.is_err(), "{noise:?}: {end:?}");
        }
        let mut reader = FrameReader::default();
        for byte in bytes(&Frame::Hello { version: VERSION + 1 }) {
            assert_eq!(reader.first_frame(), Ok(None));
            reader.push(&[byte]);
        }
        assert_eq!(reader.first_frame(), Ok(Some(Frame::Hello { version: VERSION + 1 })));
    }

    #[test]
    fn frames_survive_their_bytes_however_they_are_cut() {
        let stream: Vec<u8> = all().iter().flat_map(bytes).collect();
        for piece in [1, 3, stream.len()] {
            let (mut reader, mut read) = (FrameReader::default(), Vec::new());
            for piece in stream.chunks(piece) {
                reader.push(piece);
                while let Some(frame) = reader.next_frame().unwrap() {
                    read.push(frame);
                }
            }
            assert_eq!(read, all());
        }
    }

    #[test]
    fn hostile_bytes_are_refused_and_cost_no_memory() {
        // Each frame with a byte less, a byte more, and each of its bytes changed: a frame or an error, never a panic.
        for frame in all() {
            let good = bytes(&frame);
            for at in 4..good.len() {
                for change in [1, 0x80, 0xff] {
                    let mut bad = good.clone();
                    bad[at] ^= change;
                    let _ = Frame::parse(&bad[4..]);
                }
                let cut = Frame::parse(&good[4..at]);
                assert_ne!(cut, Some(frame.clone()));
            }
            let mut longer = good[4..].to_vec();
            longer.push(0);
            assert_ne!(Frame::parse(&longer), Some(frame));
        }
        assert_eq!(Frame::parse(&[200]), None);
        // Two texts of a start whose number is a lie.
        let lie = [&[1u8][..], &[0; 12], &u32::MAX.to_le_bytes()].concat();
        assert_eq!(Frame::parse(&lie), None);
        for (said, shown) in [(&b"Welcome to n1!\n"[..], "Welcome to n1!"), (&[0; 8], "\\0")] {
            let mut reader = FrameReader::default();
            reader.push(said);
            assert!(reader.next_frame().unwrap_err().contains(shown));
        }
    }
}
