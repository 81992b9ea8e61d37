#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    garland_fuzz::target("digests").run(bytes);
});
