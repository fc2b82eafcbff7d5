//! From the ranks' output to the launcher's own: whole lines, any bytes, and never a blocking write while the job runs.
//!
//! [`OutputLines`] holds back what is not yet a whole line, one per rank and stream. [`Output`] is a standard
//! stream of the launcher with a bounded queue: while it is full the ranks are not read, so a slow reader
//! slows them down as it would without a launcher. A stream whose reader is gone is closed for the ranks too;
//! one that cannot be written for another reason, as when the disk is full, keeps that reason.

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// A line longer than this is passed on in pieces.
const LINE_MAX: usize = 16 << 20;
/// Queue length from which the ranks are not read any more.
const QUEUE_MAX: usize = 1 << 20;
/// A writable pipe takes at least this many bytes without blocking (POSIX: `PIPE_BUF`).
const PIECE: usize = 4096;

/// Cuts one stream of one rank into lines.
#[derive(Debug, Default)]
pub(super) struct OutputLines {
    held: Vec<u8>,
    tag: Option<String>,
    raw: bool,
}

/// A standard stream of the launcher.
#[derive(Debug)]
pub(super) struct Output {
    stream: OwnedFd,
    queue: Vec<u8>,
    written: usize,
    /// Whether the stream can tell when it takes more; files always do.
    waits: bool,
    /// Why nothing can be written any more.
    error: Option<Errno>,
    /// The writer of the last byte, if that did not end a line.
    open_line: Option<u32>,
}

impl OutputLines {
    /// Whole lines, each after `tag` if there is one.
    pub(super) fn whole(tag: Option<String>) -> Self {
        Self { held: Vec::new(), tag, raw: false }
    }

    /// Everything at once: for the only writer of a stream.
    pub(super) fn raw() -> Self {
        Self { raw: true, ..Self::default() }
    }

    /// Takes the next bytes of rank `from` and passes on what is whole.
    pub(super) fn push(&mut self, from: u32, bytes: &[u8], output: &mut Output) {
        if self.raw {
            return output.append(from, &[bytes]);
        }
        let end = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1);
        if end > 0 {
            self.pass_on(from, &bytes[..end], output);
        }
        self.held.extend_from_slice(&bytes[end..]);
        if self.held.len() > LINE_MAX {
            self.finish(from, output);
        }
    }

    /// Passes on the last line, which has no newline.
    pub(super) fn finish(&mut self, from: u32, output: &mut Output) {
        if !self.held.is_empty() {
            self.pass_on(from, &[], output);
        }
    }

    fn pass_on(&mut self, from: u32, rest: &[u8], output: &mut Output) {
        match &self.tag {
            None => output.append(from, &[&self.held, rest]),
            Some(tag) => {
                let whole = [&self.held, rest].concat();
                for line in whole.split_inclusive(|b| *b == b'\n') {
                    output.append(from, &[tag.as_bytes(), line]);
                }
            }
        }
        self.held.clear();
    }
}

impl Output {
    /// Takes over `stream` and has it watched for room.
    pub(super) fn new(stream: OwnedFd, registry: &Registry, token: Token) -> Self {
        let registered = registry.register(&mut SourceFd(&stream.as_raw_fd()), token, Interest::WRITABLE);
        let waits = registered.is_ok(); // refused for files, which never keep a writer waiting
        Self { stream, queue: Vec::new(), written: 0, waits, error: None, open_line: None }
    }

    /// Queues the pieces as one. Lines of two writers never share a line.
    fn append(&mut self, from: u32, pieces: &[&[u8]]) {
        let Some(last) = pieces.iter().rev().find_map(|piece| piece.last()) else { return };
        if self.error.is_some() {
            return;
        }
        if self.open_line.is_some_and(|writer| writer != from) {
            self.queue.push(b'\n');
        }
        self.open_line = (*last != b'\n').then_some(from);
        pieces.iter().for_each(|piece| self.queue.extend_from_slice(piece));
    }

    /// Queues a line of the launcher itself.
    pub(super) fn say(&mut self, text: &str) {
        self.append(u32::MAX, &[format!("rmarun: {text}\n").as_bytes()]);
    }

    /// Whether the ranks should not be read for now.
    pub(super) fn is_full(&self) -> bool {
        self.queue.len() - self.written >= QUEUE_MAX
    }

    /// Whether the reader of the stream is gone.
    pub(super) fn is_broken(&self) -> bool {
        self.error == Some(Errno::PIPE)
    }

    /// Why the stream has failed, if not because its reader is gone.
    pub(super) fn failure(&self) -> Option<io::Error> {
        self.error.filter(|error| *error != Errno::PIPE).map(io::Error::from)
    }

    /// Writes what the stream takes without blocking.
    pub(super) fn flush_some(&mut self) {
        const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
        while self.written < self.queue.len() {
            let ready = poll(&mut [PollFd::new(&self.stream, PollFlags::OUT)], Some(&NOW));
            if self.waits && ready == Ok(0) {
                return self.forget_written();
            }
            let limit = if self.waits { PIECE } else { usize::MAX };
            if !self.write(limit) {
                return;
            }
        }
        self.forget_written();
    }

    /// Writes everything, however long it takes.
    pub(super) fn flush_all(&mut self) {
        while self.written < self.queue.len() && self.write(usize::MAX) {}
        self.forget_written();
    }

    /// Writes once; says whether it makes sense to go on.
    fn write(&mut self, limit: usize) -> bool {
        let rest = &self.queue[self.written..];
        match rustix::io::write(&self.stream, &rest[..rest.len().min(limit)]) {
            Ok(count) => self.written += count,
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                // Another process made the stream nonblocking. Wait for room here: the end of the job comes
                // this way too.
                let _ = poll(&mut [PollFd::new(&self.stream, PollFlags::OUT)], None);
            }
            Err(error) => {
                self.error = Some(error);
                self.queue = Vec::new();
                self.written = 0;
                return false;
            }
        }
        true
    }

    fn forget_written(&mut self) {
        self.queue.drain(..self.written);
        self.written = 0;
    }
}

/// A copy of a standard stream's descriptor that is closed on exec.
pub(super) fn copy_of(stream: &impl AsFd) -> io::Result<OwnedFd> {
    stream.as_fd().try_clone_to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::time::{Duration, Instant};

    fn collect(act: impl FnOnce(&mut Output)) -> String {
        let poll = mio::Poll::new().unwrap();
        let (mut reader, writer) = std::io::pipe().unwrap();
        let mut output = Output::new(writer.into(), poll.registry(), Token(0));
        act(&mut output);
        output.flush_all();
        drop(output);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn lines_of_ranks_never_share_a_line() {
        let text = collect(|output| {
            let (mut a, mut b) = (OutputLines::whole(None), OutputLines::whole(None));
            a.push(0, b"one ", output);
            b.push(1, b"two\nthr", output);
            a.push(0, b"line\n\n", output);
            b.push(1, b"ee", output);
            b.finish(1, output);
            b.finish(1, output);
            a.push(0, b"last", output);
            a.finish(0, output);
        });
        assert_eq!(text, "two\none line\n\nthree\nlast");
    }

    #[test]
    fn every_line_is_tagged_once() {
        let text = collect(|output| {
            let mut lines = OutputLines::whole(Some("[3] ".to_owned()));
            for byte in b"a\nbc\n\nd" {
                lines.push(3, &[*byte], output);
            }
            lines.push(3, b"e\nf\ng", output);
            lines.finish(3, output);
        });
        assert_eq!(text, "[3] a\n[3] bc\n[3] \n[3] de\n[3] f\n[3] g");
    }

    #[test]
    fn a_single_writer_is_passed_on_at_once() {
        let text = collect(|output| {
            let mut lines = OutputLines::raw();
            lines.push(0, b"name? ", output);
            assert!(!output.queue.is_empty());
            lines.push(0, b"x", output);
        });
        assert_eq!(text, "name? x");
    }

    #[test]
    fn a_full_stream_keeps_its_queue_and_a_closed_one_is_noticed() {
        let poll = mio::Poll::new().unwrap();
        let (reader, writer) = std::io::pipe().unwrap();
        let mut output = Output::new(writer.into(), poll.registry(), Token(0));
        let mut lines = OutputLines::raw();
        lines.push(0, &vec![7; 3 * QUEUE_MAX], &mut output);
        output.flush_some();
        assert!(output.is_full() && !output.is_broken());
        drop(reader);
        // A process that another test has just begun holds the reader's end until it has its own program.
        let started = Instant::now();
        while !output.is_broken() && started.elapsed() < Duration::from_secs(10) {
            output.flush_some();
        }
        assert!(output.is_broken() && !output.is_full() && output.failure().is_none());
    }

    #[test]
    fn a_stream_that_fails_keeps_the_reason_and_takes_no_more() {
        let poll = mio::Poll::new().unwrap();
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let mut output = Output::new(full.into(), poll.registry(), Token(0));
        OutputLines::raw().push(0, b"one", &mut output);
        output.flush_some();
        assert_eq!(output.failure().unwrap().kind(), io::ErrorKind::StorageFull);
        assert!(!output.is_broken(), "its writers are not at fault");
        OutputLines::raw().push(0, &vec![7; 2 * QUEUE_MAX], &mut output);
        assert!(!output.is_full());
    }
}
