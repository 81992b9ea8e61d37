#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    crate::target("greeting").run(bytes);
});
