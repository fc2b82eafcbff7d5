//! The library of PMIx, loaded into this process: its functions, and the only calls of them. One of the few files with `unsafe`.
//!
//! Invariants: strings go in with their end; memory that the library hands out is given back with `free`, which is what it is
//! made by; the library is never unloaded, since threads of its own run in it.

use super::layout::{
    AFFECTED, BOOL, Data, EVENT_ACTION_COMPLETE, INT, Info, KEY_LEN, NSPACE_LEN, PROC, Proc, STRING, SUCCESS,
    UINT32, Value,
};
use parking_lot::Mutex;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{null, null_mut};

type Operation = unsafe extern "C" fn(c_int, *mut c_void);
type Answered = unsafe extern "C" fn(c_int, *mut Info, usize, Option<Operation>, *mut c_void, *mut c_void);
type Handler = unsafe extern "C" fn(
    usize,
    c_int,
    *const Proc,
    *mut Info,
    usize,
    *mut Info,
    usize,
    Option<Answered>,
    *mut c_void,
);

/// The functions that are called, as `pmix.h` declares them.
pub(super) struct Library {
    init: unsafe extern "C" fn(*mut Proc, *mut Info, usize) -> c_int,
    finalize: unsafe extern "C" fn(*const Info, usize) -> c_int,
    abort: unsafe extern "C" fn(c_int, *const c_char, *mut Proc, usize) -> c_int,
    put: unsafe extern "C" fn(u8, *const c_char, *mut Value) -> c_int,
    commit: unsafe extern "C" fn() -> c_int,
    fence: unsafe extern "C" fn(*const Proc, usize, *const Info, usize) -> c_int,
    get: unsafe extern "C" fn(*const Proc, *const c_char, *const Info, usize, *mut *mut Value) -> c_int,
    register: unsafe extern "C" fn(
        *mut c_int,
        usize,
        *mut Info,
        usize,
        Handler,
        *const c_void,
        *mut c_void,
    ) -> c_int,
    error_string: unsafe extern "C" fn(c_int) -> *const c_char,
}

/// What a value that was asked for is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    Text(String),
    Number(u32),
}

/// An option of a call.
#[derive(Clone, Copy, Debug)]
pub(super) enum Directive {
    Flag(&'static str),
    Number(&'static str, c_int),
}

/// A process's job and rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProcessName {
    pub(super) nspace: CString,
    pub(super) rank: u32,
}

type OnEvent = Box<dyn Fn(ProcessName) + Send + Sync>;

/// Takes the processes that have died. The library hands events to a function, not to a closure.
static ON_DEATH: Mutex<Option<OnEvent>> = Mutex::new(None);

/// A call that failed: what the library says of it.
#[derive(Debug)]
pub(super) struct PmixFailure {
    pub(super) status: c_int,
    pub(super) text: String,
}

impl Library {
    /// Loads the library of this path, or of this name where the loader looks.
    ///
    /// # Errors
    /// What the loader says, or which function is missing.
    pub(super) fn open(path: &Path) -> Result<Self, String> {
        let name = CString::new(path.as_os_str().as_bytes()).map_err(|_| "no path".to_owned())?;
        // SAFETY: the name ends. What runs when the library is loaded is its own; it is made to be loaded by programs.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            return Err(loader_error());
        }
        // SAFETY: each function has the type that `pmix.h` declares for its name, in versions 3 to 5.
        unsafe {
            Ok(Self {
                init: symbol(handle, c"PMIx_Init")?,
                finalize: symbol(handle, c"PMIx_Finalize")?,
                abort: symbol(handle, c"PMIx_Abort")?,
                put: symbol(handle, c"PMIx_Put")?,
                commit: symbol(handle, c"PMIx_Commit")?,
                fence: symbol(handle, c"PMIx_Fence")?,
                get: symbol(handle, c"PMIx_Get")?,
                register: symbol(handle, c"PMIx_Register_event_handler")?,
                error_string: symbol(handle, c"PMIx_Error_string")?,
            })
        }
    }

    /// Connects to the launcher; gives the name of this process.
    pub(super) fn init(&self) -> Result<ProcessName, PmixFailure> {
        let mut me = Proc { nspace: [0; NSPACE_LEN], rank: 0 };
        // SAFETY: the library writes one process.
        self.checked(unsafe { (self.init)(&raw mut me, null_mut(), 0) })?;
        Ok(name(&me))
    }

    pub(super) fn finalize(&self) -> Result<(), PmixFailure> {
        // SAFETY: no directives.
        self.checked(unsafe { (self.finalize)(null(), 0) })
    }

    /// Asks that all processes of this job end.
    pub(super) fn abort(&self, code: i32, why: &CStr) -> Result<(), PmixFailure> {
        // SAFETY: the text ends; no list of processes stands for all of this one's job.
        self.checked(unsafe { (self.abort)(code, why.as_ptr(), null_mut(), 0) })
    }

    /// Publishes a text.
    pub(super) fn put(&self, scope: u8, key: &CStr, text: &CStr) -> Result<(), PmixFailure> {
        let mut value = Value { kind: STRING, data: Data { all: [0; 3] } };
        value.data.string = text.as_ptr().cast_mut();
        // SAFETY: key and text end; the library copies both and changes neither.
        self.checked(unsafe { (self.put)(scope, key.as_ptr(), &raw mut value) })?;
        // SAFETY: the call has no arguments.
        self.checked(unsafe { (self.commit)() })
    }

    /// Meets all processes of this job.
    pub(super) fn fence(&self, job: &CStr, rank: u32, directives: &[Directive]) -> Result<(), PmixFailure> {
        let (all, infos) = (proc(job, rank), infos(directives));
        // SAFETY: one process, which stands for all of its job, and as many directives as said.
        self.checked(unsafe { (self.fence)(&raw const all, 1, infos.as_ptr(), infos.len()) })
    }

    /// What a process has put, or the launcher says of it. What is neither a text nor a number is not found.
    pub(super) fn get(
        &self,
        job: &CStr,
        rank: u32,
        key: &CStr,
        directives: &[Directive],
    ) -> Result<Option<Found>, PmixFailure> {
        let (of, infos, mut value) = (proc(job, rank), infos(directives), null_mut::<Value>());
        // SAFETY: the process, key and directives are valid; the library writes a pointer to a value that it has made.
        self.checked(unsafe {
            (self.get)(&raw const of, key.as_ptr(), infos.as_ptr(), infos.len(), &raw mut value)
        })?;
        // SAFETY: a call that succeeds has made a value, and hands it over; its type says which member holds.
        unsafe {
            let Some(made) = value.as_ref() else { return Ok(None) };
            let found = match made.kind {
                UINT32 => Some(Found::Number(made.data.uint32)),
                STRING if made.data.string.is_null() => None,
                STRING => {
                    let text = CStr::from_ptr(made.data.string).to_string_lossy().into_owned();
                    libc::free(made.data.string.cast());
                    Some(Found::Text(text))
                }
                _ => None,
            };
            libc::free(value.cast());
            Ok(found)
        }
    }

    /// From now on tells of each process that one of these events is about.
    pub(super) fn watch(&self, codes: &[c_int], on_death: OnEvent) -> Result<(), PmixFailure> {
        *ON_DEATH.lock() = Some(on_death);
        let mut codes = codes.to_vec();
        // SAFETY: as many codes as said, which the library copies; without a function to call it answers when it is done. The
        // handler is a function of this file, and lives as long as the process.
        let answer = unsafe {
            (self.register)(codes.as_mut_ptr(), codes.len(), null_mut(), 0, on_event, null(), null_mut())
        };
        // A number that is not negative is the registration's.
        if answer >= 0 { Ok(()) } else { self.checked(answer) }
    }

    fn checked(&self, status: c_int) -> Result<(), PmixFailure> {
        if status == SUCCESS {
            return Ok(());
        }
        // SAFETY: the library answers a text of its own that stays, or none.
        let text = unsafe {
            let text = (self.error_string)(status);
            if text.is_null() { String::new() } else { CStr::from_ptr(text).to_string_lossy().into_owned() }
        };
        Err(PmixFailure { status, text })
    }
}

/// The function of a name, as the type that it is taken for.
///
/// # Safety
/// `F` must be the type of a function pointer, and that of the function.
unsafe fn symbol<F: Copy>(handle: *mut c_void, name: &CStr) -> Result<F, String> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: the handle is that of a library that is loaded, and the name ends.
    let found = unsafe { libc::dlsym(handle, name.as_ptr()) };
    match found.is_null() {
        true => Err(format!("it has no {}", name.to_string_lossy())),
        // SAFETY: as the caller promises; a function's address is what a pointer to it holds.
        false => Ok(unsafe { std::mem::transmute_copy(&found) }),
    }
}

fn loader_error() -> String {
    // SAFETY: the loader answers a text that stays until the next call of this thread, or none.
    unsafe {
        let text = libc::dlerror();
        if text.is_null() { String::new() } else { CStr::from_ptr(text).to_string_lossy().into_owned() }
    }
}

/// Called by a thread of the library. Nothing that it does may unwind.
unsafe extern "C" fn on_event(
    _registration: usize,
    _status: c_int,
    source: *const Proc,
    infos: *mut Info,
    count: usize,
    _results: *mut Info,
    _result_count: usize,
    answered: Option<Answered>,
    data: *mut c_void,
) {
    // SAFETY: the library hands over as many facts as it says, and a source or none, which stay until this returns.
    let about = unsafe { affected(infos, count).or(source.as_ref()).map(name) };
    if let (Some(name), Some(on_death)) = (about, &*ON_DEATH.lock()) {
        on_death(name);
    }
    if let Some(answered) = answered {
        // SAFETY: that is how a handler says that it is done; no results, and nothing to be called afterwards.
        unsafe { answered(EVENT_ACTION_COMPLETE, null_mut(), 0, None, null_mut(), data) };
    }
}

/// The process that an event says it is about.
///
/// # Safety
/// There must be `count` facts, which live as long as the answer is used.
unsafe fn affected<'a>(infos: *const Info, count: usize) -> Option<&'a Proc> {
    let count = if infos.is_null() { 0 } else { count };
    // SAFETY: as the caller promises; the key of each ends, and its type says which member holds.
    unsafe {
        let fact = (0..count).map(|i| &*infos.add(i)).find(|info| {
            info.value.kind == PROC
                && text(&info.key).is_some_and(|key| key.to_bytes() == AFFECTED.as_bytes())
        })?;
        fact.value.data.proc.as_ref()
    }
}

fn infos(directives: &[Directive]) -> Vec<Info> {
    let info = |directive: &Directive| {
        let (key, kind) = match directive {
            Directive::Flag(key) => (key, BOOL),
            Directive::Number(key, _) => (key, INT),
        };
        let mut info =
            Info { key: [0; KEY_LEN], flags: 0, value: Value { kind, data: Data { all: [0; 3] } } };
        fill(&mut info.key, key.as_bytes());
        match directive {
            Directive::Flag(_) => info.value.data.flag = true,
            Directive::Number(_, number) => info.value.data.integer = *number,
        }
        info
    };
    directives.iter().map(info).collect()
}

fn proc(job: &CStr, rank: u32) -> Proc {
    let mut proc = Proc { nspace: [0; NSPACE_LEN], rank };
    fill(&mut proc.nspace, job.to_bytes());
    proc
}

fn name(proc: &Proc) -> ProcessName {
    ProcessName { nspace: text(&proc.nspace).unwrap_or_default().to_owned(), rank: proc.rank }
}

/// The text in an array, if it ends there.
fn text(array: &[c_char]) -> Option<&CStr> {
    // SAFETY: a byte is a byte, signed or not.
    let bytes = unsafe { std::slice::from_raw_parts(array.as_ptr().cast::<u8>(), array.len()) };
    CStr::from_bytes_until_nul(bytes).ok()
}

/// Writes a text, and leaves at least one zero behind it.
fn fill(array: &mut [c_char], text: &[u8]) {
    let room = array.len() - 1;
    for (to, from) in array[..room].iter_mut().zip(text) {
        *to = *from as c_char;
    }
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Library(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout::DEATHS;
    use super::*;

    #[test]
    fn what_is_no_library_of_pmix_is_told_so() {
        let error = Library::open(Path::new("/nowhere/libpmix.so.2")).unwrap_err();
        assert!(error.contains("/nowhere"), "{error}");
        // A library that every process of this kind has.
        let error = Library::open(Path::new("libc.so.6")).unwrap_err();
        assert!(error.contains("it has no PMIx_"), "{error}");
    }

    #[test]
    fn an_event_tells_which_process_it_is_about() {
        let notices = std::sync::Arc::new(Mutex::new(Vec::new()));
        let sink = std::sync::Arc::clone(&notices);
        *ON_DEATH.lock() = Some(Box::new(move |name: ProcessName| sink.lock().push(name)));
        let (mut affected, source) = (proc(c"job", 3), proc(c"server", 0));
        let mut facts = infos(&[Directive::Number("pmix.other", 1), Directive::Number(AFFECTED, 0)]);
        facts[1].value.kind = PROC;
        facts[1].value.data.proc = &raw mut affected;
        for count in [2, 1] {
            // SAFETY: facts and source are as the library would hand them over.
            unsafe {
                let (facts, source) = (facts.as_mut_ptr(), &raw const source);
                on_event(0, DEATHS[0], source, facts, count, null_mut(), 0, None, null_mut());
            }
        }
        // SAFETY: an event without a process is legal.
        unsafe { on_event(0, DEATHS[0], null(), null_mut(), 0, null_mut(), 0, None, null_mut()) };
        let name = |nspace: &CStr, rank| ProcessName { nspace: nspace.to_owned(), rank };
        assert_eq!(*notices.lock(), [name(c"job", 3), name(c"server", 0)]);
    }

    #[test]
    fn texts_that_are_too_long_are_cut() {
        let mut array = [1 as c_char; 4];
        array[3] = 0;
        fill(&mut array, b"abcdef");
        assert_eq!(text(&array), Some(c"abc"));
    }
}
