//! Builds the program for users.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::checkout::Checkout;
use super::image;
use crate::fabric;

/// Builds the optimised, static program, and returns its path. Equal sources, compilers and C libraries
/// make equal bytes, in whichever directory and at whatever time.
///
/// # Errors
/// If it cannot be built, is not static, or contains names of this machine's directories.
pub(super) fn built(checkout: &Checkout) -> Result<PathBuf> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(&checkout.root).stdin(Stdio::null());
    cargo.args(["build", "--release", "--locked", "--package", "garland", "--bin", "garland"]);
    cargo.arg("--target-dir").arg(&checkout.target);
    // Flags are separated by this character here, since paths may contain blanks.
    cargo.env("CARGO_ENCODED_RUSTFLAGS", checkout.flags()?.join("\x1f"));
    let status = cargo.status().context("failed to start cargo")?;
    if !status.success() {
        bail!("`cargo build` failed: {status}");
    }
    let binary = checkout.target.join(fabric::host()?).join("release/garland");
    image::architecture(&binary)?;
    checkout.assert_neutral(&binary)?;
    Ok(binary)
}
