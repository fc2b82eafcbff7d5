//! What is fuzzed: functions of bytes that panic when anything is wrong, whatever the bytes are. `fuzz/` runs them under
//! libFuzzer; a test runs them over the inputs that are kept, and over random ones.

mod choices;
mod engine;
mod layouts;
mod locks;
mod wire;

pub use engine::engine;
pub use layouts::layouts;
pub use locks::locks;
pub use rma_ch_tcp::fuzzing::frames;
pub use wire::wire;

/// A target: its name, and what it does with bytes.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: [Target; 5] =
    [("wire", wire), ("frames", frames), ("layouts", layouts), ("locks", locks), ("engine", engine)];
