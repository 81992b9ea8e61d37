//! The copied file, and the comparison of copies with it.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

const CHUNK: usize = 1 << 20;

/// Incompressible noise, which depends on this number only.
pub(crate) struct Noise(pub(crate) u64);

impl Noise {
    /// Fills `bytes` with further noise.
    pub(crate) fn fill(&mut self, bytes: &mut [u8]) {
        for word in bytes.chunks_mut(8) {
            // xorshift64 by G. Marsaglia, "Xorshift RNGs" (2003).
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            word.copy_from_slice(&self.0.to_le_bytes()[..word.len()]);
        }
    }
}

/// Writes `bytes` bytes of incompressible noise to `path`, the same in every run.
pub(crate) fn write(path: &Path, bytes: u64) -> Result<()> {
    let mut file =
        File::create(path).with_context(|| format!("failed to create {}", path.display()))?;
    let mut noise = Noise(0x9e37_79b9_7f4a_7c15 ^ bytes);
    let mut chunk = vec![0_u8; CHUNK];
    let mut left = bytes;
    while left > 0 {
        noise.fill(&mut chunk);
        let n = CHUNK.min(usize::try_from(left).unwrap_or(CHUNK));
        let written = file.write_all(&chunk[..n]);
        written.with_context(|| format!("failed to write {}", path.display()))?;
        left -= n as u64;
    }
    Ok(())
}

/// Compares every copy with the source, byte by byte.
///
/// # Errors
/// If copies differ; the error contains their paths.
pub(crate) fn verify(source: &Path, copies: &[PathBuf]) -> Result<()> {
    let mut differ = Vec::new();
    for copy in copies {
        let compared = Command::new("cmp").arg("-s").arg(source).arg(copy).status();
        match compared.context("failed to start cmp")?.code() {
            Some(0) => {}
            Some(1) => differ.push(copy.display().to_string()),
            _ => bail!("failed to compare {} with {}", copy.display(), source.display()),
        }
    }
    if !differ.is_empty() {
        bail!("{} of {} copies differ: {}", differ.len(), copies.len(), differ.join(" "));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flipped_byte_and_a_short_copy_are_found() {
        let dir = std::env::temp_dir().join(format!("gb-source-{}", std::process::id()));
        std::fs::create_dir(&dir).unwrap();
        let source = dir.join("source");
        let copy = dir.join("copy");
        write(&source, 3_000_001).unwrap();
        let mut bytes = std::fs::read(&source).unwrap();
        std::fs::write(&copy, &bytes).unwrap();
        let good = verify(&source, std::slice::from_ref(&copy));
        bytes[3_000_000] ^= 1;
        std::fs::write(&copy, &bytes).unwrap();
        let flipped = verify(&source, std::slice::from_ref(&copy));
        std::fs::write(&copy, &bytes[..3_000_000]).unwrap();
        let short = verify(&source, &[copy]);
        std::fs::remove_dir_all(&dir).unwrap();
        assert_eq!(bytes.len(), 3_000_001);
        good.unwrap();
        assert!(flipped.unwrap_err().to_string().contains("1 of 1 copies differ"));
        assert!(short.is_err());
    }
}
