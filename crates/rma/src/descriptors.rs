//! The limit of open descriptors of a process, raised to what it needs, as far as the system allows.
//!
//! Many systems let a process have 1,024 unless it asks for more, for the sake of programs that use select(2)
//! on descriptors past that; a job of hundreds of ranks in which all talk to all needs more. The launcher and
//! each rank raise a limit that may be too low. Connections are made when they are used, so a process may
//! need far fewer.

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// What a process has open beside its connections: standard streams, the launcher's, a poller, listening sockets, doorbells, and
/// a little of the program's own.
const BESIDE: u64 = 24;
/// Socket and doorbell of a connection, and one on its way.
const PER_PEER: u64 = 3;

static PEERS: AtomicU32 = AtomicU32::new(0);

/// About how many descriptors a process needs that talks to so many others.
fn needed(peers: u32) -> u64 {
    BESIDE + PER_PEER * u64::from(peers)
}

/// Gets this process ready to talk to so many others. The rest is for the program.
pub(crate) fn prepare(peers: u32) {
    PEERS.store(peers, Relaxed);
    raise_limit(2 * needed(peers));
}

/// Lets this process have so many descriptors open, as far as the system does.
pub(crate) fn raise_limit(needed: u64) {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < needed) {
        let current = limit.maximum.map_or(needed, |maximum| maximum.min(needed));
        // A refusal shows when the first descriptor is missing, with its own message.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(current), maximum: limit.maximum });
    }
}

/// An error as a clause; if a descriptor was not to be had, with the limit and what is needed.
pub(crate) fn explain(error: &io::Error) -> String {
    explain_for(error, || {
        let peers = PEERS.load(Relaxed);
        format!("up to about {} are needed to talk to {peers} others", needed(peers))
    })
}

/// As [`explain`], for a process that needs other numbers.
pub(crate) fn explain_for(error: &io::Error, needed: impl FnOnce() -> String) -> String {
    match Errno::from_io_error(error) {
        Some(Errno::MFILE) => {}
        Some(Errno::NFILE) => {
            return "the system's limit of open files is reached (/proc/sys/fs/file-max)".to_owned();
        }
        _ => return error.to_string(),
    }
    let limit = getrlimit(Resource::Nofile).current;
    let limit = limit.map_or_else(|| "no number".to_owned(), |limit| format!("{limit} for this process"));
    format!("the limit of open files is reached (RLIMIT_NOFILE, ulimit -n: {limit}; {})", needed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortage_says_what_there_is_and_what_is_needed() {
        let text = explain(&Errno::MFILE.into());
        assert!(text.contains("RLIMIT_NOFILE") && text.contains("are needed"), "{text}");
        assert!(!explain(&Errno::NOSPC.into()).contains("RLIMIT_NOFILE"));
    }
}
