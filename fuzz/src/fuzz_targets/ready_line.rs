//! Any line is a ready line that is written the same again, or none.
#![no_main]

use garland_node::ReadyLine;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|line: &str| {
    for line in [line.to_owned(), format!("garland-agent {line}")] {
        if let Some(ready) = ReadyLine::parse(&line) {
            assert_eq!(ReadyLine::parse(&ready.to_string()), Some(ready));
        }
    }
});
