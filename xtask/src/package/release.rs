//! Builds the program as it is given to others.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::image;
use crate::fabric;

/// Builds it; where it lies.
///
/// # Errors
/// When it can't be built, or isn't static.
pub(crate) fn built(root: &Path) -> Result<PathBuf> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(root).stdin(Stdio::null());
    cargo.args(["build", "--release", "--locked", "--package", "garland", "--bin", "garland"]);
    let status = cargo.status().context("start cargo")?;
    if !status.success() {
        bail!("`cargo build` failed: {status}");
    }
    let binary = fabric::target(root).join(fabric::host()?).join("release/garland");
    image::architecture(&binary)?;
    Ok(binary)
}
