//! Any bytes are a target that holds all of them, or an error.
#![no_main]

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use garland_core::cluster::target::{Target, parse};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    match parse(OsStr::from_bytes(bytes)) {
        Ok(Target::Local(path)) => assert_eq!(path.as_os_str().as_bytes(), bytes),
        Ok(Target::Nodes { nodes, path }) => {
            assert_eq!([nodes.as_bytes(), b":", path.as_os_str().as_bytes()].concat(), bytes);
        }
        Ok(Target::Pipe) => assert_eq!(bytes, b"-"),
        Ok(Target::Command(line)) => assert_eq!([b"|", &line[..]].concat(), bytes),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
