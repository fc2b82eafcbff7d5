//! A shared object that brings a channel: loaded by its path, checked once, and kept until the process ends.

use crate::abi::{ChannelTable, Opening, PluginTable};
use crate::channel::{ForeignChannel, interned};
use crate::foreign::{VERSION, outside, sized, text, text_of};
use crate::opening::{LentOpening, Meeting};
use rma_core::channel::Channel;
use rma_core::ids::Peer;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

/// The one symbol that a shared object has.
const SYMBOL: &CStr = c"rma_channel_plugin";

/// Room for a text that C stores.
const TEXT_LEN: usize = 512;

/// A channel's shared object.
#[derive(Clone)]
pub struct Plugin {
    path: PathBuf,
    name: &'static str,
    text: &'static str,
    table: PluginTable,
    channel: ChannelTable,
    open: unsafe extern "C" fn(*const Opening, *mut *mut c_void, *mut c_char, usize) -> c_int,
}

// SAFETY: a table is constants, which never change; the object is never unloaded.
unsafe impl Send for Plugin {}
// SAFETY: as above.
unsafe impl Sync for Plugin {}

impl Plugin {
    /// Loads the object and checks its tables.
    ///
    /// # Errors
    /// One line that names the file, what is wrong with it, and what is expected.
    ///
    /// # Safety
    /// Loading runs what the object runs when it is loaded; the table that it has under the plug-in's name must be one of `rma.h`, with
    /// functions that keep the contract there.
    pub unsafe fn load(path: &Path) -> Result<Self, String> {
        let wrong = |cause: String| format!("{}: {cause}", path.display());
        let table = symbol(path).map_err(wrong)?;
        // SAFETY: what the object has under this name is a plug-in's table, as the caller promises; its first two fields are so in
        // every version.
        let (size, version) = unsafe {
            let version = table.cast::<u8>().add(size_of::<usize>()).cast::<u32>();
            (table.cast::<usize>().read_unaligned(), version.read_unaligned())
        };
        if version != VERSION || size < size_of::<usize>() + size_of::<u32>() {
            return Err(wrong(format!(
                "the plug-in is of version {version} of rma.h, but {VERSION} is expected: compile it with this library's"
            )));
        }
        // SAFETY: of this version, so as long as it says.
        let table = unsafe { sized(table, "rma_channel_plugin") };
        let table = table.map_err(|error| wrong(error.cause().to_owned()))?;
        // SAFETY: null, or a table of this version.
        let channel = unsafe { sized(table.channel, "the plug-in's channel") };
        let channel = channel.map_err(|error| wrong(error.cause().to_owned()))?;
        let capabilities =
            ForeignChannel::inspect(&channel).map_err(|error| wrong(error.cause().to_owned()))?;
        let open = table.open.ok_or_else(|| wrong("the plug-in's table has no function open".to_owned()))?;
        if (table.node_cost_ns, table.remote_cost_ns) == (0, 0) {
            return Err(wrong("the plug-in reaches no process: both its costs are 0".to_owned()));
        }
        let text = interned(&text(table.text).unwrap_or_default());
        Ok(Self { path: path.to_owned(), name: capabilities.name, text, table, channel, open })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The channel's name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What it is, in one line.
    pub fn text(&self) -> &'static str {
        self.text
    }

    /// What a short packet costs within a node, and between two.
    pub fn costs_ns(&self) -> (Option<u32>, Option<u32>) {
        let reaches = |cost: u32| (cost > 0).then_some(cost);
        (reaches(self.table.node_cost_ns), reaches(self.table.remote_cost_ns))
    }

    /// What there is of what the channel needs.
    ///
    /// # Errors
    /// What the object says is missing.
    pub fn probe(&self) -> Result<String, String> {
        let Some(probe) = self.table.probe else { return Ok(self.path.display().to_string()) };
        // SAFETY: a function of the table, with room for a text.
        let (answer, said) = telling(|to, len| unsafe { probe(to, len) });
        if answer == 0 { Ok(said) } else { Err(self.refusal("probe", answer, &said)) }
    }

    /// Opens a channel.
    ///
    /// # Errors
    /// What the object says.
    pub fn open(
        &self,
        place: (Peer, u32),
        job: (&str, [u8; 32]),
        listen: &str,
        meeting: Box<dyn Meeting>,
    ) -> Result<Box<dyn Channel>, String> {
        let lent = LentOpening::new(place, job, listen, meeting);
        let mut context = std::ptr::null_mut();
        let (answer, said) = telling(|to, len| {
            // SAFETY: a function of the table, with an opening that lives as long as the channel, and places for what it stores.
            unsafe { (self.open)(lent.as_ptr(), &raw mut context, to, len) }
        });
        if answer != 0 {
            return Err(self.refusal("open", answer, &said));
        }
        // SAFETY: the user that named the object promises it: its functions keep the contract with what
        // `open` has made.
        let channel = unsafe { ForeignChannel::new(&self.channel, context) };
        let channel = channel.map_err(|error| self.refusal("table", 0, error.cause()))?;
        channel.owner().store(true, Relaxed);
        Ok(Box::new(channel.keeping(lent)))
    }

    fn refusal(&self, function: &str, answer: c_int, said: &str) -> String {
        let said =
            if said.is_empty() { format!("its {function} answered {answer}") } else { said.to_owned() };
        format!("{}: {said}", self.path.display())
    }
}

impl fmt::Debug for Plugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plugin").field("path", &self.path).field("name", &self.name).finish_non_exhaustive()
    }
}

/// The table that the object has, whatever is in it; not null.
fn symbol(path: &Path) -> Result<*const PluginTable, String> {
    let name = CString::new(path.as_os_str().as_bytes()).map_err(|_| "a path has no zero byte".to_owned())?;
    // SAFETY: the name ends. What runs when the object is loaded is its own, and the user that named it wants
    // it to run.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if handle.is_null() {
        // SAFETY: after a failure this is a string until the next call of the loader on this thread.
        let why = unsafe { text_of(libc::dlerror()) }.unwrap_or_default();
        return Err(format!("the plug-in cannot be loaded: {why}"));
    }
    // SAFETY: a handle that stays open, and a name that ends.
    let found = unsafe { libc::dlsym(handle, SYMBOL.as_ptr()) };
    if found.is_null() {
        return Err("no plug-in: `const rma_plugin rma_channel_plugin` of rma.h is expected".to_owned());
    }
    Ok(found.cast_const().cast())
}

/// Calls what stores a text.
fn telling(function: impl FnOnce(*mut c_char, usize) -> c_int) -> (c_int, String) {
    let mut said = [0u8; TEXT_LEN];
    let answer = outside(|| function(said.as_mut_ptr().cast(), TEXT_LEN - 1));
    let end = said.iter().position(|byte| *byte == 0).unwrap_or(TEXT_LEN);
    (answer, String::from_utf8_lossy(&said[..end]).replace('\n', " "))
}
