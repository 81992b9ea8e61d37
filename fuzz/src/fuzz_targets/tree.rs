//! No bytes make the reader of trees' streams fail, or give a name that leads out of a folder.
#![no_main]

use garland_core::tree::{Parser, Pattern, Step};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((&piece, stream)) = bytes.split_first() else { return };
    let mut parser = Parser::default();
    'stream: for mut bytes in stream.chunks(usize::from(piece) + 1) {
        loop {
            match parser.step(&mut bytes) {
                Ok(Some(Step::Record(record))) => {
                    let name = record.name().unwrap_or(b"none");
                    assert!(!name.contains(&b'/') && name != b".." && name != b".");
                }
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) => break 'stream,
            }
        }
    }
    if let Ok(pattern) = Pattern::parse(stream) {
        let _ = pattern.matches(stream, piece % 2 == 0);
    }
});
