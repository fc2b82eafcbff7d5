//! `rmarun --proxy`: what the launcher is for its own ranks, on another host.
//!
//! It is started by the launch agent and speaks [`super::frames`] through its standard input and output; nothing listens. Its life is
//! the connection: when that ends, or nothing comes for too long, everything that it has started ends, and it too. A proxy that is
//! killed leaves that to its guard.

use super::binding;
use super::child::Template;
use super::frames::{Frame, FrameReader, ProxyStart, VERSION};
use super::guard::{Guard, reap_adopted};
use super::job::SYSTEM_ERROR;
use super::outbox::{Outbox, set_nonblocking};
use super::output::copy_of;
use super::plan::name_of_this_host;
use super::proxied_rank::{Input, ProxiedRank};
use super::rank::{RankSource, TURN};
use super::remote::BEATS;
use super::start_error::descriptors_for;
use super::stragglers::{self, Mark};
use super::waits::processes::Activity;
use crate::descriptors::raise_limit;

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, set_parent_process_death_signal};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The only word on the command line of a proxy.
const WORD: &str = "--proxy";
/// How long the launcher may take to say what is to be started.
const START_LIMIT: Duration = Duration::from_secs(60);
/// How long the last output may take to leave.
const END_LIMIT: Duration = Duration::from_secs(2);
/// Bytes of each output stream that may be under way to the launcher.
const CREDIT: usize = 1 << 20;
/// Queue length from which ranks are not read any more.
const QUEUE_MAX: usize = 1 << 20;
/// Exit status when the command line or a setting is wrong.
const USAGE: u32 = 2;

const FROM: Token = Token(0);
const TO: Token = Token(1);
const INPUT: Token = Token(2);

/// The launcher's words, as they come.
#[derive(Debug)]
struct Connection {
    from: OwnedFd,
    frames: FrameReader,
    outbox: Outbox,
    heard: Instant,
    has_ended: bool,
}

#[derive(Debug)]
struct Proxy {
    connection: Connection,
    poll: Poll,
    guard: Guard,
    mark: Mark,
    /// Children of this process that are not the job's.
    spared: Vec<Pid>,
    keeps_children: bool,
    ranks: Vec<ProxiedRank>,
    input: Option<Input>,
    /// Bytes of each output stream that the launcher has room for.
    credit: [usize; 2],
    ready: VecDeque<(usize, RankSource)>,
    stalled: Vec<(usize, RankSource)>,
    silence: Duration,
    /// The launcher is stopped, so that it says nothing.
    may_be_silent: bool,
    /// It has said nothing for too long although it is not.
    is_launcher_silent: bool,
    beat_at: Instant,
}

/// Why ranks cannot be started, and the exit status for it.
type Refusal = (u32, String);

/// Whether this command line is that of a proxy.
pub(super) fn is_asked_for(arguments: &[OsString]) -> bool {
    arguments.get(1).is_some_and(|word| word == WORD)
}

/// The life of a proxy.
pub(super) fn main() -> ExitCode {
    match Connection::open().and_then(run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rmarun {WORD}: {error}");
            ExitCode::from(SYSTEM_ERROR)
        }
    }
}

fn run(mut connection: Connection) -> io::Result<()> {
    // The agent's, if that has become this process: it would keep this one from ending what it has started.
    set_parent_process_death_signal(None)?;
    let Some(start) = connection.receive_start()? else { return Ok(()) };
    let mut proxy = match Proxy::new(connection, &start)? {
        Ok(proxy) => proxy,
        Err((mut connection, (code, why))) => {
            connection.outbox.send(&Frame::Refused { code, why });
            connection.outlast(&mut |_| {}, START_LIMIT);
            return Ok(());
        }
    };
    match proxy.start(&start)? {
        Ok(()) => proxy.serve()?,
        Err((code, why)) => {
            proxy.connection.outbox.send(&Frame::Refused { code, why });
            proxy.serve()?;
        }
    }
    proxy.close();
    proxy.tell_silence();
    Ok(())
}

impl Connection {
    fn open() -> io::Result<Self> {
        let from = copy_of(&io::stdin())?;
        set_nonblocking(&from)?;
        let outbox = Outbox::new(copy_of(&io::stdout())?)?;
        outbox.send(&Frame::Hello { version: VERSION });
        let frames = FrameReader::default();
        Ok(Self { from, frames, outbox, heard: Instant::now(), has_ended: false })
    }

    /// Waits for what is to be started; none when the launcher has gone.
    fn receive_start(&mut self) -> io::Result<Option<ProxyStart>> {
        let mut start = None;
        self.outlast(
            &mut |frame| {
                if let Frame::Start(read) = frame {
                    start = Some(*read);
                }
            },
            START_LIMIT,
        );
        match start {
            Some(start) if start.version == VERSION => Ok(Some(start)),
            Some(start) => Err(io::Error::other(format!(
                "the launcher speaks version {} to proxies, and this one {VERSION}",
                start.version
            ))),
            None => Ok(None),
        }
    }

    /// Sends what is kept and takes frames, until there is one that is no sign of life, the end, or the limit.
    fn outlast(&mut self, take: &mut dyn FnMut(Frame), limit: Duration) {
        let until = Instant::now() + limit;
        while let Some(left) = until.checked_duration_since(Instant::now())
            && !self.has_ended
        {
            self.outbox.flush();
            // What could not be sent is tried again soon.
            let left = Timespec::try_from(left.min(Duration::from_millis(100))).ok();
            let _ = poll(&mut [PollFd::new(&self.from, PollFlags::IN)], left.as_ref());
            while let Some(frame) = self.receive() {
                if frame != Frame::Beat {
                    return take(frame);
                }
            }
        }
    }

    /// The next frame, if it has come.
    fn receive(&mut self) -> Option<Frame> {
        let mut buffer = [0u8; 64 * 1024];
        loop {
            match self.frames.next_frame() {
                Ok(None) if self.has_ended => return None,
                Ok(None) => {}
                Ok(frame) => return frame,
                Err(_) => {
                    self.has_ended = true; // what speaks is no launcher
                    return None;
                }
            }
            match rustix::io::read(&self.from, &mut buffer) {
                Ok(count @ 1..) => {
                    self.heard = Instant::now();
                    self.frames.push(&buffer[..count]);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return None,
                Ok(0) | Err(_) => self.has_ended = true,
            }
        }
    }
}

impl Proxy {
    /// Gets ready to start ranks.
    fn new(connection: Connection, start: &ProxyStart) -> io::Result<Result<Self, (Connection, Refusal)>> {
        if let Err(cause) = std::env::set_current_dir(&start.directory) {
            let why = format!("cannot start ranks in {}: {cause}", start.directory.display());
            return Ok(Err((connection, (126, why))));
        }
        raise_limit(descriptors_for(start.ranks.len() as u32));
        let mark = Mark::new()?;
        if !start.keep_children {
            stragglers::adopt()?;
        }
        let mut spared = stragglers::children();
        let guard = Guard::start(Some(&mark).filter(|_| !start.keep_children))?;
        spared.push(guard.group());
        let poll = Poll::new()?;
        poll.registry().register(&mut SourceFd(&connection.from.as_raw_fd()), FROM, Interest::READABLE)?;
        if let Some(sink) = connection.outbox.descriptor() {
            poll.registry().register(&mut SourceFd(&sink), TO, Interest::WRITABLE)?;
        }
        Ok(Ok(Self {
            connection,
            poll,
            guard,
            mark,
            spared,
            keeps_children: start.keep_children,
            ranks: Vec::new(),
            input: None,
            credit: [CREDIT; 2],
            ready: VecDeque::new(),
            stalled: Vec::new(),
            silence: Duration::from_millis(u64::from(start.silence_ms.max(100))),
            may_be_silent: false,
            is_launcher_silent: false,
            beat_at: Instant::now(),
        }))
    }

    /// Starts all ranks of this host.
    fn start(&mut self, start: &ProxyStart) -> io::Result<Result<(), Refusal>> {
        let cores = match binding::sets(start.bind_to, start.ranks.len() as u32) {
            Ok(cores) => cores,
            Err(why) => return Ok(Err((USAGE, why))),
        };
        for (place, (number, program)) in (0..).zip(&start.ranks) {
            let template = Template {
                program: &start.programs[*program as usize],
                size: start.size,
                group: self.guard.group(),
                mark: &self.mark,
                environment: &start.environment,
                base: Some(&start.base),
                cores: &cores,
                pipe_stdin: true,
            };
            let mut started = match template.start(*number, place) {
                Ok(started) => started,
                Err(error) => return Ok(Err((u32::from(error.exit_code()), error.to_string()))),
            };
            if let Some(stdin) = started.stdin.take() {
                self.input = Some(Input::new(stdin, self.poll.registry(), INPUT)?);
            }
            let proxied = ProxiedRank::new(place, *number, started, self.poll.registry())?;
            self.connection.outbox.send(&Frame::Started { rank: *number, pid: proxied.pid() });
            self.ranks.push(proxied);
        }
        Ok(Ok(()))
    }

    /// Serves ranks and launcher until the connection is over.
    fn serve(&mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(256);
        // What came with the start has no event of its own.
        self.hear();
        while !self.is_over() {
            match self.poll.poll(&mut events, Some(self.time_to_sleep())) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => other?,
            }
            for event in &events {
                self.handle(event.token())?;
            }
            let (ranks, group) = (&self.ranks, self.guard.group());
            reap_adopted(|pid| pid == group || ranks.iter().any(|proxied| proxied.is_child(pid)));
            self.pass_on_ready();
            if Instant::now() >= self.beat_at {
                self.beat_at = Instant::now() + self.silence / BEATS;
                self.connection.outbox.send(&Frame::Beat);
            }
        }
        Ok(())
    }

    fn handle(&mut self, token: Token) -> io::Result<()> {
        let outbox = &self.connection.outbox;
        match token {
            FROM => self.hear(),
            TO => {
                outbox.flush();
                self.ready.extend(self.stalled.drain(..));
            }
            INPUT => self.copy_input(),
            token => match RankSource::of(token) {
                Some((proxied, RankSource::Exit)) => {
                    let passed = self.ranks[proxied as usize].reap(self.poll.registry(), outbox)?;
                    (0..2).for_each(|at| self.credit[at] = self.credit[at].saturating_sub(passed[at]));
                }
                Some((proxied, source)) => self.ready.push_back((proxied as usize, source)),
                None => unreachable!("no source was registered with {token:?}"),
            },
        }
        Ok(())
    }

    fn hear(&mut self) {
        while let Some(frame) = self.connection.receive() {
            self.may_be_silent = frame == Frame::Silent;
            self.take_frame(frame);
        }
    }

    fn take_frame(&mut self, frame: Frame) {
        let outbox = &self.connection.outbox;
        match frame {
            Frame::Answers { rank, bytes } => {
                if let Some(proxied) = self.ranks.iter_mut().find(|proxied| proxied.number() == rank) {
                    proxied.answer(&bytes, outbox);
                }
            }
            Frame::Close { rank, source } => {
                if let Some(proxied) = self.ranks.iter_mut().find(|proxied| proxied.number() == rank) {
                    proxied.close(source);
                }
            }
            Frame::Took { source, bytes } => {
                let credit = &mut self.credit[usize::from(source == RankSource::Stderr)];
                *credit = credit.saturating_add(bytes as usize).min(CREDIT);
                self.ready.extend(self.stalled.drain(..));
            }
            Frame::Signal(number) => self.signal(number),
            Frame::Look => {
                for proxied in &self.ranks {
                    let (rank, activity) = (proxied.number(), Activity::of(proxied.pid()));
                    outbox.send(&Frame::Seen { rank, activity });
                }
            }
            Frame::Input(bytes) => {
                if let Some(input) = &mut self.input {
                    input.push(&bytes);
                }
                self.copy_input();
            }
            Frame::InputEnd => {
                if let Some(input) = &mut self.input {
                    input.end();
                }
                self.copy_input();
            }
            // Nothing else comes from a launcher.
            _ => {}
        }
    }

    fn copy_input(&mut self) {
        if self.input.as_mut().is_some_and(|input| !input.run(&self.connection.outbox)) {
            self.input = None; // closes it for rank 0
        }
    }

    fn signal(&self, number: u32) {
        let Some(signal) = i32::try_from(number).ok().and_then(Signal::from_named_raw) else { return };
        self.guard.signal(signal);
        self.ranks.iter().for_each(|proxied| proxied.signal_outside(self.guard.group(), signal));
    }

    /// Gives every stream that has something one turn, as far as the launcher has room.
    fn pass_on_ready(&mut self) {
        let outbox = &self.connection.outbox;
        for _ in 0..self.ready.len() {
            let Some((index, source)) = self.ready.pop_front() else { break };
            let (proxied, at) = (&mut self.ranks[index], usize::from(source == RankSource::Stderr));
            if outbox.pending() >= QUEUE_MAX || (source != RankSource::Pmi && self.credit[at] == 0) {
                self.stalled.push((index, source));
            } else if source == RankSource::Pmi {
                proxied.pass_on_talk(outbox);
            } else if let Some(count) = proxied.pass_on(source, self.credit[at].min(TURN), outbox) {
                self.credit[at] -= count;
                self.ready.push_back((index, source));
            }
        }
    }

    fn is_over(&mut self) -> bool {
        let is_late = |proxy: &Self| Instant::now() >= proxy.connection.heard + proxy.silence;
        if is_late(self) {
            self.hear(); // this process may have been stopped
        }
        self.is_launcher_silent = !self.may_be_silent && is_late(self);
        self.connection.has_ended || self.connection.outbox.is_closed() || self.is_launcher_silent
    }

    /// Says why everything here has ended, if the launcher cannot: by the agent's standard error, which leads past it. Last, since
    /// what reads there may have stopped too.
    fn tell_silence(&self) {
        if self.is_launcher_silent && !self.connection.has_ended {
            let (host, seconds) = (name_of_this_host(), self.silence.as_secs());
            let why = format!("nothing was heard from the launcher for {seconds} s");
            let _ = writeln!(io::stderr(), "rmarun on {host}: {why}; its ranks here were ended");
        }
    }

    fn time_to_sleep(&self) -> Duration {
        if !self.ready.is_empty() {
            return Duration::ZERO;
        }
        let lost_at = (!self.may_be_silent).then(|| self.connection.heard + self.silence);
        let next = lost_at.map_or(self.beat_at, |at| self.beat_at.min(at));
        next.saturating_duration_since(Instant::now()) + Duration::from_millis(1)
    }

    /// Ends everything, and passes on the last output.
    fn close(&mut self) {
        let end_stragglers = || {
            if !self.keeps_children {
                stragglers::end_marked_and_adopted(&self.mark, &self.spared);
            }
        };
        // What is killed next is the guard too: until then it is there in case this process is killed.
        end_stragglers();
        self.signal(Signal::KILL.as_raw() as u32);
        end_stragglers();
        let outbox = &self.connection.outbox;
        for proxied in &mut self.ranks {
            proxied.pass_on_rest(outbox);
        }
        let until = Instant::now() + END_LIMIT;
        while outbox.pending() > 0
            && let Some(left) = until.checked_duration_since(Instant::now())
        {
            let left = Timespec::try_from(left.min(Duration::from_millis(10))).ok();
            let _ = poll(&mut [], left.as_ref());
            outbox.flush();
        }
    }
}
