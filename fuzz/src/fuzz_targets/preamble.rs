//! Any first bytes are a preamble that fits or a version error fit for a terminal.
#![no_main]

use garland_core::proto::{PREAMBLE_LEN, Preamble};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: [u8; PREAMBLE_LEN]| {
    let mut ours = bytes;
    ours[..8].copy_from_slice(b"GARLAND\n");
    for bytes in [bytes, ours] {
        match Preamble::parse(&bytes) {
            Ok(preamble) => assert_eq!(Preamble::parse(&preamble.to_bytes()), Ok(preamble)),
            Err(error) => assert!(!error.to_string().contains(char::is_control)),
        }
    }
});
