//! The running program as it is sent to nodes: without debug sections.
//!
//! All agents and heads of one build send the same bytes, whether or not their own program file has
//! debug sections, so that the digest is always the same.

use std::fs::File;
use std::io::{self, Cursor, Read, Take};

/// The path of the running program. It is valid even if the program's file was replaced.
pub const RUNNING: &str = "/proc/self/exe";

/// The length in bytes of a 64-bit ELF header (System V ABI, chapter 4).
const HEADER: usize = 64;
/// The length in bytes of an entry of the program header table.
const PROGRAM_HEADER: usize = 56;

/// A program that is read once from beginning to end, without its debug sections.
pub struct Image {
    length: u64,
    head: Cursor<Vec<u8>>,
    rest: Take<File>,
}

impl Image {
    /// Opens the running program.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn running() -> io::Result<Self> {
        Self::read(File::open(RUNNING)?)
    }

    /// Returns the program in `file`, whose position must be 0. A file that is not a 64-bit
    /// little-endian ELF file is read unchanged.
    ///
    /// # Errors
    /// When it cannot be read, or is shorter than an ELF header.
    pub fn read(mut file: File) -> io::Result<Self> {
        let whole = file.metadata()?.len();
        let mut head = vec![0; HEADER];
        file.read_exact(&mut head)?;
        // Debug sections may be most of the file; they follow all loaded segments.
        let length = match program_headers(&head) {
            Some(bytes) => {
                head.resize(HEADER + bytes, 0);
                file.read_exact(&mut head[HEADER..])?;
                let end = loaded(&head[HEADER..]);
                forget_sections(&mut head);
                end
            }
            None => whole,
        };
        let rest = file.take(length.saturating_sub(head.len() as u64));
        Ok(Self { length, head: Cursor::new(head), rest })
    }

    /// Returns the length of the program in bytes, as it is read.
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

/// Returns the length in bytes of the program header table that follows a 64-bit, little-endian ELF
/// header; none for any other format.
fn program_headers(head: &[u8]) -> Option<usize> {
    let short = |at: usize| usize::from(u16::from_le_bytes([head[at], head[at + 1]]));
    let usual = head.starts_with(b"\x7fELF\x02\x01")
        && long(head, 32) == HEADER as u64
        && short(54) == PROGRAM_HEADER;
    Some(short(56) * PROGRAM_HEADER).filter(|&bytes| usual && bytes > 0)
}

/// Returns the offset in the file of the end of the last segment.
fn loaded(program_headers: &[u8]) -> u64 {
    let parts = program_headers.chunks_exact(PROGRAM_HEADER);
    parts.map(|part| long(part, 8).saturating_add(long(part, 32))).max().unwrap_or(0)
}

fn long(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

/// Clears the reference to the section header table in the ELF header `head`; the table is not
/// sent.
fn forget_sections(head: &mut [u8]) {
    head[40..48].fill(0);
    head[60..64].fill(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_has_the_reported_length_and_no_sections() {
        let mut image = Image::running().expect("this test can be read");
        let mut bytes = Vec::new();
        image.read_to_end(&mut bytes).expect("it can be read");
        let whole = std::fs::metadata(RUNNING).expect("there").len();
        assert_eq!(bytes.len() as u64, image.length());
        assert!(image.length() < whole, "{} of {whole}", image.length());
        assert_eq!(bytes[40..48], [0; 8]);
    }
}
