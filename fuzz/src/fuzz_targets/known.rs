//! No bytes make the reader of records of files fail, and what it reads it would write again.
#![no_main]

use garland_core::proto::Known;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(known) = Known::parse(bytes) {
        assert_eq!(known.layout.blocks(), known.digests.len() as u64);
        assert_eq!(Known::parse(&known.to_bytes()), Ok(known));
    }
});
