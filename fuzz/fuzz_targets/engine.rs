//! libFuzzer's entry to the target of this name; see `tests/src/fuzzing`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| rma_tests::fuzzing::engine(data));
