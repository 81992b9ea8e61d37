//! Digests of files, printed in the format of sha256sum and b3sum.

use garland_protocol::copy::{Checksum, Summed};
use serde::{Deserialize, Serialize};

use crate::path::PathResult;

/// The digest of one node's file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChecksumResult {
    kind: Checksum,
    digest: String,
    #[serde(flatten)]
    path: PathResult,
    #[serde(skip)]
    name: Vec<u8>,
}

impl ChecksumResult {
    /// Creates the result from the digest that a node has reported.
    pub fn new(summed: &Summed) -> Self {
        Self {
            kind: summed.checksum,
            digest: summed.digest.iter().map(|byte| format!("{byte:02x}")).collect(),
            path: PathResult::new(&summed.path),
            name: summed.path.clone(),
        }
    }

    /// Formats the line that sha256sum or b3sum would print. Backslashes and line breaks in the
    /// name are escaped; the line then begins with a backslash.
    pub fn line(&self) -> Vec<u8> {
        let mut escaped = Vec::new();
        for &byte in &self.name {
            match byte {
                b'\\' => escaped.extend(b"\\\\"),
                b'\n' => escaped.extend(b"\\n"),
                b'\r' => escaped.extend(b"\\r"),
                other => escaped.push(other),
            }
        }
        let mark: &[u8] = if escaped == self.name { b"" } else { b"\\" };
        [mark, self.digest.as_bytes(), b"  ", &escaped, b"\n"].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_like_those_of_sha256sum() {
        let line = |path: &[u8]| {
            let checksum = Checksum::B3;
            let digest = [0xab; 32];
            let summed = Summed { checksum, digest, path: path.to_vec() };
            ChecksumResult::new(&summed).line()
        };
        let digest = "ab".repeat(32);
        assert_eq!(line(b"/a b"), format!("{digest}  /a b\n").into_bytes());
        assert_eq!(line(b"/a\\\nb"), format!("\\{digest}  /a\\\\\\nb\n").into_bytes());
        assert!(line(b"/\xff").ends_with(b"  /\xff\n"));
    }
}
