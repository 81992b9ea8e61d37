//! Builds the program for users.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::image;
use crate::fabric;

/// Builds the optimised, static program, and returns its path.
///
/// # Errors
/// If it cannot be built, or is not static.
pub(crate) fn built(root: &Path) -> Result<PathBuf> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(root).stdin(Stdio::null());
    cargo.args(["build", "--release", "--locked", "--package", "garland", "--bin", "garland"]);
    let status = cargo.status().context("failed to start cargo")?;
    if !status.success() {
        bail!("`cargo build` failed: {status}");
    }
    let binary = fabric::target(root).join(fabric::host()?).join("release/garland");
    image::architecture(&binary)?;
    Ok(binary)
}
