//! Programs as nodes get them: without what only debuggers read.
//!
//! Every agent and every head of one build gives the same bytes, whether its own file still has
//! its debug sections or not, so that they are known by one digest.

use std::fs::File;
use std::io::{self, Cursor, Read, Take};

/// Where the system shows a process its own program, also when the file has been replaced since.
const RUNNING: &str = "/proc/self/exe";

/// Bytes of a 64-bit ELF header (System V ABI, chapter 4).
const HEADER: usize = 64;
/// Bytes of a program header.
const PROGRAM_HEADER: usize = 56;

/// A program, to be read from its beginning to its end.
pub struct Image {
    length: u64,
    head: Cursor<Vec<u8>>,
    rest: Take<File>,
}

impl Image {
    /// Opens the running program.
    ///
    /// # Errors
    /// When the system doesn't let it be read.
    pub fn running() -> io::Result<Self> {
        Self::of(File::open(RUNNING)?)
    }

    /// The program in a file that is at its beginning.
    ///
    /// # Errors
    /// When it can't be read, or is too short to be one.
    pub fn of(mut file: File) -> io::Result<Self> {
        let whole = file.metadata()?.len();
        let mut head = vec![0; HEADER];
        file.read_exact(&mut head)?;
        // Debug sections may be most of the file, and stand behind all that is loaded.
        let length = match program_headers(&head) {
            Some(bytes) => {
                head.resize(HEADER + bytes, 0);
                file.read_exact(&mut head[HEADER..])?;
                let loaded = loaded(&head[HEADER..]);
                forget_sections(&mut head);
                loaded
            }
            None => whole,
        };
        let rest = file.take(length.saturating_sub(head.len() as u64));
        Ok(Self { length, head: Cursor::new(head), rest })
    }

    /// Its bytes in all.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length
    }
}

impl Read for Image {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.head.read(buffer)? {
            0 => self.rest.read(buffer),
            read => Ok(read),
        }
    }
}

/// The bytes of the program headers behind a 64-bit, little-endian ELF header; `None` when it is
/// another format.
fn program_headers(head: &[u8]) -> Option<usize> {
    let short = |at: usize| usize::from(u16::from_le_bytes([head[at], head[at + 1]]));
    let usual = head.starts_with(b"\x7fELF\x02\x01")
        && long(head, 32) == HEADER as u64
        && short(54) == PROGRAM_HEADER;
    Some(short(56) * PROGRAM_HEADER).filter(|&bytes| usual && bytes > 0)
}

/// Where the last loaded byte ends.
fn loaded(program_headers: &[u8]) -> u64 {
    let parts = program_headers.chunks_exact(PROGRAM_HEADER);
    parts.map(|part| long(part, 8).saturating_add(long(part, 32))).max().unwrap_or(0)
}

fn long(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

/// The section table was behind the loaded part: a header that names it would be wrong.
fn forget_sections(head: &mut [u8]) {
    head[40..48].fill(0);
    head[60..64].fill(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_the_length_that_it_says_and_no_sections() {
        let mut image = Image::running().expect("this test can be read");
        let mut bytes = Vec::new();
        image.read_to_end(&mut bytes).expect("it can be read");
        let whole = std::fs::metadata(RUNNING).expect("there").len();
        assert_eq!(bytes.len() as u64, image.length());
        assert!(image.length() < whole, "{} of {whole}", image.length());
        assert_eq!(bytes[40..48], [0; 8]);
    }
}
