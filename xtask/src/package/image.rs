//! Reads the ELF headers of a program (System V ABI, ELF-64): its architecture, and whether it is a
//! static program that the kernel loads at a random address (static-pie). Such a program needs no
//! loader for shared libraries: it relocates itself.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

/// The type of an ELF file that can be loaded at any address.
const ET_DYN: u64 = 3;

/// The type of the program header that locates the dynamic section.
const PT_DYNAMIC: u64 = 2;
/// The type of the program header that names the loader of shared libraries.
const PT_INTERP: u64 = 3;

/// The tags of entries of the dynamic section: its end, a shared library, and more flags.
const DT_NULL: u64 = 0;
const DT_NEEDED: u64 = 1;
const DT_FLAGS_1: u64 = 0x6fff_fffb;
/// The flag in `DT_FLAGS_1` by which linkers mark programs; shared libraries do not have it.
const DF_1_PIE: u64 = 0x0800_0000;

/// Returns Debian's name of the architecture that a static-pie program is built for.
///
/// # Errors
/// If the file is no ELF program, is for an unknown architecture, is linked dynamically, or has a
/// fixed address.
pub(super) fn architecture(binary: &Path) -> Result<&'static str> {
    let bytes = fs::read(binary).with_context(|| format!("failed to read {}", binary.display()))?;
    of(&Elf(&bytes)).with_context(|| format!("failed to inspect {}", binary.display()))
}

fn of(elf: &Elf) -> Result<&'static str> {
    // ELF magic, 64 bits, little-endian.
    if elf.0.get(..6) != Some(b"\x7fELF\x02\x01") {
        bail!("it is no program for a 64-bit little-endian processor");
    }
    let architecture = match elf.number(18, 2)? {
        62 => "amd64",
        183 => "arm64",
        243 => "riscv64",
        21 => "ppc64el",
        machine => bail!("it is for an unknown processor (ELF machine {machine})"),
    };
    let mut is_pie = false;
    let start = elf.number(32, 8)?;
    let size = elf.number(54, 2)?;
    let count = elf.number(56, 2)?;
    for header in 0..count {
        let at = start.saturating_add(header * size);
        match elf.number(at, 4)? {
            PT_INTERP => bail!("it is linked dynamically; build it with `cargo xtask static`"),
            PT_DYNAMIC => {
                is_pie = elf.is_marked_pie(elf.number(at + 8, 8)?, elf.number(at + 32, 8)?)?
            }
            _ => {}
        }
    }
    ensure!(
        elf.number(16, 2)? == ET_DYN && is_pie,
        "it has a fixed address in memory; build it with `cargo xtask static`"
    );
    Ok(architecture)
}

/// The bytes of an ELF file.
struct Elf<'a>(&'a [u8]);

impl Elf<'_> {
    /// Returns the little-endian number of `length` bytes at `at`.
    fn number(&self, at: u64, length: u64) -> Result<u64> {
        let start = usize::try_from(at).context("its ELF header is invalid")?;
        let end = start.saturating_add(usize::try_from(length)?);
        let field = self.0.get(start..end).context("its ELF header is cut off")?;
        Ok(field.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte)))
    }

    /// Returns whether the dynamic section of `length` bytes at `start` has the mark of a program
    /// that can be loaded at any address.
    fn is_marked_pie(&self, start: u64, length: u64) -> Result<bool> {
        let mut is_pie = false;
        // An entry is a tag and a value of 8 bytes each.
        for entry in 0..length / 16 {
            let at = start.saturating_add(entry * 16);
            match self.number(at, 8)? {
                DT_NULL => break,
                DT_NEEDED => bail!("it needs shared libraries; build it with `cargo xtask static`"),
                DT_FLAGS_1 => is_pie = self.number(at.saturating_add(8), 8)? & DF_1_PIE != 0,
                _ => {}
            }
        }
        Ok(is_pie)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An entry of the dynamic section.
    struct Entry {
        tag: u64,
        value: u64,
    }

    /// Returns an ELF file of `kind` for `machine` with one program header of type `header`, for a
    /// section of one entry.
    fn image(kind: u8, machine: u8, header: u64, entry: Entry) -> Vec<u8> {
        let mut bytes = vec![0; 64 + 56];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[16] = kind;
        bytes[18] = machine;
        bytes[32] = 64;
        bytes[54] = 56;
        bytes[56] = 1;
        bytes[64..68].copy_from_slice(&header.to_le_bytes()[..4]);
        bytes[64 + 8] = 64 + 56;
        bytes[64 + 32] = 16;
        bytes.extend(entry.tag.to_le_bytes());
        bytes.extend(entry.value.to_le_bytes());
        bytes
    }

    #[test]
    fn static_programs_without_an_address_have_a_processor_and_others_are_refused() {
        const PIE: Entry = Entry { tag: DT_FLAGS_1, value: DF_1_PIE | 1 };
        const LIBRARY: Entry = Entry { tag: DT_NEEDED, value: 1 };
        const UNMARKED: Entry = Entry { tag: DT_FLAGS_1, value: 1 };
        assert_eq!(of(&Elf(&image(3, 62, PT_DYNAMIC, PIE))).unwrap(), "amd64");
        assert_eq!(of(&Elf(&image(3, 183, PT_DYNAMIC, PIE))).unwrap(), "arm64");
        let said = |bytes: &[u8]| of(&Elf(bytes)).unwrap_err().to_string();
        assert!(said(&image(3, 62, PT_INTERP, PIE)).contains("dynamically"));
        assert!(said(&image(3, 62, PT_DYNAMIC, LIBRARY)).contains("shared libraries"));
        // A program with a fixed address (ET_EXEC), a shared library, and one without any mark.
        assert!(said(&image(2, 62, PT_DYNAMIC, PIE)).contains("fixed address"));
        assert!(said(&image(3, 62, PT_DYNAMIC, UNMARKED)).contains("fixed address"));
        assert!(said(&image(3, 62, 1, PIE)).contains("fixed address"));
        assert!(said(&image(3, 3, PT_DYNAMIC, PIE)).contains("processor"));
        assert!(said(&image(3, 62, PT_DYNAMIC, PIE)[..60]).contains("cut off"));
        assert!(said(b"#!/bin/sh\n").contains("no program"));
    }
}
