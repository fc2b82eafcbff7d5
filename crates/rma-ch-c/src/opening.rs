//! What a channel of a shared object is opened with, as C sees it.

use crate::abi::Opening;
use crate::foreign::text;
use rma_core::ids::Peer;
use std::ffi::{CString, c_char, c_int};
use std::fmt;

/// How processes find each other.
pub trait Meeting: Send + Sync {
    /// Leaves this process's address.
    ///
    /// # Errors
    /// When the launcher does not answer.
    fn publish(&self, address: &str) -> Result<(), String>;

    /// The address that another process has left.
    ///
    /// # Errors
    /// As [`Meeting::publish`], and when there is none.
    fn find(&self, peer: Peer) -> Result<String, String>;
}

/// What C is lent as long as its channel lives. C sees the first field.
#[repr(C)]
pub(crate) struct LentOpening {
    head: Opening,
    meeting: Box<dyn Meeting>,
    job: CString,
    listen: CString,
    secret: [u8; 32],
}

// SAFETY: the pointers of the head are to this value's own allocations, which never change.
unsafe impl Send for LentOpening {}

const DONE: c_int = 0;
/// `RMA_ERR_OTHER`.
const FAILED: c_int = 16;

impl LentOpening {
    pub(crate) fn new(
        (me, processes): (Peer, u32),
        (job, secret): (&str, [u8; 32]),
        listen: &str,
        meeting: Box<dyn Meeting>,
    ) -> Box<Self> {
        let (job, listen) = (without_zeros(job), without_zeros(listen));
        let head = Opening {
            size: size_of::<Opening>(),
            me: me.0,
            processes,
            job: job.as_ptr(),
            secret: std::ptr::null(),
            listen: listen.as_ptr(),
            publish,
            find,
        };
        let mut lent = Box::new(Self { head, meeting, job, listen, secret });
        lent.head.secret = lent.secret.as_ptr();
        lent
    }

    pub(crate) fn as_ptr(&self) -> *const Opening {
        std::ptr::from_ref(self).cast()
    }
}

impl fmt::Debug for LentOpening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lent").field("job", &self.job).field("listen", &self.listen).finish_non_exhaustive()
    }
}

unsafe extern "C" fn publish(opening: *const Opening, address: *const c_char) -> c_int {
    // SAFETY: C gives back the address that it was lent, of the first field of a `LentOpening`.
    let lent = unsafe { &*opening.cast::<LentOpening>() };
    let published = text(address).map(|address| lent.meeting.publish(&address));
    if matches!(published, Some(Ok(()))) { DONE } else { FAILED }
}

unsafe extern "C" fn find(opening: *const Opening, peer: u32, to: *mut c_char, len: usize) -> c_int {
    // SAFETY: as in `publish`.
    let lent = unsafe { &*opening.cast::<LentOpening>() };
    match lent.meeting.find(Peer(peer)) {
        // SAFETY: C's promise that there is room for so many bytes.
        Ok(address) if unsafe { store(&address, to, len) } => DONE,
        _ => FAILED,
    }
}

/// Stores a text with a zero behind it; says whether there was room.
///
/// # Safety
/// Null, or room for `len` bytes.
unsafe fn store(address: &str, to: *mut c_char, len: usize) -> bool {
    let bytes = without_zeros(address).into_bytes_with_nul();
    if to.is_null() || bytes.len() > len {
        return false;
    }
    // SAFETY: not null, and the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.cast(), bytes.len()) };
    true
}

fn without_zeros(text: &str) -> CString {
    let bytes: Vec<u8> = text.bytes().filter(|byte| *byte != 0).collect();
    // Nothing is left that a C string could not hold.
    CString::new(bytes).unwrap_or_default()
}
