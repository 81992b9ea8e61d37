//! Any bytes are a message or none, and a message has the bytes that it is read from.
#![no_main]

use garland_core::proto::FromAgent;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Some(message) = FromAgent::parse(bytes) {
        let again = message.to_bytes();
        let message = FromAgent::parse(&again).expect("a message can be read again");
        assert_eq!(message.to_bytes(), again);
    }
});
