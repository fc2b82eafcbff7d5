//! Memory that the provider knows: this crate's blocks where it wants that, bodies that peers read, windows that they read and
//! write, and buffers of transfers.
//!
//! A body is registered for its own transfer and withdrawn with it, while its memory is promised to stay: no registration
//! outlives what it was made for, so none is stale when a program unmaps memory. A cache of the provider's own below would keep
//! them, and keys would go on to be valid; so it is off (`crate::library`).
//!
//! Withdrawing ends what a network card may access. A provider that sends by system calls may go on with a read that it had
//! begun, for a peer that is given up: the system looks whether the memory is there.

use crate::abi::*;
use crate::block::Purpose;
use crate::object::{call, close};
use rma_core::mem::ReadSpan;
use rma_core::random::random;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

/// Bytes, and why they were not registered.
type Refused = (usize, isize);

/// The domain's registrations.
pub(crate) struct Registrations {
    domain: *mut FidDomain,
    ep: *mut FidEp,
    mr_mode: c_int,
    key_mask: u64,
    next_key: u64,
    /// Of bodies, windows and buffers; null where there is none any more.
    exposed: Vec<*mut FidMr>,
    free: Vec<u32>,
}

/// A buffer of a transfer that the provider knows for its time.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Lent(Option<u32>);

/// Memory that peers may access.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Exposed {
    number: u32,
    /// Where it begins, as the provider counts.
    pub(crate) address: u64,
    pub(crate) key: u64,
}

impl Default for Registrations {
    fn default() -> Self {
        Self {
            domain: null_mut(),
            ep: null_mut(),
            mr_mode: 0,
            key_mask: 0,
            next_key: 1,
            exposed: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl Registrations {
    pub(crate) fn new(domain: *mut FidDomain, ep: *mut FidEp, attr: &DomainAttr) -> Self {
        let bits = (attr.mr_key_size * 8).min(64) as u32;
        let key_mask = u64::MAX.checked_shr(64 - bits).unwrap_or(0);
        Self { domain, ep, mr_mode: attr.mr_mode, key_mask, ..Self::default() }
    }

    /// Whether the provider wants registrations of the memory that it is to use.
    pub(crate) fn are_needed(&self) -> bool {
        self.mr_mode & FI_MR_LOCAL != 0
    }

    /// Whether there are any but those of blocks.
    pub(crate) fn are_used(&self) -> bool {
        self.exposed.len() > self.free.len()
    }

    /// Registers a block, if the provider wants that of the memory that it is to use.
    ///
    /// # Safety
    /// The memory stays until the registration is closed.
    pub(crate) unsafe fn local(
        &mut self,
        start: *mut u8,
        len: usize,
        purpose: Purpose,
    ) -> Result<Option<*mut FidMr>, Refused> {
        if !self.are_needed() {
            return Ok(None);
        }
        let access = match purpose {
            Purpose::Send | Purpose::Receive => FI_SEND | FI_RECV,
            Purpose::Read => FI_READ,
            Purpose::Transfer => return Ok(None),
        };
        self.next_key += 1;
        // SAFETY: as the caller promises.
        unsafe { self.register(start.cast(), len, access, self.next_key) }.map(Some)
    }

    /// Registers the buffer of a transfer, if the provider wants that.
    ///
    /// # Safety
    /// The memory stays until [`Registrations::take_back`].
    pub(crate) unsafe fn lend(&mut self, memory: ReadSpan, access: u64) -> Result<Lent, Refused> {
        if !self.are_needed() {
            return Ok(Lent(None));
        }
        self.next_key += 1;
        // SAFETY: as the caller promises.
        let registration =
            unsafe { self.register(memory.as_ptr().cast(), memory.len(), access, self.next_key) }?;
        Ok(Lent(Some(self.keep(registration))))
    }

    /// What the provider calls a buffer that is lent.
    pub(crate) fn descriptor(&self, lent: &Lent) -> *mut c_void {
        // SAFETY: registered and not closed.
        lent.0.map_or(null_mut(), |number| unsafe { (*self.exposed[number as usize]).mem_desc })
    }

    pub(crate) fn take_back(&mut self, lent: Lent) {
        if let Some(number) = lent.0 {
            self.end(number);
        }
    }

    /// Registers memory that peers access, under a key that cannot be guessed: a provider asks for nothing else.
    ///
    /// # Safety
    /// The memory stays until it is withdrawn.
    pub(crate) unsafe fn expose(&mut self, memory: ReadSpan, access: u64) -> Result<Exposed, Refused> {
        let wish = random::<8>().map_err(|_| (memory.len(), -(libc::EIO as isize)))?;
        let (start, len) = (memory.as_ptr().cast::<c_void>(), memory.len());
        let wish = u64::from_le_bytes(wish) & self.key_mask;
        // SAFETY: as the caller promises.
        let registration = unsafe { self.register(start, len, access, wish) }?;
        // SAFETY: registered just now.
        let key = unsafe { (*registration).key };
        let number = self.keep(registration);
        let is_virtual = self.mr_mode & FI_MR_VIRT_ADDR != 0;
        let address = if is_virtual { start.expose_provenance() as u64 } else { 0 };
        Ok(Exposed { number, address, key })
    }

    pub(crate) fn withdraw(&mut self, exposed: Exposed) {
        self.end(exposed.number);
    }

    fn keep(&mut self, registration: *mut FidMr) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.exposed.push(null_mut());
            self.exposed.len() as u32 - 1
        });
        self.exposed[number as usize] = registration;
        number
    }

    fn end(&mut self, number: u32) {
        let registration = std::mem::replace(&mut self.exposed[number as usize], null_mut());
        close(registration.cast());
        self.free.push(number);
    }

    /// Withdraws all that is left, before the domain is closed.
    pub(crate) fn close_all(&mut self) {
        self.exposed.drain(..).for_each(|registration| close(registration.cast()));
        self.free.clear();
    }

    /// # Safety
    /// The memory stays until the registration is closed.
    unsafe fn register(
        &self,
        start: *const c_void,
        len: usize,
        access: u64,
        key: u64,
    ) -> Result<*mut FidMr, Refused> {
        let mut registration: *mut FidMr = null_mut();
        // SAFETY: an open domain, and memory that stays as the caller promises.
        let answer = unsafe {
            match (*(*self.domain).mr).reg {
                Some(function) => {
                    function(self.domain.cast(), start, len, access, 0, key, 0, &mut registration, null_mut())
                }
                None => -libc::ENOSYS,
            }
        };
        if answer != 0 {
            return Err((len, answer as isize));
        }
        if self.mr_mode & FI_MR_ENDPOINT == 0 {
            return Ok(registration);
        }
        let bound = call!(registration.cast::<Fid>(), ops.bind(self.ep.cast::<Fid>(), 0));
        let enabled = call!(registration.cast::<Fid>(), ops.control(FI_ENABLE, null_mut()));
        if (bound, enabled) != (0, 0) {
            close(registration.cast());
            return Err((len, if bound == 0 { enabled } else { bound } as isize));
        }
        Ok(registration)
    }
}
