//! The channel of the C example keeps the contract, through the C interface: the whole suite.
//!
//! The example's source is compiled and loaded: what a channel calls comes with what it is given, so it needs no library.

mod support;

use rma_ch_c::{ChannelTable, ForeignChannel};
use rma_core::channel::Channel;
use rma_core::channel::conformance::Fixture;

use std::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::Ordering::Relaxed;
use support::{compile, examples};

const LANES: u32 = 2;

/// The example's channel, as the C compiler has made it.
#[derive(Clone, Copy)]
struct Toy {
    table: &'static ChannelTable,
    mesh: unsafe extern "C" fn(u32, u32, *mut c_int) -> c_int,
    new: unsafe extern "C" fn(u32, u32, *const c_int) -> *mut c_void,
}

fn toy() -> Toy {
    static TOY: OnceLock<Toy> = OnceLock::new();
    *TOY.get_or_init(|| {
        let directory = tempfile::tempdir().unwrap();
        let library = directory.path().join("libtoy.so");
        compile("cc", &["-shared", "-fPIC", "-O1", "-g"], &[examples().join("channel.c")], &library);
        let path = std::ffi::CString::new(library.into_os_string().into_encoded_bytes()).unwrap();
        // SAFETY: a path that ends; the library runs no code of its own when it is loaded.
        let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
        assert!(!library.is_null(), "the example's channel cannot be loaded");
        let symbol = |name: &CStr| {
            // SAFETY: a library that is loaded and stays so, and a name that ends.
            let symbol = unsafe { libc::dlsym(library, name.as_ptr()) };
            assert!(!symbol.is_null(), "{name:?}");
            symbol
        };
        // SAFETY: what the example declares under these names.
        unsafe {
            Toy {
                table: &*symbol(c"toy_channel_table").cast::<ChannelTable>(),
                mesh: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(u32, u32, *mut c_int) -> c_int>(
                    symbol(c"toy_mesh"),
                ),
                new: std::mem::transmute::<
                    *mut c_void,
                    unsafe extern "C" fn(u32, u32, *const c_int) -> *mut c_void,
                >(symbol(c"toy_channel_new")),
            }
        }
    })
}

impl Fixture for Toy {
    fn channels(&mut self, count: u32) -> Vec<Box<dyn Channel>> {
        let row = (count * LANES) as usize;
        let mut links = vec![-1; count as usize * row];
        // SAFETY: the example's function, with room for the whole mesh.
        assert_eq!(unsafe { (self.mesh)(count, LANES, links.as_mut_ptr()) }, 0, "out of descriptors");
        let channel = |me: u32| {
            // SAFETY: the example's function, with a row of its mesh.
            let context = unsafe { (self.new)(me, count, links[me as usize * row..].as_ptr()) };
            assert!(!context.is_null());
            // SAFETY: the example's table with a channel of it. The suite finds out whether it keeps its promises.
            let channel = unsafe { ForeignChannel::new(self.table, context) }.unwrap();
            channel.owner().store(true, Relaxed);
            Box::new(channel) as Box<dyn Channel>
        };
        (0..count).map(channel).collect()
    }

    fn largest_body(&self) -> usize {
        300_000
    }
}

mod through_c {
    use super::*;
    rma_core::channel_conformance!(toy());
}
