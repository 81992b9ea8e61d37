//! What a job says: read as it comes, so that it never waits, and kept in part.

use std::collections::VecDeque;
use std::io::{self, PipeReader, Read};
use std::os::fd::AsFd;

use garland_core::proto::OUTPUT_HALF;
use garland_sys::event;

/// The beginning and the end of what was said, and how much of it is lost between.
#[derive(Debug, Default)]
pub struct Output {
    beginning: Vec<u8>,
    end: VecDeque<u8>,
    lost: u64,
}

impl Output {
    /// Adds what was said.
    pub fn add(&mut self, bytes: &[u8]) {
        let room = OUTPUT_HALF - self.beginning.len();
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.beginning.extend(first);
        self.end.extend(rest);
        let over = self.end.len().saturating_sub(OUTPUT_HALF);
        self.end.drain(..over);
        self.lost += over as u64;
    }

    /// Reads what can be read now; whether more may come.
    pub fn read(&mut self, pipe: &mut PipeReader) -> bool {
        let mut buffer = [0; 16 << 10];
        loop {
            match pipe.read(&mut buffer) {
                Ok(0) => return false,
                Ok(read) => self.add(&buffer[..read]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return error.kind() == io::ErrorKind::WouldBlock,
            }
        }
    }

    /// What is kept, with a line where something is lacking.
    pub fn into_bytes(self) -> Vec<u8> {
        let mut bytes = self.beginning;
        if self.lost > 0 {
            bytes.extend(format!("\n[{} bytes are left out here]\n", self.lost).bytes());
        }
        bytes.extend(self.end);
        bytes
    }
}

/// A pipe whose reading end never waits.
pub fn pipe() -> io::Result<(PipeReader, io::PipeWriter)> {
    let (reader, writer) = io::pipe()?;
    event::never_block(reader.as_fd())?;
    Ok((reader, writer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_much_is_left_out() {
        let mut output = Output::default();
        for line in 0..100_000_u32 {
            output.add(format!("{line}\n").as_bytes());
        }
        let text = String::from_utf8(output.into_bytes()).unwrap();
        assert!(text.len() < 2 * OUTPUT_HALF + 100);
        assert!(text.starts_with("0\n1\n") && text.ends_with("\n99999\n"));
        assert!(text.contains("bytes are left out here"));
        let mut short = Output::default();
        short.add(b"all of it");
        assert_eq!(short.into_bytes(), b"all of it");
    }
}
