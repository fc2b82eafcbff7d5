//! Writes one rank's events to its file, as they happen.
//!
//! Invariants: times in the file ascend, because the clock is read under the lock that orders the lines; an event that ends
//! something is written exactly if its begin was. A line is in the file when its event is over ([`super::trace_file`]), so a rank
//! that sleeps for good, or is killed, leaves all that it has done.

use super::config::ObserverConfig;
use super::gather::gather_all;
use super::record::{Moved, TraceEvent, TraceHead, TraceLine, TraceRecord};
use super::trace_file::TraceFile;
use parking_lot::Mutex;
use rma_core::Engine;
use rma_core::channel::Lane;
use rma_core::fork;
use rma_core::host::clock;
use rma_core::ids::{Peer, WindowId};
use rma_core::trace::{Event, Observer, Packet};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The trace of one rank.
pub(crate) struct Recorder {
    rank: Peer,
    size: u32,
    /// The file of the whole job.
    path: PathBuf,
    job: String,
    part: Mutex<TracePart>,
}

/// The rank's file.
struct TracePart {
    /// `None` once it has failed, or the rank has ended its part.
    file: Option<TraceFile>,
    /// The line that is being made.
    line: Vec<u8>,
    /// Bytes that may still be written.
    room: u64,
    dropped: u64,
    /// Threads whose newest begins were dropped, and how many.
    skipped: HashMap<u32, u32>,
    /// Epochs whose begin was written.
    epochs: HashSet<u64>,
}

impl Recorder {
    /// The recorder of a rank, if a trace is wished for and its file can be made; what is wrong is said.
    pub(crate) fn start(config: &ObserverConfig, rank: Peer, size: u32, job: &str) -> Option<Self> {
        let path = config.trace.path()?;
        match Self::create(path, config.trace_bytes, rank, size, job) {
            Ok(recorder) => Some(recorder),
            Err(error) => {
                let is_taken = error.kind() == io::ErrorKind::AlreadyExists;
                let at = if is_taken { path.to_owned() } else { part_path(path, rank.0) };
                complain(rank, &at, &error);
                None
            }
        }
    }

    fn create(path: &Path, room: u64, rank: Peer, size: u32, job: &str) -> io::Result<Self> {
        // The timeline takes the place of what is there, which must not be a device or a directory.
        if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "something is there that is no file"));
        }
        // A part of an earlier job that was to be gathered would be taken for this one's.
        let _ = fs::remove_file(done_path(path, rank.0));
        let file = TraceFile::create(&part_path(path, rank.0))?;
        let (boot, host) = machine();
        let head = TraceHead {
            job: job.to_owned(),
            rank: rank.0,
            size,
            boot,
            host,
            pid: std::process::id(),
            t: now(),
        };
        let mut part = TracePart {
            file: Some(file),
            line: Vec::new(),
            room,
            dropped: 0,
            skipped: HashMap::new(),
            epochs: HashSet::new(),
        };
        part.push(&head)?;
        Ok(Self { rank, size, path: path.to_owned(), job: job.to_owned(), part: Mutex::new(part) })
    }

    /// The rank ends its part: writes the rest. With the last rank of the job, also makes one file of all.
    pub(crate) fn finish(&self, engine: &Engine) {
        let counters = engine.counters().rows().into_iter().map(|(name, _, value)| (name.into(), value));
        let counters = counters.collect();
        {
            let mut part = self.part.lock();
            if part.file.is_none() {
                return;
            }
            let dropped = part.dropped;
            let tail =
                TraceRecord { t: now(), thread: thread(), what: TraceEvent::Tail { dropped, counters } };
            self.or_complain(part.push(&tail));
            let Some(file) = part.file.take() else { return };
            self.or_complain(file.finish());
            if dropped > 0 {
                eprintln!(
                    "rma: rank {}: RMA_TRACE: {dropped} events were left out: RMA_TRACE_BYTES allows no more",
                    self.rank
                );
            }
        }
        let renamed = fs::rename(part_path(&self.path, self.rank.0), done_path(&self.path, self.rank.0));
        self.or_complain(renamed);
        if let Err(error) = gather_all(&self.path, self.size, &self.job) {
            complain(self.rank, &self.path, &error);
        }
    }

    fn or_complain(&self, result: io::Result<()>) {
        if let Err(error) = result {
            complain(self.rank, &part_path(&self.path, self.rank.0), &error);
        }
    }
}

impl Observer for Recorder {
    fn observe(&self, event: &Event<'_>) {
        // The file is the parent's, and so is its place in it.
        if fork::is_child() {
            return;
        }
        let thread = thread();
        let mut part = self.part.lock();
        if part.file.is_none() {
            return;
        }
        let Some(what) = what(event) else { return };
        let t = now() - since(event);
        if !part.takes(thread, &what) {
            return;
        }
        self.or_complain(part.push(&TraceRecord { t, thread, what }));
    }
}

impl TracePart {
    /// Whether the event is to be written: there is room for it, or for what it ends there was.
    fn takes(&mut self, thread: u32, what: &TraceEvent<'_>) -> bool {
        let is_full = self.room == 0;
        match what {
            TraceEvent::End {} => match self.skipped.get_mut(&thread) {
                Some(1) => {
                    self.skipped.remove(&thread);
                    false
                }
                Some(count) => {
                    *count -= 1;
                    false
                }
                None => true,
            },
            TraceEvent::Close { id } => self.epochs.remove(id),
            _ if is_full => {
                self.dropped += 1;
                if what.begins() {
                    *self.skipped.entry(thread).or_default() += 1;
                }
                false
            }
            TraceEvent::Open { id, .. } => self.epochs.insert(*id),
            // Inside a call that was left out for want of room there is no room either.
            _ => true,
        }
    }

    /// Writes a line. After an error nothing more is written.
    fn push(&mut self, line: &impl TraceLine) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        self.line.clear();
        line.write(&mut self.line);
        self.room = self.room.saturating_sub(self.line.len() as u64);
        let written = file.append(&self.line);
        if written.is_err() {
            self.file = None;
        }
        written
    }
}

/// The event as a line says it.
fn what<'a>(event: &Event<'a>) -> Option<TraceEvent<'a>> {
    let bits = |window: Option<WindowId>| window.map(WindowId::to_bits);
    Some(match *event {
        Event::CallBegin { call, window, target } => TraceEvent::Begin {
            call: call.into(),
            window: bits(window),
            target: target.map(|target| target.0),
        },
        Event::WaitBegin { call, waits_for } => {
            TraceEvent::Wait { call: call.into(), waits_for: waits_for.into() }
        }
        Event::CallEnd | Event::WaitEnd => TraceEvent::End {},
        Event::Direct { call, window, target, len } => {
            TraceEvent::Direct { call: call.into(), window: window.to_bits(), target: target.0, len }
        }
        Event::EpochOpen { id, window, kind, target } => {
            let target = target.map(|target| target.0);
            TraceEvent::Open { id, kind: kind.into(), window: window.to_bits(), target }
        }
        Event::EpochClose { id, .. } => TraceEvent::Close { id },
        Event::PacketSent(packet) => {
            TraceEvent::Sent { channel: packet.channel.into(), packet: moved(&packet) }
        }
        Event::PacketReceived(packet) => TraceEvent::Received { packet: moved(&packet) },
        Event::Sleep => TraceEvent::Sleep {},
        Event::WindowName { window, name } => {
            TraceEvent::Name { window: window.to_bits(), name: name.into() }
        }
        _ => return None,
    })
}

fn moved<'a>(packet: &Packet<'a>) -> Moved<'a> {
    let &Packet { peer, lane, name, window, number, len, .. } = packet;
    let lane = u8::from(lane == Lane::Response);
    Moved { peer: peer.0, lane, name: name.into(), window: window.map(WindowId::to_bits), number, len }
}

/// The file of a rank that runs.
pub(super) fn part_path(path: &Path, rank: u32) -> PathBuf {
    beside(path, &format!(".{rank}.part"))
}

/// The file of a rank that has ended its part.
pub(super) fn done_path(path: &Path, rank: u32) -> PathBuf {
    beside(path, &format!(".{rank}.done"))
}

/// The path with something behind its name.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn complain(rank: Peer, path: &Path, error: &io::Error) {
    eprintln!("rma: rank {rank}: RMA_TRACE: {}: {error}; the job goes on without it", path.display());
}

/// How long ago an event began that is reported late, in nanoseconds.
fn since(event: &Event<'_>) -> u64 {
    match event {
        Event::PacketSent(packet) => packet.since.map_or(0, |since| since.elapsed().as_nanos() as u64),
        _ => 0,
    }
}

/// The machine's monotonic clock, which its processes share.
fn now() -> u64 {
    clock::machine_time().as_nanos() as u64
}

/// The machine's start, and its name. Without the former, ranks of one machine count as those of several.
fn machine() -> (String, String) {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let boot = boot.trim();
    (if boot.is_empty() { host.clone() } else { boot.to_owned() }, host)
}

/// The number of the calling thread.
fn thread() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    thread_local! {
        static NUMBER: u32 = NEXT.fetch_add(1, Relaxed);
    }
    NUMBER.with(|number| *number)
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("rank", &self.rank).field("path", &self.path).finish_non_exhaustive()
    }
}
