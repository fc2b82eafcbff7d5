//! How a rank ended, in words and as the exit status of the launcher.

use crate::pmi::Phase;
use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// Why a rank failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// Killed by a signal.
    Killed {
        /// The signal.
        signal: i32,
        /// Whether it left a core file.
        core: bool,
    },
    /// Exited with a status other than 0.
    Exited(i32),
    /// Exited with status 0 after init and without finalize.
    Vanished,
    /// Asked for the end of the job.
    Aborted(i32),
    /// Sent something that is not PMI-1.
    Malformed(String),
    /// Its host, of this name, is lost.
    HostLost(String),
}

/// Exit status when a host is lost, or cannot be reached (sysexits: `EX_UNAVAILABLE`).
pub(super) const HOST_LOST: i32 = 69;

impl Failure {
    /// What is wrong with a process that ended like this, if anything is.
    pub(super) fn of(status: ExitStatus, phase: Phase) -> Option<Self> {
        match (status.code(), status.signal()) {
            (_, Some(signal)) => Some(Self::Killed { signal, core: status.core_dumped() }),
            (Some(0), _) if phase == Phase::Running => Some(Self::Vanished),
            (Some(0) | None, None) => None,
            (Some(code), None) => Some(Self::Exited(code)),
        }
    }

    /// Whether it came from outside the program, so that it is the cause and not a consequence of another failure. A program
    /// that aborts has ended itself.
    pub(super) fn is_cause(&self) -> bool {
        !matches!(self, Self::Exited(_) | Self::Vanished | Self::Killed { signal: libc::SIGABRT, .. })
    }

    /// The exit status that shells expect for it.
    pub(super) fn exit_code(&self) -> u8 {
        let code = match self {
            Self::Killed { signal, .. } => 128 + signal,
            Self::Exited(code) | Self::Aborted(code) => *code,
            Self::HostLost(_) => HOST_LOST,
            Self::Vanished | Self::Malformed(_) => 1,
        };
        match code as u8 {
            0 => 1,
            code => code,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Killed { signal, core } => {
                let name = signal_hook::low_level::signal_name(*signal).unwrap_or("unknown");
                let core = if *core { ", core dumped" } else { "" };
                write!(f, "was killed by signal {signal} ({name}{core})")
            }
            Self::Exited(code) => write!(f, "exited with status {code}"),
            Self::Vanished => f.write_str("exited with status 0 without finalizing"),
            Self::Aborted(code) => write!(f, "called abort with exit status {code}"),
            Self::HostLost(host) => write!(f, "is lost with its host {host}"),
            Self::Malformed(why) => write!(f, "sent a line that is not PMI-1: {why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_what_shells_expect() {
        let exited = |code: i32| ExitStatus::from_raw(code << 8);
        let killed = |signal: i32| ExitStatus::from_raw(signal);
        for phase in [Phase::Started, Phase::Running, Phase::Finalized] {
            let failure = Failure::of(killed(9), phase).unwrap();
            assert_eq!(failure.exit_code(), 137);
            assert_eq!(failure.to_string(), "was killed by signal 9 (SIGKILL)");
            assert!(failure.is_cause());
            assert_eq!(Failure::of(exited(3), phase).unwrap().exit_code(), 3);
            assert_eq!(Failure::of(exited(0), phase).is_some(), phase == Phase::Running);
        }
        assert_eq!(Failure::Aborted(256).exit_code(), 1);
        assert_eq!(Failure::Aborted(7).exit_code(), 7);
        assert_eq!(Failure::Vanished.exit_code(), 1);
    }
}
