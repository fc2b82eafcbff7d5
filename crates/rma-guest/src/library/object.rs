//! Shared objects of this process, and what they define.

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;

/// A shared object that stays.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Object(*mut c_void);

// SAFETY: the loader's functions may be called with a handle from any thread.
unsafe impl Send for Object {}
// SAFETY: as above.
unsafe impl Sync for Object {}

impl Object {
    /// Loads it, without giving its names to others.
    ///
    /// # Errors
    /// What the loader says.
    pub(crate) fn load(path: &Path) -> Result<Self, String> {
        open(path, libc::RTLD_NOW | libc::RTLD_LOCAL).ok_or_else(|| {
            // SAFETY: the loader answers a text that stays until the next call of this thread, or none.
            unsafe {
                let said = libc::dlerror();
                if said.is_null() {
                    format!("{} cannot be loaded", path.display())
                } else {
                    CStr::from_ptr(said).to_string_lossy().into_owned()
                }
            }
        })
    }

    /// One that is loaded already.
    pub(super) fn loaded(path: &Path) -> Option<Self> {
        open(path, libc::RTLD_LAZY | libc::RTLD_NOLOAD)
    }

    /// Where something is that it or what it needs defines; null when nothing does.
    pub(crate) fn find(self, name: &CStr) -> *mut c_void {
        // SAFETY: a handle that stays open, and a string.
        unsafe { libc::dlsym(self.0, name.as_ptr()) }
    }

    /// Where a variable is: in the program, which may have a copy of it that the library uses too, or in this object; 0 when nowhere.
    pub(super) fn variable(self, name: &str) -> usize {
        let Ok(name) = CString::new(name) else { return 0 };
        // SAFETY: a string.
        let first = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        if first.is_null() { self.find(&name) as usize } else { first as usize }
    }

    /// Whether it defines a name.
    pub(crate) fn has(self, name: &CStr) -> bool {
        !self.find(name).is_null()
    }
}

fn open(path: &Path, flags: c_int) -> Option<Object> {
    let name = CString::new(path.as_os_str().as_bytes()).ok()?;
    // SAFETY: the name ends. What runs when a library is loaded is its own.
    let handle = unsafe { libc::dlopen(name.as_ptr(), flags) };
    (!handle.is_null()).then_some(Object(handle))
}

/// The next definition of a name behind this library's.
pub(super) fn next(name: &CStr) -> *const c_void {
    // SAFETY: a string.
    unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) }
}

/// As [`next`], of a function that the program calls by this name: it ends where there is none.
pub(crate) fn next_of(name: &CStr) -> *const c_void {
    let found = next(name);
    if found.is_null() {
        eprintln!("rma-guest: the MPI of this program has no {}", name.to_string_lossy());
        std::process::abort();
    }
    found
}

/// The file of the object that an address lies in.
pub(super) fn file_of(address: *const c_void) -> Option<PathBuf> {
    let mut found = libc::Dl_info {
        dli_fname: null_mut(),
        dli_fbase: null_mut(),
        dli_sname: null_mut(),
        dli_saddr: null_mut(),
    };
    // SAFETY: the loader looks the address up, and does not follow it; it writes the structure.
    let is_there = unsafe { libc::dladdr(address, &raw mut found) } != 0 && !found.dli_fname.is_null();
    // SAFETY: a string of the loader's, which stays as long as the object.
    is_there.then(|| unsafe { path_of(found.dli_fname) })
}

/// The files of all objects of this process.
pub(super) fn files() -> Vec<PathBuf> {
    unsafe extern "C" fn note(info: *mut libc::dl_phdr_info, _: usize, files: *mut c_void) -> c_int {
        // SAFETY: the loader's description of an object and the vector below, each for as long as this call.
        unsafe {
            if !(*info).dlpi_name.is_null() {
                (*files.cast::<Vec<PathBuf>>()).push(path_of((*info).dlpi_name));
            }
        }
        0
    }
    let mut files = Vec::<PathBuf>::new();
    // SAFETY: the function above gets the vector, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut files).cast()) };
    files
}

/// How many objects this process has loaded so far.
pub(super) fn loads() -> u64 {
    unsafe extern "C" fn note(info: *mut libc::dl_phdr_info, _: usize, loads: *mut c_void) -> c_int {
        // SAFETY: the loader's description of an object and the number below, each for as long as this call.
        unsafe { loads.cast::<u64>().write((*info).dlpi_adds) };
        1
    }
    let mut loads = 0u64;
    // SAFETY: the function above gets the number, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut loads).cast()) };
    loads
}

/// # Safety
/// A string.
unsafe fn path_of(text: *const c_char) -> PathBuf {
    // SAFETY: as the caller promises.
    PathBuf::from(OsStr::from_bytes(unsafe { CStr::from_ptr(text) }.to_bytes()))
}
