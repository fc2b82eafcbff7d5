//! Signals that the launcher takes and passes on, as a source of its event loop.

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use rustix::process::Signal;
use signal_hook::consts::{SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2};
use signal_hook::iterator::backend::{Handle, SignalDelivery};
use signal_hook::iterator::exfiltrator::SignalOnly;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;

/// Everything that is taken; all but SIGUSR1 is passed on to the ranks.
const TAKEN: [i32; 8] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT];

/// The signals that arrived.
#[derive(Debug)]
pub(super) struct Signals {
    delivery: SignalDelivery<UnixStream, SignalOnly>,
    _handle: Handle,
}

/// What a signal asks for beyond being passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SignalWish {
    /// The end of the job. An interrupt is a word to the program, which may go on; with `by_grace` it has to end.
    End {
        /// Whether ranks that have not ended after the grace time are killed.
        by_grace: bool,
    },
    /// A pause of the launcher too.
    Stop,
    /// A report of what the ranks wait for. The ranks get no such signal: it would end those that do not expect it.
    Report,
    /// Nothing.
    None,
}

impl Signals {
    /// Takes the signals that are not ignored: `nohup` stays in force. And that of the end of a child, which only wakes.
    pub(super) fn take(registry: &Registry, token: Token) -> io::Result<Self> {
        let (read, write) = UnixStream::pair()?;
        registry.register(&mut SourceFd(&read.as_raw_fd()), token, Interest::READABLE)?;
        let taken = TAKEN.into_iter().filter(|signal| !is_ignored(*signal)).chain([SIGCHLD]);
        let delivery = SignalDelivery::with_pipe(read, write, SignalOnly, taken)?;
        let handle = delivery.handle();
        Ok(Self { delivery, _handle: handle })
    }

    /// The signals that arrived since the last call.
    pub(super) fn arrived(&mut self) -> Vec<(Signal, SignalWish)> {
        let pending = self.delivery.pending().filter(|number| *number != SIGCHLD);
        pending.filter_map(|number| Some((Signal::from_named_raw(number)?, wish(number)))).collect()
    }
}

/// Stops this process as if it had not taken the signal. Returns when it goes on.
pub(super) fn stop_here() {
    let _ = signal_hook::low_level::emulate_default_handler(SIGTSTP);
}

fn wish(number: i32) -> SignalWish {
    match number {
        SIGTERM | SIGHUP => SignalWish::End { by_grace: true },
        SIGINT | SIGQUIT => SignalWish::End { by_grace: false },
        SIGTSTP => SignalWish::Stop,
        SIGUSR1 => SignalWish::Report,
        _ => SignalWish::None,
    }
}

fn is_ignored(signal: i32) -> bool {
    // `SigIgn` of the own status: the only way to ask that changes nothing.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}
