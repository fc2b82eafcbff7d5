//! Taking over a descriptor that the launcher left open for this process. One of the few files with `unsafe`.
//!
//! A number in the environment is only a claim: before it is owned, the descriptor must be open and a stream.

use rustix::fs::FileType;
use rustix::io::{FdFlags, fcntl_setfd};
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Mutex;

/// Descriptors taken so far: each may have one owner only.
static TAKEN: Mutex<Vec<RawFd>> = Mutex::new(Vec::new());

/// Owns the descriptor of this number, and keeps it from programs that this process starts.
pub(super) fn adopt(number: u32) -> Result<OwnedFd, String> {
    let closed = |_| "no such descriptor is open (is this program started by another one that was launched?)";
    let raw = RawFd::try_from(number).map_err(|_| closed(rustix::io::Errno::BADF))?;
    if raw <= 2 {
        return Err("that is a standard stream".to_owned());
    }
    let mut taken = TAKEN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if taken.contains(&raw) {
        return Err("it is in use already (the library was initialized before)".to_owned());
    }
    // SAFETY: the borrow lasts for the two calls below, which only ask the system about the number; it answers with an
    // error when no such descriptor is open. It is not -1.
    let claimed = unsafe { BorrowedFd::borrow_raw(raw) };
    let status = rustix::fs::fstat(claimed).map_err(closed)?;
    let kind = FileType::from_raw_mode(status.st_mode);
    if !matches!(kind, FileType::Socket | FileType::Fifo) {
        return Err("that descriptor is no stream to a launcher".to_owned());
    }
    fcntl_setfd(claimed, FdFlags::CLOEXEC).map_err(closed)?;
    taken.push(raw);
    // SAFETY: the descriptor is open, and nothing in this process owns it: it was inherited under a number
    // that the launcher gave to this library alone, and `taken` keeps a second call from owning it too.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}
