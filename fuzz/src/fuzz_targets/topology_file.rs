//! Any text is a topology file whose topology can be, or an error with a line and a column.
#![no_main]

use garland_core::cluster::topology::file::parse;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for text in [text.to_owned(), format!("version = 1\n[topology]\nnodes = 3\n{text}")] {
        match parse(&text, "x.toml") {
            Ok(file) => assert_eq!(file.topology.check(), Ok(())),
            Err(error) => assert!(error.line >= 1 && error.column >= 1),
        }
    }
});
