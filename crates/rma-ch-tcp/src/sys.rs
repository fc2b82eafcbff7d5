//! System calls that take raw memory: gathered sends and scattered receives, and the length of the send queue.
//!
//! The only file that makes them. User memory goes to the kernel as address and length and never becomes a slice: other
//! processes and threads may write it meanwhile. Invariant: a vector lives no longer than the memory its entries name.

use rma_core::mem::{ReadSpan, WriteSpan};
use smallvec::SmallVec;
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// Entries of one call. Small pieces are copied together before, so that few are enough for a long write.
const ENTRIES: usize = 64;

/// Memory to send in one call.
#[derive(Debug)]
pub(crate) struct SendVec<'a> {
    entries: SmallVec<[libc::iovec; ENTRIES]>,
    len: usize,
    memory: PhantomData<&'a [u8]>,
}

/// Memory to receive into in one call.
#[derive(Debug)]
pub(crate) struct ReceiveVec<'a> {
    entries: SmallVec<[libc::iovec; ENTRIES]>,
    len: usize,
    memory: PhantomData<&'a mut [u8]>,
}

impl<'a> SendVec<'a> {
    pub(crate) fn new() -> Self {
        Self { entries: SmallVec::new(), len: 0, memory: PhantomData }
    }

    /// Bytes named so far.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether no entry can be added.
    pub(crate) fn is_full(&self) -> bool {
        self.entries.len() == ENTRIES
    }

    /// Adds private bytes.
    ///
    /// # Panics
    /// When the vector is full.
    pub(crate) fn push(&mut self, bytes: &'a [u8]) {
        self.push_raw(bytes.as_ptr(), bytes.len());
    }

    /// Adds memory that others may write.
    ///
    /// # Panics
    /// When the vector is full.
    pub(crate) fn push_span(&mut self, span: ReadSpan) {
        self.push_raw(span.as_ptr(), span.len());
    }

    fn push_raw(&mut self, start: *const u8, len: usize) {
        if len > 0 {
            assert!(!self.is_full(), "an entry too many");
            self.entries.push(libc::iovec { iov_base: start.cast_mut().cast(), iov_len: len });
            self.len += len;
        }
    }

    /// Sends from the front of the vector as many bytes as fit; says how many.
    ///
    /// # Errors
    /// Those of the system, `WouldBlock` when no byte fits. Never raises a signal.
    pub(crate) fn send(&self, socket: BorrowedFd<'_>) -> io::Result<usize> {
        let socket = socket.as_raw_fd();
        let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
        let sent = retried(|| {
            if let [entry] = self.entries[..] {
                // SAFETY: the entry is readable memory: bytes borrowed for 'a, or a span whose maker promised that it
                // is readable while copies of the span are in use. The kernel only reads it.
                return unsafe { libc::send(socket, entry.iov_base, entry.iov_len, flags) };
            }
            // SAFETY: all-zero is a valid value of this plain structure: no name, no entries, no control data.
            let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
            message.msg_iov = self.entries.as_ptr().cast_mut();
            message.msg_iovlen = self.entries.len() as _;
            // SAFETY: the message names the entries of this vector, which are as above; the kernel writes neither to
            // the entries nor to what they name.
            unsafe { libc::sendmsg(socket, &message, flags) }
        });
        sent.map_err(|error| with_place(error, &self.entries, "read"))
    }
}

impl<'a> ReceiveVec<'a> {
    pub(crate) fn new() -> Self {
        Self { entries: SmallVec::new(), len: 0, memory: PhantomData }
    }

    /// Bytes named so far.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether only one more entry can be added.
    pub(crate) fn is_nearly_full(&self) -> bool {
        self.entries.len() + 1 >= ENTRIES
    }

    /// Adds private bytes.
    ///
    /// # Panics
    /// When the vector is full.
    pub(crate) fn push(&mut self, bytes: &'a mut [u8]) {
        self.push_raw(bytes.as_mut_ptr(), bytes.len());
    }

    /// Adds memory that others may access.
    ///
    /// # Panics
    /// When the vector is full.
    pub(crate) fn push_span(&mut self, span: WriteSpan) {
        self.push_raw(span.as_mut_ptr(), span.len());
    }

    fn push_raw(&mut self, start: *mut u8, len: usize) {
        if len > 0 {
            assert!(self.entries.len() < ENTRIES, "an entry too many");
            self.entries.push(libc::iovec { iov_base: start.cast(), iov_len: len });
            self.len += len;
        }
    }

    /// Fills the front of the vector with what has arrived; says how many bytes. 0 is the end of the stream.
    ///
    /// # Errors
    /// Those of the system, `WouldBlock` when nothing has arrived.
    pub(crate) fn receive(&mut self, socket: BorrowedFd<'_>) -> io::Result<usize> {
        let socket = socket.as_raw_fd();
        let received = retried(|| {
            if let [entry] = self.entries[..] {
                // SAFETY: the entry is writable memory: bytes borrowed exclusively for 'a, or a span whose maker
                // promised that it is writable while copies of the span are in use.
                return unsafe { libc::recv(socket, entry.iov_base, entry.iov_len, libc::MSG_DONTWAIT) };
            }
            // SAFETY: as above for every entry; their number fits since it is at most `ENTRIES`.
            unsafe { libc::readv(socket, self.entries.as_ptr(), self.entries.len() as libc::c_int) }
        });
        received.map_err(|error| with_place(error, &self.entries, "written"))
    }
}

/// Bytes written to the socket that the peer's system has not confirmed, an end of stream included.
///
/// # Errors
/// Those of the system.
pub(crate) fn unconfirmed(socket: BorrowedFd<'_>) -> io::Result<u32> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the request writes one `int` through its argument, which is exclusively borrowed.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(u32::try_from(bytes).unwrap_or(0)) }
}

/// How long nothing has come from the peer's system, if it owes something: a confirmation of what was sent to it, or an answer to a
/// question whether it takes more. One such question may be on its way.
///
/// # Errors
/// Those of the system.
pub(crate) fn silence(socket: BorrowedFd<'_>) -> io::Result<Option<Duration>> {
    // SAFETY: all-zero is a valid value of this plain structure of numbers.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut len = size_of_val(&info) as libc::socklen_t;
    // SAFETY: the call writes at most `len` bytes, which is the size of the structure, and both are exclusively borrowed.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut len,
        )
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    let owes = info.tcpi_unacked > 0 || info.tcpi_probes > 1;
    Ok(owes.then(|| Duration::from_millis(info.tcpi_last_ack_recv.into())))
}

/// Memory that a call of the program has named, and that this process cannot access so. It is not the peer's fault.
#[derive(Debug)]
pub(crate) struct BadMemory {
    start: usize,
    len: usize,
    access: &'static str,
}

impl BadMemory {
    /// What of an error says that, if it does.
    pub(crate) fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}

impl fmt::Display for BadMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { start, len, access } = self;
        write!(f, "the {len} bytes at {start:#x} that one of its calls has named cannot be {access} (EFAULT)")
    }
}

impl std::error::Error for BadMemory {}

/// An error of a call with these entries; with the entry that it is about, if that is the program's bad memory. The first entry
/// whose first or last byte cannot be read, else the longest: private bytes are always there, and short.
#[cold]
fn with_place(error: io::Error, entries: &[libc::iovec], access: &'static str) -> io::Error {
    if error.raw_os_error() != Some(libc::EFAULT) {
        return error;
    }
    let is_bad = |entry: &&libc::iovec| {
        let start = entry.iov_base as usize;
        [start, start.wrapping_add(entry.iov_len.saturating_sub(1))].iter().any(|at| !is_readable(*at))
    };
    let longest = || entries.iter().max_by_key(|entry| entry.iov_len);
    let Some(entry) = entries.iter().find(is_bad).or_else(longest) else { return error };
    let bad = BadMemory { start: entry.iov_base as usize, len: entry.iov_len, access };
    io::Error::new(io::ErrorKind::InvalidInput, bad)
}

/// Whether the byte at an address can be read; also where the system does not tell.
fn is_readable(address: usize) -> bool {
    let mut byte = 0u8;
    let local = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    let remote = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: 1 };
    // SAFETY: the call writes at most one byte, to a variable that is exclusively borrowed, and answers an error for an address
    // that is none.
    let read = unsafe { libc::process_vm_readv(libc::getpid(), &local, 1, &remote, 1, 0) };
    read == 1 || io::Error::last_os_error().raw_os_error() != Some(libc::EFAULT)
}

/// Makes a call again that a signal interrupted.
fn retried(mut call: impl FnMut() -> isize) -> io::Result<usize> {
    loop {
        match usize::try_from(call()) {
            Ok(len) => return Ok(len),
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => {}
                error => return Err(error),
            },
        }
    }
}
