//! The structures of channels in `rma.h`, as C lays them out. A test of `rma-embed` compares their sizes with the header's.

use crate::foreign::Versioned;
use std::ffi::{c_char, c_int, c_void};

/// A function of a table that may be missing.
pub type Optional<F> = Option<F>;

/// `rma_area`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Area {
    pub(crate) remaining: unsafe extern "C" fn(*const Area) -> u64,
    pub(crate) peek: unsafe extern "C" fn(*const Area, usize, *mut usize) -> *mut c_void,
    pub(crate) advance: unsafe extern "C" fn(*mut Area, usize),
}

/// `rma_waker`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waker {
    pub(crate) wake: unsafe extern "C" fn(*const Waker),
}

/// `rma_sink`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sink {
    pub(crate) size: usize,
    pub(crate) wants: unsafe extern "C" fn(*const Sink) -> c_int,
    pub(crate) packet: unsafe extern "C" fn(*mut Sink, u32, c_int, *const c_void, usize) -> c_int,
    pub(crate) bulk:
        unsafe extern "C" fn(*mut Sink, u32, c_int, *const c_void, usize, u64, *mut *mut Area) -> c_int,
    pub(crate) bulk_received: unsafe extern "C" fn(*mut Sink, u32, c_int) -> c_int,
    pub(crate) bulk_sent: unsafe extern "C" fn(*mut Sink, u64),
    pub(crate) writable: unsafe extern "C" fn(*mut Sink, u32, c_int),
    pub(crate) failed: unsafe extern "C" fn(*mut Sink, u32, c_int, *const c_char),
}

/// `rma_usage`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    pub(crate) peers: usize,
    pub(crate) bytes: usize,
    pub(crate) limit_bytes: usize,
}

/// `rma_channel_table`: a transport in C.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ChannelTable {
    pub(crate) size: usize,
    pub(crate) name: *const c_char,
    pub(crate) max_packet: usize,
    pub(crate) bulk_from: usize,
    pub(crate) descriptor: Optional<unsafe extern "C" fn(*mut c_void) -> c_int>,
    pub(crate) registered: Optional<unsafe extern "C" fn(*mut c_void, *const Waker)>,
    pub(crate) connect: Optional<unsafe extern "C" fn(*mut c_void, u32) -> c_int>,
    pub(crate) reserve:
        Optional<unsafe extern "C" fn(*mut c_void, u32, c_int, usize, *mut *mut c_void) -> c_int>,
    pub(crate) commit: Optional<unsafe extern "C" fn(*mut c_void)>,
    pub(crate) send_bulk: Optional<
        unsafe extern "C" fn(*mut c_void, u32, c_int, *const c_void, usize, *mut Area, u64) -> c_int,
    >,
    pub(crate) poll: Optional<unsafe extern "C" fn(*mut c_void, *mut Sink) -> c_int>,
    pub(crate) arm: Optional<unsafe extern "C" fn(*mut c_void) -> c_int>,
    pub(crate) close: Optional<unsafe extern "C" fn(*mut c_void) -> c_int>,
    pub(crate) usage: Optional<unsafe extern "C" fn(*mut c_void, *mut Usage)>,
    pub(crate) destroy: Optional<unsafe extern "C" fn(*mut c_void)>,
}

// SAFETY: a table is constants: a name and functions, which never change.
unsafe impl Sync for ChannelTable {}
// SAFETY: as above.
unsafe impl Send for ChannelTable {}
// SAFETY: begins with its size, and zero is a value of numbers, pointers and functions that may be missing.
unsafe impl Versioned for ChannelTable {}

/// `rma_opening`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opening {
    pub(crate) size: usize,
    pub(crate) me: u32,
    pub(crate) processes: u32,
    pub(crate) job: *const c_char,
    pub(crate) secret: *const u8,
    pub(crate) listen: *const c_char,
    pub(crate) publish: unsafe extern "C" fn(*const Opening, *const c_char) -> c_int,
    pub(crate) find: unsafe extern "C" fn(*const Opening, u32, *mut c_char, usize) -> c_int,
}

/// `rma_plugin`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct PluginTable {
    pub(crate) size: usize,
    pub(crate) version: u32,
    pub(crate) node_cost_ns: u32,
    pub(crate) remote_cost_ns: u32,
    pub(crate) text: *const c_char,
    pub(crate) channel: *const ChannelTable,
    pub(crate) probe: Optional<unsafe extern "C" fn(*mut c_char, usize) -> c_int>,
    pub(crate) open:
        Optional<unsafe extern "C" fn(*const Opening, *mut *mut c_void, *mut c_char, usize) -> c_int>,
}

// SAFETY: as for channels' tables.
unsafe impl Versioned for PluginTable {}

/// The structures of channels in the header: name in C, and size here. A test of `rma-embed` compares them.
pub const SIZES: &[(&str, usize)] = &[
    ("rma_area", size_of::<Area>()),
    ("rma_waker", size_of::<Waker>()),
    ("rma_sink", size_of::<Sink>()),
    ("rma_usage", size_of::<Usage>()),
    ("rma_channel_table", size_of::<ChannelTable>()),
    ("rma_opening", size_of::<Opening>()),
    ("rma_plugin", size_of::<PluginTable>()),
];
