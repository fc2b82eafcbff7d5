//! PMIx's structures and numbers, as versions 3 to 5 of its standard have them. The only place that knows them.

use std::ffi::{c_char, c_int};
use std::mem::{offset_of, size_of};

/// Longest name of a job, with its end.
pub(super) const NSPACE_LEN: usize = 256;
/// Longest key, with its end.
pub(super) const KEY_LEN: usize = 512;

/// A process, or all of a job.
#[repr(C)]
pub(super) struct Proc {
    pub(super) nspace: [c_char; NSPACE_LEN],
    pub(super) rank: u32,
}

/// A value and its type.
#[repr(C)]
pub(super) struct Value {
    pub(super) kind: u16,
    pub(super) data: Data,
}

/// What a value holds, by its type.
#[repr(C)]
pub(super) union Data {
    pub(super) flag: bool,
    pub(super) integer: c_int,
    pub(super) uint32: u32,
    pub(super) string: *mut c_char,
    pub(super) proc: *mut Proc,
    pub(super) all: [u64; 3],
}

/// A directive, or a fact about an event.
#[repr(C)]
pub(super) struct Info {
    pub(super) key: [c_char; KEY_LEN],
    pub(super) flags: u32,
    pub(super) value: Value,
}

const _: () = {
    assert!(size_of::<Proc>() == 260 && offset_of!(Proc, rank) == 256);
    assert!(size_of::<Value>() == 32 && offset_of!(Value, data) == 8);
    assert!(size_of::<Info>() == 552 && offset_of!(Info, flags) == 512 && offset_of!(Info, value) == 520);
};

/// Every rank of a job.
pub(super) const RANK_WILDCARD: u32 = u32::MAX - 1;

pub(super) const SUCCESS: c_int = 0;
pub(super) const ERR_NOT_FOUND: c_int = -46;
/// What an event handler answers that has done all there is to do.
pub(super) const EVENT_ACTION_COMPLETE: c_int = -334;

/// Types of values.
pub(super) const BOOL: u16 = 1;
pub(super) const STRING: u16 = 3;
pub(super) const INT: u16 = 6;
pub(super) const UINT32: u16 = 14;
pub(super) const PROC: u16 = 22;

/// For all processes, on this machine and on others.
pub(super) const SCOPE_GLOBAL: u8 = 3;

/// Number of ranks of the job.
pub(super) const JOB_SIZE: &str = "pmix.job.size";
/// Ranks of the job on this machine.
pub(super) const LOCAL_PEERS: &str = "pmix.lpeers";
/// A fence hands on what was put.
pub(super) const COLLECT_DATA: &str = "pmix.collect";
/// Only this process is asked.
pub(super) const OPTIONAL: &str = "pmix.optional";
/// Seconds.
pub(super) const TIMEOUT: &str = "pmix.timeout";
/// The process that an event is about.
pub(super) const AFFECTED: &str = "pmix.evproc";

/// Events that say that a process has ended without a word: it has asked for an abort, left without finalizing, was killed by a
/// signal, or has failed.
pub(super) const DEATHS: [c_int; 4] = [-8, -200, -402, -404];
