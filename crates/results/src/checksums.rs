//! Digests of files, as the programs write them that check them again.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use garland_protocol::{Checksum, Summed};
use serde::{Deserialize, Serialize};

/// The digest of one node's file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChecksumResult {
    kind: Checksum,
    digest: String,
    path: String,
    #[serde(skip)]
    path_bytes: Vec<u8>,
}

impl ChecksumResult {
    /// As a node has told it.
    pub fn new(summed: &Summed) -> Self {
        Self {
            kind: summed.checksum,
            digest: summed.digest.iter().map(|byte| format!("{byte:02x}")).collect(),
            path: OsStr::from_bytes(&summed.path).to_string_lossy().into_owned(),
            path_bytes: summed.path.clone(),
        }
    }

    /// Its line. As sha256sum and b3sum have it, a name with a backslash or the end of a line in it
    /// is written with backslashes, and one more before all.
    pub fn line(&self) -> Vec<u8> {
        let mut escaped = Vec::new();
        for &byte in &self.path_bytes {
            match byte {
                b'\\' => escaped.extend(b"\\\\"),
                b'\n' => escaped.extend(b"\\n"),
                b'\r' => escaped.extend(b"\\r"),
                other => escaped.push(other),
            }
        }
        let mark: &[u8] = if escaped == self.path_bytes { b"" } else { b"\\" };
        [mark, self.digest.as_bytes(), b"  ", &escaped, b"\n"].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_are_written_as_sha256sum_does() {
        let line = |path: &[u8]| {
            let (checksum, digest) = (Checksum::B3, [0xab; 32]);
            let summed = Summed { checksum, digest, path: path.to_vec() };
            ChecksumResult::new(&summed).line()
        };
        let digest = "ab".repeat(32);
        assert_eq!(line(b"/a b"), format!("{digest}  /a b\n").into_bytes());
        assert_eq!(line(b"/a\\\nb"), format!("\\{digest}  /a\\\\\\nb\n").into_bytes());
        assert!(line(b"/\xff").ends_with(b"  /\xff\n"));
    }
}
