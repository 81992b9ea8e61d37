//! Reads the ELF header of a program (System V ABI, ELF-64): its architecture, and whether it is static, that
//! is, needs no loader for shared libraries.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

/// The type of the program header that names the loader of shared libraries.
const PT_INTERP: u32 = 3;

/// Returns Debian's name of the architecture that a static program is built for.
///
/// # Errors
/// If the file is no ELF program, is for an unknown architecture, or is linked dynamically.
pub(super) fn architecture(binary: &Path) -> Result<&'static str> {
    let bytes = fs::read(binary).with_context(|| format!("failed to read {}", binary.display()))?;
    of(&bytes).with_context(|| format!("failed to inspect {}", binary.display()))
}

fn of(bytes: &[u8]) -> Result<&'static str> {
    let number = |at: usize, length: usize| -> Result<u64> {
        let field = bytes.get(at..at + length).context("its ELF header is cut off")?;
        Ok(field.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte)))
    };
    // ELF magic, 64 bits, little-endian.
    if bytes.get(..6) != Some(b"\x7fELF\x02\x01") {
        bail!("it is no program for a 64-bit little-endian processor");
    }
    let architecture = match number(18, 2)? {
        62 => "amd64",
        183 => "arm64",
        243 => "riscv64",
        21 => "ppc64el",
        machine => bail!("it is for an unknown processor (ELF machine {machine})"),
    };
    let (start, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    for header in 0..count {
        let at = usize::try_from(start + header * size).context("its ELF header is invalid")?;
        if number(at, 4)? == u64::from(PT_INTERP) {
            bail!("it is linked dynamically; build it with `cargo xtask static`");
        }
    }
    Ok(architecture)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an ELF header for `machine` with one program header of type `kind`.
    fn image(machine: u8, kind: u8) -> Vec<u8> {
        let mut bytes = vec![0; 64 + 56];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (bytes[18], bytes[32], bytes[54], bytes[56], bytes[64]) = (machine, 64, 56, 1, kind);
        bytes
    }

    #[test]
    fn static_programs_have_a_processor_and_others_are_refused() {
        assert_eq!(of(&image(62, 1)).unwrap(), "amd64");
        assert_eq!(of(&image(183, 1)).unwrap(), "arm64");
        let said = |bytes: &[u8]| of(bytes).unwrap_err().to_string();
        assert!(said(&image(62, 3)).contains("dynamically"));
        assert!(said(&image(3, 1)).contains("processor"));
        assert!(said(&image(62, 1)[..60]).contains("cut off"));
        assert!(said(b"#!/bin/sh\n").contains("no program"));
    }
}
