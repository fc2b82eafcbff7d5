//! The structures of `rma.h`, as C lays them out, but for those of channels (`rma-ch-c`). A test compares their sizes with the
//! header's.

use rma_ch_c::{ChannelTable, Optional};
use std::ffi::{c_char, c_int, c_void};

/// `rma_collective`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Collective {
    pub(crate) size: usize,
    pub(crate) context: u64,
    pub(crate) part: u64,
    pub(crate) number: u64,
    pub(crate) me: u32,
    pub(crate) members: u32,
    pub(crate) peer: unsafe extern "C" fn(*const Collective, u32) -> u32,
}

/// `rma_segment_request`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct SegmentRequest {
    pub(crate) size: usize,
    pub(crate) kind: c_int,
    pub(crate) control_len: u64,
    pub(crate) data_len: u64,
    pub(crate) given: *mut c_void,
    pub(crate) data_align: u64,
}

/// `rma_segment_part`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct SegmentPart {
    pub(crate) rank: u32,
    pub(crate) control: *mut c_void,
    pub(crate) control_len: u64,
    pub(crate) data: *mut c_void,
    pub(crate) data_len: u64,
}

/// `rma_segment`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub(crate) size: usize,
    pub(crate) add: unsafe extern "C" fn(*mut Segment, *const SegmentPart) -> c_int,
    pub(crate) release: Optional<unsafe extern "C" fn(*mut c_void)>,
    pub(crate) memory: *mut c_void,
    pub(crate) add_control: unsafe extern "C" fn(*mut Segment, u32, *mut c_void, u64) -> c_int,
    pub(crate) is_counted: c_int,
}

/// `rma_long_wait`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct LongWait {
    pub(crate) size: usize,
    pub(crate) call: *const c_char,
    pub(crate) waited_ns: u64,
    pub(crate) waits_for: *const c_char,
}

/// `rma_host_table`: the library around the engine, in C.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HostTable {
    pub(crate) size: usize,
    pub(crate) begin_reduce: Optional<
        unsafe extern "C" fn(*mut c_void, *const Collective, c_int, *const u64, usize, *mut u64) -> c_int,
    >,
    pub(crate) poll_reduce:
        Optional<unsafe extern "C" fn(*mut c_void, u64, *mut u64, usize, *mut c_int) -> c_int>,
    pub(crate) begin_segment: Optional<
        unsafe extern "C" fn(*mut c_void, *const Collective, *const SegmentRequest, *mut u64) -> c_int,
    >,
    pub(crate) poll_segment:
        Optional<unsafe extern "C" fn(*mut c_void, u64, *mut Segment, *mut c_int) -> c_int>,
    pub(crate) locality: Optional<unsafe extern "C" fn(*mut c_void, u32) -> c_int>,
    pub(crate) now_ns: Optional<unsafe extern "C" fn(*mut c_void) -> u64>,
    pub(crate) destroy: Optional<unsafe extern "C" fn(*mut c_void)>,
    pub(crate) abandon_reduce: Optional<unsafe extern "C" fn(*mut c_void, u64)>,
    pub(crate) abandon_segment: Optional<unsafe extern "C" fn(*mut c_void, u64)>,
    pub(crate) waits_for: Optional<unsafe extern "C" fn(*mut c_void, *mut c_char, usize) -> c_int>,
    pub(crate) report: Optional<unsafe extern "C" fn(*mut c_void, *const LongWait)>,
    pub(crate) takes_control: c_int,
    pub(crate) system: c_int,
}

/// `rma_engine_options`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct EngineOptions {
    pub(crate) size: usize,
    pub(crate) channel: *const ChannelTable,
    pub(crate) channel_context: *mut c_void,
    pub(crate) host: *const HostTable,
    pub(crate) host_context: *mut c_void,
    pub(crate) me: u32,
    pub(crate) look_up: Optional<unsafe extern "C" fn(*mut c_void, *const c_char) -> *const c_char>,
    pub(crate) look_up_context: *mut c_void,
    pub(crate) observe: Optional<unsafe extern "C" fn(*mut c_void, *const Event)>,
    pub(crate) observe_context: *mut c_void,
}

/// `rma_event`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) size: usize,
    pub(crate) kind: c_int,
    pub(crate) text: *const c_char,
    pub(crate) waits_for: *const c_char,
    pub(crate) window: u64,
    pub(crate) target: u32,
    pub(crate) peer: u32,
    pub(crate) lane: c_int,
    pub(crate) number: u64,
    pub(crate) len: u64,
}

/// `rma_counter`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counter {
    pub(crate) name: *const c_char,
    pub(crate) text: *const c_char,
    pub(crate) value: u64,
}

/// `rma_elements`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Elements {
    pub(crate) size: usize,
    pub(crate) ops: u32,
    pub(crate) most_ops: u32,
    pub(crate) targets: u32,
    pub(crate) most_targets: u32,
}

/// `rma_group`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupSpec {
    pub(crate) size: usize,
    pub(crate) context: u64,
    pub(crate) me: u32,
    pub(crate) count: u32,
    pub(crate) peers: *const u32,
    pub(crate) first: u32,
    pub(crate) stride: u32,
}

/// `rma_window_spec`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowSpec {
    pub(crate) size: usize,
    pub(crate) flavor: c_int,
    pub(crate) len: u64,
    pub(crate) unit: u64,
    pub(crate) memory: *mut c_void,
    pub(crate) hints: *const *const c_char,
}

/// `rma_window_info`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowInfo {
    pub(crate) size: usize,
    pub(crate) rank: u32,
    pub(crate) ranks: u32,
    pub(crate) flavor: c_int,
    pub(crate) memory: *mut c_void,
    pub(crate) len: u64,
    pub(crate) id: u64,
}

/// `rma_buffer`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffer {
    pub(crate) memory: *mut c_void,
    pub(crate) count: u64,
    pub(crate) ty: u64,
}

/// `rma_target`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    pub(crate) rank: u32,
    pub(crate) disp: u64,
    pub(crate) count: u64,
    pub(crate) ty: u64,
}

/// The structures of the header: name in C, and size here. A test compares them.
pub const SIZES: &[(&str, usize)] = &[
    ("rma_collective", size_of::<Collective>()),
    ("rma_segment_request", size_of::<SegmentRequest>()),
    ("rma_segment_part", size_of::<SegmentPart>()),
    ("rma_segment", size_of::<Segment>()),
    ("rma_long_wait", size_of::<LongWait>()),
    ("rma_host_table", size_of::<HostTable>()),
    ("rma_event", size_of::<Event>()),
    ("rma_counter", size_of::<Counter>()),
    ("rma_elements", size_of::<Elements>()),
    ("rma_engine_options", size_of::<EngineOptions>()),
    ("rma_group", size_of::<GroupSpec>()),
    ("rma_window_spec", size_of::<WindowSpec>()),
    ("rma_window_info", size_of::<WindowInfo>()),
    ("rma_buffer", size_of::<Buffer>()),
    ("rma_target", size_of::<Target>()),
    ("rma_engine", size_of::<u64>()),
    ("rma_window", size_of::<u64>()),
    ("rma_creation", size_of::<u64>()),
    ("rma_call", size_of::<u64>()),
    ("rma_external_wait", size_of::<u64>()),
    ("rma_type", size_of::<u64>()),
];
