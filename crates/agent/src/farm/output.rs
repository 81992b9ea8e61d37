//! The output of a job: read as it is written, so that the job never blocks, and kept in part.

use std::collections::VecDeque;
use std::io::{self, PipeReader, Read};
use std::os::fd::AsFd;

use garland_core::farm::Text;
use garland_core::farm::last_words::last_words;
use garland_protocol::farm::OUTPUT_HALF;
use garland_sys::event;

/// The maximum number of reads of a pipe at a time, enough for all that the pipe can hold. It is
/// bounded because a job may write faster than the agent reads.
const READS: usize = 64;

/// The number of bytes at the end of standard error that are kept for its last lines.
const ERRORS: usize = 2 << 10;

/// The beginning and the end of the output, and the number of bytes between them that were dropped.
#[derive(Debug, Default)]
pub struct Output {
    beginning: Vec<u8>,
    end: VecDeque<u8>,
    lost: u64,
}

impl Output {
    /// Adds output.
    pub fn add(&mut self, bytes: &[u8]) {
        let room = OUTPUT_HALF - self.beginning.len();
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.beginning.extend(first);
        self.end.extend(rest);
        let over = self.end.len().saturating_sub(OUTPUT_HALF);
        self.end.drain(..over);
        self.lost += over as u64;
    }

    /// Returns the kept output, with a line in place of the dropped bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        let mut bytes = self.beginning;
        if self.lost > 0 {
            bytes.extend(format!("\n[{} bytes omitted]\n", self.lost).bytes());
        }
        bytes.extend(self.end);
        bytes
    }
}

/// The output of a job.
#[derive(Debug, Default)]
pub struct JobOutput {
    /// Standard output and standard error, in the order of arrival.
    pub all: Output,
    /// The end of standard error.
    errors: VecDeque<u8>,
}

impl JobOutput {
    /// Adds output; `is_error` is set for bytes of standard error.
    pub fn add(&mut self, is_error: bool, bytes: &[u8]) {
        self.all.add(bytes);
        if is_error {
            self.errors.extend(bytes);
            let over = self.errors.len().saturating_sub(ERRORS);
            self.errors.drain(..over);
        }
    }

    /// Returns the last lines of standard error.
    pub fn last_words(&mut self) -> Vec<Text> {
        last_words(self.errors.make_contiguous())
    }
}

/// The pipes of standard output and standard error; `None` once closed.
pub struct Pipes([Option<PipeReader>; 2]);

impl Pipes {
    /// Creates two pipes with non-blocking read ends. Returns them, and their write ends.
    pub fn new() -> io::Result<(Self, [io::PipeWriter; 2])> {
        let (output, to_output) = pipe()?;
        let (errors, to_errors) = pipe()?;
        Ok((Self([Some(output), Some(errors)]), [to_output, to_errors]))
    }

    /// Returns the open pipes.
    pub fn open(&self) -> impl Iterator<Item = &PipeReader> {
        self.0.iter().flatten()
    }

    /// Passes the available bytes to `add`, whose first argument is true for standard error.
    pub fn read(&mut self, mut add: impl FnMut(bool, &[u8])) {
        let [output, errors] = &mut self.0;
        drain(output, &mut |bytes| add(false, bytes));
        drain(errors, &mut |bytes| add(true, bytes));
    }
}

/// Reads the available bytes, in a limited number of reads; closes a pipe that has no writers.
fn drain(pipe: &mut Option<PipeReader>, add: &mut dyn FnMut(&[u8])) {
    let mut buffer = [0; 16 << 10];
    for _ in 0..READS {
        let Some(reader) = pipe else { return };
        match reader.read(&mut buffer) {
            Ok(0) => *pipe = None,
            Ok(read) => add(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            Err(_) => *pipe = None,
        }
    }
}

/// Creates a pipe with a non-blocking read end.
fn pipe() -> io::Result<(PipeReader, io::PipeWriter)> {
    let (reader, writer) = io::pipe()?;
    event::never_block(reader.as_fd())?;
    Ok((reader, writer))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn the_middle_of_long_output_is_omitted() {
        let mut output = Output::default();
        for line in 0..100_000_u32 {
            output.add(format!("{line}\n").as_bytes());
        }
        let text = String::from_utf8(output.into_bytes()).unwrap();
        assert!(text.len() < 2 * OUTPUT_HALF + 100);
        assert!(text.starts_with("0\n1\n") && text.ends_with("\n99999\n"));
        assert!(text.contains(" bytes omitted]"));
        let mut short = Output::default();
        short.add(b"all of it");
        assert_eq!(short.into_bytes(), b"all of it");
    }

    #[test]
    fn the_last_lines_of_standard_error_are_kept() {
        let (mut pipes, [mut output, mut errors]) = Pipes::new().unwrap();
        let mut job = JobOutput::default();
        output.write_all(b"result\n").unwrap();
        errors.write_all(&[b'x'; 3 * ERRORS]).unwrap();
        errors.write_all(b"\nno room\n").unwrap();
        pipes.read(|is_error, bytes| job.add(is_error, bytes));
        assert_eq!(pipes.open().count(), 2);
        drop((output, errors));
        pipes.read(|is_error, bytes| job.add(is_error, bytes));
        assert_eq!(pipes.open().count(), 0, "the write ends are closed");
        assert_eq!(job.last_words(), ["no room".into()]);
        let all = job.all.into_bytes();
        assert!(all.starts_with(b"result\nx") && all.ends_with(b"x\nno room\n"));
    }
}
