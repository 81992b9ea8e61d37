//! Builds the program for users, and checks it before it is packed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use super::checkout::Checkout;
use super::image;
use super::staging::said;
use crate::fabric;

/// Builds the optimised, static program with the program for nodes in it, and returns its path.
/// Equal sources, compilers and C libraries make equal bytes, in whichever directory and at
/// whatever time.
///
/// # Errors
/// If it cannot be built, is not static, or contains names of this machine's directories.
pub(super) fn built(checkout: &Checkout) -> Result<PathBuf> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(&checkout.root).stdin(Stdio::null());
    cargo.args(["build", "--release", "--locked", "--package", "garland", "--bins"]);
    cargo.arg("--target-dir").arg(&checkout.target);
    // Flags are separated by this character here, since paths may contain blanks.
    cargo.env("CARGO_ENCODED_RUSTFLAGS", checkout.flags()?.join("\x1f"));
    let status = cargo.status().context("failed to start cargo")?;
    if !status.success() {
        bail!("`cargo build` failed: {status}");
    }
    let folder = checkout.target.join(fabric::host_triple()?).join("release");
    let binary = folder.join("garland");
    let node = folder.join("garland-node");
    for program in [&binary, &node] {
        image::architecture(program)?;
        checkout.assert_neutral(program)?;
    }
    // Nodes get the smaller program, which the other one carries.
    said(Command::new(&binary).arg("carry").args([&node, &binary]))?;
    Ok(binary)
}

/// A static program of this version, which can be packed.
pub(super) struct Program {
    path: PathBuf,
    architecture: &'static str,
}

impl Program {
    /// Checks the program `binary`.
    ///
    /// # Errors
    /// If it is not static or has another version.
    pub(super) fn at(binary: &Path) -> Result<Self> {
        let path =
            fs::canonicalize(binary).with_context(|| format!("find {}", binary.display()))?;
        let program = Self { architecture: image::architecture(&path)?, path };
        let version = said(program.command().arg("--version"))?;
        let version = String::from_utf8_lossy(&version);
        let ours = concat!("garland ", env!("CARGO_PKG_VERSION"));
        ensure!(
            version.trim() == ours,
            "{} has version {}, not {ours}",
            program.path.display(),
            version.trim()
        );
        Ok(program)
    }

    /// Returns Debian's name of the architecture that it is built for.
    pub(super) fn architecture(&self) -> &'static str {
        self.architecture
    }

    /// Returns a command that runs it.
    pub(super) fn command(&self) -> Command {
        Command::new(&self.path)
    }

    /// Copies it to the file `place`.
    ///
    /// # Errors
    /// If it cannot be copied.
    pub(super) fn copy_to(&self, place: &Path) -> Result<()> {
        fs::copy(&self.path, place)
            .with_context(|| format!("failed to copy {}", self.path.display()))?;
        Ok(())
    }
}
