//! An endpoint for reliable datagrams, with what belongs to it. Only this file and `access` call libfabric's objects.
//!
//! Invariants: memory is freed when the endpoint that may use it is closed, registrations before the domain; every slot that
//! was handed to the provider comes back once, by [`Fabric::collect`]. Knows no packet and no peer, only addresses.

use crate::abi::*;
use crate::block::{Block, Purpose, SlotName, slot_of};
use crate::config::OfiConfig;
use crate::library::Library;
use crate::object::{call, close};
use crate::provider::find;
use crate::registration::{Exposed, Lent, Registrations};
use crate::tick::Tick;
use crate::wire::ADDRESS_MAX;
use rma_core::mem::{ReadSpan, WriteSpan};
use std::ffi::{c_int, c_void};
use std::io;
use std::net::IpAddr;
use std::os::fd::{BorrowedFd, RawFd};
use std::ptr::{null, null_mut};

/// Completions read in one call.
const COMPLETIONS: usize = 32;
/// Bytes behind the error entry that later versions may write.
const LATER: usize = 64;

/// The endpoint.
pub(crate) struct Fabric {
    pub(crate) library: Library,
    info: *mut Info,
    fabric: *mut FidFabric,
    domain: *mut FidDomain,
    pub(crate) av: *mut FidAv,
    cq: *mut FidCq,
    ep: *mut FidEp,
    wait: Option<RawFd>,
    /// In its place where the provider has no descriptor.
    tick: Option<Tick>,
    inject_max: usize,
    /// Longest read from a peer's memory; none without that.
    longest_read: Option<usize>,
    /// Whether the end of a registration ends all access: so with devices, which ask for memory that is there to be registered, if
    /// the provider keeps no registration longer.
    pins: bool,
    pub(crate) registrations: Registrations,
    address: Vec<u8>,
    pub(crate) blocks: Vec<Block>,
}

// SAFETY: the objects belong to this value alone, and FI_THREAD_DOMAIN lets any thread use them, one at a time.
unsafe impl Send for Fabric {}

/// What became of handing a slot over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Handed {
    /// The provider has it; a completion follows.
    Over,
    /// The bytes were taken; the slot is free.
    Taken,
    /// Not now.
    NotNow,
    /// Never; why.
    Broken(String),
}

/// A slot that came back.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) place: SlotName,
    pub(crate) purpose: Purpose,
    /// Bytes that arrived, or what went wrong.
    pub(crate) outcome: Result<usize, String>,
}

impl Fabric {
    /// Opens an endpoint of the provider that the configuration names, on the interface of this address if it goes by addresses.
    ///
    /// # Safety
    /// As [`probe`](crate::probe).
    pub(crate) unsafe fn open(config: &OfiConfig, listen: Option<IpAddr>) -> Result<Self, String> {
        // SAFETY: the caller's promise.
        let library = unsafe { Library::load(config.library.as_str(), config.provider.as_str())? };
        let info = find(&library, config.provider.as_str(), listen)?;
        let mut new = Self {
            library,
            info,
            fabric: null_mut(),
            domain: null_mut(),
            av: null_mut(),
            cq: null_mut(),
            ep: null_mut(),
            wait: None,
            tick: None,
            inject_max: 0,
            longest_read: None,
            pins: false,
            registrations: Registrations::default(),
            address: Vec::new(),
            blocks: Vec::new(),
        };
        // What is open so far is closed by the drop.
        new.open_objects().map_err(|(what, answer)| {
            format!("{}: {what}: {}", config.provider.as_str(), new.library.error(answer))
        })?;
        Ok(new)
    }

    fn open_objects(&mut self) -> Result<(), (&'static str, isize)> {
        let done = |what, answer: c_int| if answer == 0 { Ok(()) } else { Err((what, answer as isize)) };
        // SAFETY: the library's own description of what it found, whole until it is freed.
        let (fabric_attr, caps, tx, domain_attr, ep_attr) = unsafe {
            let info = &*self.info;
            (info.fabric_attr, info.caps, &*info.tx_attr, &*info.domain_attr, &*info.ep_attr)
        };
        self.inject_max = tx.inject_size;
        self.longest_read = (caps & FI_RMA != 0).then_some(ep_attr.max_msg_size);
        self.pins = domain_attr.mr_mode & FI_MR_ALLOCATED != 0 && !self.library.keeps_registrations;
        // SAFETY: as above, and a place for the answer.
        done("fi_fabric", unsafe { (self.library.fabric)(fabric_attr, &mut self.fabric, null_mut()) })?;
        done("fi_domain", call!(self.fabric, ops.domain(self.info, &mut self.domain, null_mut())))?;
        let mut av = AvAttr {
            kind: FI_AV_TABLE,
            rx_ctx_bits: 0,
            count: 0,
            ep_per_node: 0,
            name: null(),
            map_addr: null_mut(),
            flags: 0,
        };
        done("fi_av_open", call!(self.domain, ops.av_open(&mut av, &mut self.av, null_mut())))?;
        self.open_queue()?;
        done("fi_endpoint", call!(self.domain, ops.endpoint(self.info, &mut self.ep, null_mut())))?;
        let (av, cq) = (self.av.cast::<Fid>(), self.cq.cast::<Fid>());
        done("fi_ep_bind", call!(self.ep.cast::<Fid>(), ops.bind(av, 0)))?;
        done("fi_ep_bind", call!(self.ep.cast::<Fid>(), ops.bind(cq, FI_SEND | FI_RECV)))?;
        done("fi_enable", call!(self.ep.cast::<Fid>(), ops.control(FI_ENABLE, null_mut())))?;
        self.registrations = Registrations::new(self.domain, self.ep, domain_attr);
        let mut address = [0u8; ADDRESS_MAX];
        let mut len = address.len();
        // SAFETY: the endpoint is enabled; its table of connection calls is there, and the place is as long as it says.
        let answer = unsafe {
            match (*(*self.ep).cm).getname {
                Some(function) => function(self.ep.cast(), address.as_mut_ptr().cast(), &mut len),
                None => -libc::ENOSYS,
            }
        };
        done("fi_getname", answer)?;
        self.address = address[..len.min(ADDRESS_MAX)].to_vec();
        Ok(())
    }

    /// The completion queue: with a descriptor where the provider has one.
    fn open_queue(&mut self) -> Result<(), (&'static str, isize)> {
        let mut answer = 0;
        for wait_obj in [FI_WAIT_FD, FI_WAIT_NONE] {
            let mut attr = CqAttr {
                size: 0,
                flags: 0,
                format: FI_CQ_FORMAT_MSG,
                wait_obj,
                signaling_vector: 0,
                wait_cond: 0,
                wait_set: null_mut(),
            };
            answer = call!(self.domain, ops.cq_open(&mut attr, &mut self.cq, null_mut()));
            if answer != 0 {
                continue;
            }
            if wait_obj == FI_WAIT_FD {
                let mut fd: c_int = -1;
                let place = (&raw mut fd).cast::<c_void>();
                let status = call!(self.cq.cast::<Fid>(), ops.control(FI_GETWAIT, place));
                self.wait = (status == 0 && fd >= 0).then_some(fd);
            }
            if self.wait.is_none() {
                let refused = |error: io::Error| -(error.raw_os_error().unwrap_or(libc::EIO) as isize);
                self.tick = Some(Tick::new().map_err(|error| ("timerfd_create", refused(error)))?);
            }
            return Ok(());
        }
        Err(("fi_cq_open", answer as isize))
    }

    /// This endpoint's address, for [`Fabric::insert`] at its peers.
    pub(crate) fn address(&self) -> &[u8] {
        &self.address
    }

    /// Longest packet that the provider copies at once.
    pub(crate) fn inject_max(&self) -> usize {
        self.inject_max
    }

    /// What becomes readable when there may be something to collect, or it is time to look.
    pub(crate) fn wait_descriptor(&self) -> Option<BorrowedFd<'_>> {
        // SAFETY: the queue's own descriptor, open as long as the queue.
        let own = self.wait.map(|fd| unsafe { BorrowedFd::borrow_raw(fd) });
        own.or_else(|| self.tick.as_ref().map(Tick::descriptor))
    }

    /// Bytes of all blocks.
    pub(crate) fn bytes(&self) -> usize {
        self.blocks.iter().map(Block::bytes).sum()
    }

    /// The name under which a peer's address is sent to.
    pub(crate) fn insert(&mut self, address: &[u8]) -> Result<u64, String> {
        if address.len() != self.address.len() {
            let (len, own) = (address.len(), self.address.len());
            return Err(format!("its address has {len} bytes, but those of this provider have {own}"));
        }
        let mut name = FI_ADDR_UNSPEC;
        let bytes = address.as_ptr().cast();
        let answer = call!(self.av, ops.insert(bytes, 1, &mut name, 0, null_mut()));
        if answer == 1 {
            Ok(name)
        } else {
            Err(format!("its address is refused: {}", self.library.error(answer as isize)))
        }
    }

    /// Makes a block of slots, registered where the provider wants that.
    pub(crate) fn add_block(&mut self, slot_len: usize, count: u32, purpose: Purpose) -> Result<u32, String> {
        let number = self.blocks.len() as u32;
        let mut block = Block::new(number, slot_len, count, purpose);
        // SAFETY: the block's own memory, which is freed when its registration is closed.
        let registered = unsafe { self.registrations.local(block.start(), block.bytes(), purpose) };
        block.registration =
            registered.map_err(|(len, answer)| self.refused(len, answer))?.unwrap_or(null_mut());
        self.blocks.push(block);
        Ok(number)
    }

    fn refused(&self, len: usize, answer: isize) -> String {
        format!("registering {len} bytes: {}", self.library.error(answer))
    }

    /// Longest read from a peer's memory, where the provider can do that.
    pub(crate) fn longest_read(&self) -> Option<usize> {
        self.longest_read
    }

    /// Whether nothing accesses memory once [`Fabric::withdraw`] has returned.
    pub(crate) fn pins(&self) -> bool {
        self.pins
    }

    /// Whether the buffers of transfers are registered.
    pub(crate) fn registers(&self) -> bool {
        self.registrations.are_needed()
    }

    /// Lets peers that have the key read memory, or write it.
    ///
    /// # Safety
    /// The memory stays until [`Fabric::withdraw`] has returned, or this value is dropped.
    pub(crate) unsafe fn expose(&mut self, memory: ReadSpan, is_written: bool) -> Result<Exposed, String> {
        let access = if is_written { FI_REMOTE_READ | FI_REMOTE_WRITE } else { FI_REMOTE_READ };
        // SAFETY: as the caller promises.
        let exposed = unsafe { self.registrations.expose(memory, access) };
        exposed.map_err(|(len, answer)| self.refused(len, answer))
    }

    /// Begins to write a buffer to a peer's memory, or to fill it from there. The slot comes back when all of it is there; the buffer
    /// is taken back then, or now where nothing was begun.
    ///
    /// # Errors
    /// When the buffer cannot be used.
    ///
    /// # Safety
    /// The buffer stays until its `Lent` was taken back, or this value is dropped.
    pub(crate) unsafe fn transfer(
        &mut self,
        place: SlotName,
        (buffer, is_read): (ReadSpan, bool),
        (peer, addr, key): (u64, u64, u64),
    ) -> Result<(Handed, Lent), String> {
        let access = if is_read { FI_READ } else { FI_WRITE };
        // SAFETY: as the caller promises.
        let lent = unsafe { self.registrations.lend(buffer, access) };
        let lent = lent.map_err(|(len, answer)| self.refused(len, answer))?;
        let (memory, len) = (buffer.as_ptr().cast_mut().cast::<c_void>(), buffer.len());
        let context = self.blocks[place.block as usize].context(place.slot);
        let own = self.registrations.descriptor(&lent);
        let mut descriptor = own;
        let (from, to) = (libc::iovec { iov_base: memory, iov_len: len }, RmaIov { addr, len, key });
        let message = MsgRma {
            msg_iov: &from,
            desc: &mut descriptor,
            iov_count: 1,
            addr: peer,
            rma_iov: &to,
            rma_iov_count: 1,
            context,
            data: 0,
        };
        let answer = self.on_ep(|ep| match is_read {
            true => call!(ep, rma.read(memory, len, own, peer, addr, key, context)),
            false => call!(ep, rma.writemsg(&message, FI_COMPLETION | FI_DELIVERY_COMPLETE)),
        });
        Ok((self.handed(answer, Handed::Over), lent))
    }

    /// The provider is done with a buffer, or was not given it.
    pub(crate) fn take_back(&mut self, lent: Lent) {
        self.registrations.take_back(lent);
    }

    /// Whether the endpoint is there.
    pub(crate) fn is_open(&self) -> bool {
        !self.ep.is_null()
    }

    /// Ends all access to memory for good: the last resort where a provider does not come back from it.
    pub(crate) fn shut(&mut self) {
        close(std::mem::replace(&mut self.ep, null_mut()).cast());
    }

    /// Ends that: what was not begun is refused from now on.
    pub(crate) fn withdraw(&mut self, exposed: Exposed) {
        self.registrations.withdraw(exposed);
    }

    /// Number of slots' bytes.
    pub(crate) fn slot_len(&self, block: u32) -> usize {
        self.blocks[block as usize].slot_len()
    }

    /// The first bytes of a slot that is not handed over.
    pub(crate) fn read(&self, place: SlotName, len: usize) -> &[u8] {
        let block = &self.blocks[place.block as usize];
        assert!(len <= block.slot_len(), "{len} bytes of a slot of {}", block.slot_len());
        // SAFETY: a slot of a block that lives; the provider has given it back, and it is not written while
        // this is borrowed.
        unsafe { std::slice::from_raw_parts(block.slot(place.slot), len) }
    }

    /// A part of a slot that is not handed over, for writing.
    pub(crate) fn part(&mut self, place: SlotName, at: usize, len: usize) -> WriteSpan {
        let block = &self.blocks[place.block as usize];
        assert!(at + len <= block.slot_len(), "byte {} of a slot of {}", at + len, block.slot_len());
        // SAFETY: a part of a slot that is this crate's now.
        unsafe { WriteSpan::new(block.slot(place.slot).add(at), len) }
    }

    /// Hands a slot over for whatever arrives next.
    pub(crate) fn post(&mut self, place: SlotName) -> Handed {
        let block = &self.blocks[place.block as usize];
        let (memory, len) = (block.slot(place.slot).cast::<c_void>(), block.slot_len());
        let (descriptor, context) = (block.descriptor(), block.context(place.slot));
        let answer = self.on_ep(|ep| call!(ep, msg.recv(memory, len, descriptor, FI_ADDR_UNSPEC, context)));
        self.handed(answer, Handed::Over)
    }

    /// Sends the first bytes of a slot.
    pub(crate) fn send(&mut self, place: SlotName, len: usize, to: u64) -> Handed {
        let block = &self.blocks[place.block as usize];
        assert!(len <= block.slot_len(), "{len} bytes of a slot of {}", block.slot_len());
        let memory = block.slot(place.slot).cast::<c_void>();
        if len <= self.inject_max {
            let answer = self.on_ep(|ep| call!(ep, msg.inject(memory, len, to)));
            return self.handed(answer, Handed::Taken);
        }
        let (descriptor, context) = (block.descriptor(), block.context(place.slot));
        let answer = self.on_ep(|ep| call!(ep, msg.send(memory, len, descriptor, to, context)));
        self.handed(answer, Handed::Over)
    }

    /// Sends bytes of this process that need no slot.
    ///
    /// # Panics
    /// When they are longer than [`Fabric::inject_max`].
    pub(crate) fn inject(&mut self, bytes: &[u8], to: u64) -> Handed {
        assert!(bytes.len() <= self.inject_max, "{} bytes", bytes.len());
        let answer = self.on_ep(|ep| call!(ep, msg.inject(bytes.as_ptr().cast(), bytes.len(), to)));
        self.handed(answer, Handed::Taken)
    }

    /// Asks the endpoint, while there is one.
    pub(crate) fn on_ep(&self, ask: impl FnOnce(*mut FidEp) -> isize) -> isize {
        if self.ep.is_null() { -(libc::ENOTCONN as isize) } else { ask(self.ep) }
    }

    pub(crate) fn handed(&self, answer: isize, good: Handed) -> Handed {
        match answer {
            0 => good,
            _ if answer == -(FI_EAGAIN as isize) => Handed::NotNow,
            _ => Handed::Broken(self.library.error(answer)),
        }
    }

    /// Moves bytes, and takes back slots that the provider is done with. Whether there may be more.
    pub(crate) fn collect(&mut self, done: &mut Vec<Done>) -> bool {
        let mut entries = [CqMsgEntry { op_context: null_mut(), flags: 0, len: 0 }; COMPLETIONS];
        let place = entries.as_mut_ptr().cast::<c_void>();
        let count = call!(self.cq, ops.read(place, COMPLETIONS));
        if count == -(FI_EAVAIL as isize) {
            return self.collect_error(done);
        }
        let count = usize::try_from(count).unwrap_or(0).min(COMPLETIONS);
        for entry in entries.iter().take(count).filter(|entry| !entry.op_context.is_null()) {
            // SAFETY: every operation was begun with a context of a block that lives.
            let place = unsafe { slot_of(entry.op_context) };
            let purpose = self.blocks[place.block as usize].purpose;
            done.push(Done { place, purpose, outcome: Ok(entry.len) });
        }
        count == COMPLETIONS
    }

    fn collect_error(&mut self, done: &mut Vec<Done>) -> bool {
        /// The entry with room for what later versions add.
        #[repr(C)]
        struct Entry(CqErrEntry, [u8; LATER]);
        let empty = CqErrEntry {
            op_context: null_mut(),
            flags: 0,
            len: 0,
            buf: null_mut(),
            data: 0,
            tag: 0,
            olen: 0,
            err: 0,
            prov_errno: 0,
            err_data: null_mut(),
            err_data_size: 0,
        };
        let mut entry = Entry(empty, [0; LATER]);
        let place = (&raw mut entry).cast::<CqErrEntry>();
        let count = call!(self.cq, ops.readerr(place, 0));
        if count != 1 {
            return false;
        }
        let error = entry.0;
        if !error.op_context.is_null() {
            // SAFETY: as in `collect`.
            let place = unsafe { slot_of(error.op_context) };
            let purpose = self.blocks[place.block as usize].purpose;
            done.push(Done { place, purpose, outcome: Err(self.library.error(error.err as isize)) });
        }
        true
    }

    /// Whether a sleep on the descriptor misses nothing.
    pub(crate) fn may_sleep(&mut self) -> bool {
        if let Some(tick) = &mut self.tick {
            return tick.arm();
        }
        let mut queue = self.cq.cast::<Fid>();
        call!(self.fabric, ops.trywait(&mut queue, 1)) == 0
    }

    /// Something has moved: more may come soon.
    pub(crate) fn on_moved(&mut self) {
        if let Some(tick) = &mut self.tick {
            tick.on_moved();
        }
    }
}

impl Drop for Fabric {
    fn drop(&mut self) {
        close(self.ep.cast());
        self.registrations.close_all();
        self.blocks.iter().for_each(|block| close(block.registration.cast()));
        self.blocks.clear();
        for object in [self.cq.cast(), self.av.cast(), self.domain.cast(), self.fabric.cast()] {
            close(object);
        }
        // SAFETY: made by the library, and used by nothing any more.
        unsafe { (self.library.freeinfo)(self.info) };
    }
}
