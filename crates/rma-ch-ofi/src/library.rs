//! libfabric itself, found by name when it is needed, and kept until the process ends.

use crate::abi::{FabricAttr, FidFabric, Info};
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::Mutex;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::{AcqRel, Acquire};

/// The functions that the library exports. All others are in tables inside its objects.
#[derive(Clone, Copy)]
pub(crate) struct Library {
    pub(crate) getinfo:
        unsafe extern "C" fn(u32, *const c_char, *const c_char, u64, *const Info, *mut *mut Info) -> c_int,
    pub(crate) dupinfo: unsafe extern "C" fn(*const Info) -> *mut Info,
    pub(crate) freeinfo: unsafe extern "C" fn(*mut Info),
    pub(crate) fabric: unsafe extern "C" fn(*mut FabricAttr, *mut *mut FidFabric, *mut c_void) -> c_int,
    /// Whether a registration that is closed may stay.
    pub(crate) keeps_registrations: bool,
    /// Whether taking an address out of the table closes the connection to it.
    pub(crate) closes_removed: bool,
    version: unsafe extern "C" fn() -> u32,
    strerror: unsafe extern "C" fn(c_int) -> *const c_char,
}

/// libfabric's own variables that are set where the environment has none, since it takes these sizes from nowhere else: provider, first
/// version without it, variable, value.
///
/// Over `tcp`, rxm makes some four thousand buffers of the first size and touches them all, 70 to 135 MiB in each process. Most are
/// receives; fewer of them also stay in the processor's cache. Messages up to the second size land where they belong without one; later
/// versions have no such size. What is longer would go in pieces of a buffer, up to the third size: with some of them under way 2.5 crashes
/// when the receiver has died. So the receiver reads it.
///
/// `verbs` keeps registrations that were closed, unless its cache is off: a peer with the key would still reach the memory. With
/// receives for each connection, rxm posts them again while it closes the connection that they belong to, and crashes, where packets
/// have arrived that were not looked at: so it is when a peer has died. Shared ones outlive the connection.
const DEFAULTS: [(&str, (u32, u32), &str, &str); 7] = [
    ("tcp;ofi_rxm", (1, 20), "FI_OFI_RXM_BUFFER_SIZE", "1024"),
    ("tcp;ofi_rxm", (1, 20), "FI_OFI_RXM_EAGER_LIMIT", "16384"),
    ("tcp;ofi_rxm", ALL, "FI_OFI_RXM_SAR_LIMIT", "0"),
    ("tcp;ofi_rxm", ALL, "FI_OFI_RXM_MSG_RX_SIZE", "32"),
    ("verbs;ofi_rxm", ALL, CACHE, CACHE_OFF),
    ("verbs;ofi_rxm", ALL, "FI_OFI_RXM_USE_SRX", "1"),
    ("verbs;ofi_rxm", ALL, "FI_OFI_RXM_MSG_RX_SIZE", "1024"),
];
const ALL: (u32, u32) = (u32::MAX, 0);
const CACHE: &str = "FI_MR_CACHE_MONITOR";
const CACHE_OFF: &str = "disabled";

/// An address that is taken out of rxm's table leaves its connection open, unless rxm is told to clean up. Over `tcp` it can be told from
/// the first version on that is known to survive it; 1.17 crashes with a read under way.
const CLEANUP: (&str, &str) = ("FI_AV_REMOVE_CLEANUP", "1");

fn cleans_up(provider: &str, version: (u32, u32)) -> bool {
    provider == "tcp;ofi_rxm" && version >= (2, 5)
}

/// Libraries of Omni-Path that providers bring along take the process's signals (SIGTERM, SIGINT, SIGSEGV and others) when they are
/// loaded, unless these are set; the handlers are the program's.
const HANDLERS: [(&str, &str); 2] = [("HFI_NO_BACKTRACE", "1"), ("IPATH_NO_BACKTRACE", "1")];

/// Those of a provider in a version.
fn defaults(provider: &str, version: (u32, u32)) -> impl Iterator<Item = (&'static str, &'static str)> {
    DEFAULTS
        .into_iter()
        .filter(move |(of, until, ..)| *of == provider && version < *until)
        .map(|(.., variable, value)| (variable, value))
        .chain(cleans_up(provider, version).then_some(CLEANUP))
}

/// Sets each that the environment has not, before it is read: once, when the library is loaded, or asked the first question. None depends
/// on another one.
fn set_defaults(variables: impl Iterator<Item = (&'static str, &'static str)>) {
    let unset = |variable: &str| std::env::var_os(variable).is_none();
    let missing: Vec<_> = variables.filter(|(variable, _)| unset(variable)).collect();
    add_to_environment(&missing);
}

unsafe extern "C" {
    /// The list of the process's variables, behind which a null pointer stands.
    static mut environ: *mut *mut c_char;
}

/// Adds variables that the environment has not, beside threads that read it: `setenv` gives the list back that a `getenv` of another
/// thread may be in. Here a longer list takes the place of the old one, which stays for the life of the process.
fn add_to_environment(variables: &[(&str, &str)]) {
    let texts = variables.iter().filter_map(|(name, value)| CString::new(format!("{name}={value}")).ok());
    let added: Vec<*mut c_char> = texts.map(CString::into_raw).collect();
    if added.is_empty() {
        return;
    }
    // SAFETY: the variable is a pointer, aligned, and lives as long as the process. Other code reads and replaces it as a whole.
    let list = unsafe { AtomicPtr::from_ptr(&raw mut environ) };
    loop {
        let old = list.load(Acquire);
        let mut new = Vec::new();
        // SAFETY: null, or a list that ends with a null pointer. A thread that takes a variable out of it meanwhile is at odds with
        // every other one that reads.
        unsafe {
            let mut entry = old;
            while !entry.is_null() && !(*entry).is_null() {
                new.push(*entry);
                entry = entry.add(1);
            }
        }
        new.extend(&added);
        new.push(std::ptr::null_mut());
        let new = Box::leak(new.into_boxed_slice()).as_mut_ptr();
        if list.compare_exchange(old, new, AcqRel, Acquire).is_ok() {
            return;
        }
    }
}

impl Library {
    /// The library of this name. It is loaded once, and never unloaded: its providers have threads.
    ///
    /// # Safety
    /// The name is that of libfabric, or of an object that does no harm when it is loaded and asked.
    pub(crate) unsafe fn load(name: &str, provider: &str) -> Result<Self, String> {
        static LOADED: Mutex<Option<HashMap<String, Library>>> = Mutex::new(None);
        let mut loaded = LOADED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let loaded = loaded.get_or_insert_default();
        if let Some(library) = loaded.get(name) {
            return Ok(*library);
        }
        // One that another library of the process has loaded may have read the environment before.
        let is_told = || std::env::var_os(CLEANUP.0).is_some_and(|value| value == CLEANUP.1);
        let was_told = !is_loaded(name) || is_told();
        set_defaults(HANDLERS.into_iter());
        // SAFETY: the caller's promise.
        let mut library = unsafe { Self::open(name)? };
        set_defaults(defaults(provider, library.version()));
        library.keeps_registrations = std::env::var_os(CACHE).is_none_or(|value| value != CACHE_OFF);
        library.closes_removed = was_told && is_told() && cleans_up(provider, library.version());
        loaded.insert(name.to_owned(), library);
        Ok(library)
    }

    /// # Safety
    /// As [`Library::load`].
    unsafe fn open(name: &str) -> Result<Self, String> {
        let text = CString::new(name).map_err(|_| "the library's name has a zero byte".to_owned())?;
        // SAFETY: a string, and the caller's promise.
        let handle = unsafe { libc::dlopen(text.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            // SAFETY: after a failure this is a string until the next call of the loader on this thread.
            let why = unsafe { CStr::from_ptr(libc::dlerror()) }.to_string_lossy().into_owned();
            return Err(format!("{why} (package libfabric1; RMA_OFI_LIB names another library)"));
        }
        let find = |symbol: &CStr| {
            // SAFETY: a handle that stays open, and a string.
            let found = unsafe { libc::dlsym(handle, symbol.as_ptr()) };
            let text = symbol.to_string_lossy();
            if found.is_null() {
                Err(format!("{name} has no function {text}: is it libfabric?"))
            } else {
                Ok(found)
            }
        };
        // SAFETY: these are the functions' types in the headers of every version from 1.0 to 2.x.
        let library = unsafe {
            Self {
                getinfo: std::mem::transmute::<
                    *mut c_void,
                    unsafe extern "C" fn(
                        u32,
                        *const c_char,
                        *const c_char,
                        u64,
                        *const Info,
                        *mut *mut Info,
                    ) -> c_int,
                >(find(c"fi_getinfo")?),
                dupinfo: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*const Info) -> *mut Info>(
                    find(c"fi_dupinfo")?,
                ),
                freeinfo: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut Info)>(find(
                    c"fi_freeinfo",
                )?),
                fabric: std::mem::transmute::<
                    *mut c_void,
                    unsafe extern "C" fn(*mut FabricAttr, *mut *mut FidFabric, *mut c_void) -> c_int,
                >(find(c"fi_fabric")?),
                keeps_registrations: true,
                closes_removed: false,
                version: std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> u32>(find(
                    c"fi_version",
                )?),
                strerror: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(c_int) -> *const c_char>(
                    find(c"fi_strerror")?,
                ),
            }
        };
        let (major, minor) = library.version();
        if (major, minor) < (1, 17) {
            return Err(format!(
                "{name} is version {major}.{minor}, but 1.17 is needed (RMA_OFI_LIB names another)"
            ));
        }
        Ok(library)
    }

    /// Major and minor version.
    pub(crate) fn version(&self) -> (u32, u32) {
        // SAFETY: takes nothing.
        let version = unsafe { (self.version)() };
        (version >> 16, version & 0xffff)
    }

    /// What an answer means; answers are negative numbers.
    pub(crate) fn error(&self, answer: isize) -> String {
        let number = c_int::try_from(answer.unsigned_abs()).unwrap_or(c_int::MAX);
        // SAFETY: takes any number and answers a string that stays.
        let text = unsafe { (self.strerror)(number) };
        if text.is_null() {
            return format!("error {number}");
        }
        // SAFETY: as above.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }
}

/// Whether the process has a library already.
fn is_loaded(name: &str) -> bool {
    let Ok(text) = CString::new(name) else { return false };
    // SAFETY: a string; nothing is loaded.
    let handle = unsafe { libc::dlopen(text.as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD) };
    !handle.is_null()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(provider: &str, version: (u32, u32)) -> Vec<&'static str> {
        defaults(provider, version).map(|(variable, _)| variable).collect()
    }

    #[test]
    fn variables_are_added_and_a_thread_that_reads_the_list_before_may_go_on() {
        let name = |round: usize| format!("RMA_TEST_ADDED_{round}");
        // SAFETY: no other test changes the environment, and lists stay.
        let list = || unsafe { environ };
        let entries = |list: *mut *mut c_char| {
            // SAFETY: as above; it ends with a null pointer.
            let entry = |at| unsafe { *list.add(at) };
            (0..).map(entry).take_while(|entry| !entry.is_null()).collect::<Vec<_>>()
        };
        let mut lists = Vec::new();
        for round in 0..50 {
            lists.push((list(), entries(list())));
            add_to_environment(&[(&name(round), "1")]);
        }
        for (at, (list, before)) in lists.into_iter().enumerate() {
            assert_eq!(entries(list), before, "list {at}");
        }
        assert!((0..50).all(|round| std::env::var(name(round)).is_ok_and(|value| value == "1")));
        set_defaults([("PATH", "changed")].into_iter());
        assert!(std::env::var("PATH").is_ok_and(|value| value != "changed"));
    }

    #[test]
    fn short_buffers_are_for_versions_that_receive_long_packets_without_one() {
        let sizes = [
            "FI_OFI_RXM_BUFFER_SIZE",
            "FI_OFI_RXM_EAGER_LIMIT",
            "FI_OFI_RXM_SAR_LIMIT",
            "FI_OFI_RXM_MSG_RX_SIZE",
        ];
        assert_eq!(names("tcp;ofi_rxm", (1, 17)), sizes);
        assert_eq!(names("tcp;ofi_rxm", (1, 19)), sizes);
        assert_eq!(names("tcp;ofi_rxm", (1, 20)), sizes[2..]);
        assert_eq!(names("tcp;ofi_rxm", (2, 5)), [&sizes[2..], &["FI_AV_REMOVE_CLEANUP"]].concat());
        assert!(names("verbs;ofi_rxm", (2, 5)).contains(&"FI_OFI_RXM_USE_SRX"));
        assert!(names("efa", (1, 17)).is_empty());
    }
}
