//! Builds test suites for file systems from crates.io into `target/suites`, if they are missing.
//! They are separate programs, not dependencies: none of our code is linked with them.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// The suites and their versions. After a change of a version, review what the tests expect of that
/// suite.
const SUITES: [(&str, &str); 2] = [("fsx", "0.3.2"), ("pjdfstest", "0.2.2")];

/// Installs the suites that are missing or have another version.
///
/// # Errors
/// If a suite is missing and cannot be built.
pub(crate) fn install(root: &Path) -> Result<()> {
    let folder = root.join("target/suites");
    for (name, version) in SUITES {
        let program = folder.join("bin").join(name);
        if says(&program, version) {
            continue;
        }
        println!("building a test suite: {name} {version}");
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["install", "--quiet", "--locked", "--force", "--debug", "--version", version]);
        cargo.arg("--root").arg(&folder).arg("--target-dir").arg(folder.join("build")).arg(name);
        // Run outside of the workspace, whose compiler flags are for the program that goes to
        // nodes.
        cargo.current_dir(std::env::temp_dir());
        for flags in ["RUSTFLAGS", "CARGO_BUILD_TARGET", "RUSTC_WORKSPACE_WRAPPER"] {
            cargo.env_remove(flags);
        }
        let status =
            cargo.stdin(Stdio::null()).status().context("failed to start `cargo install`")?;
        if !status.success() || !says(&program, version) {
            bail!("cargo failed to install {name} {version} to {}", folder.display());
        }
    }
    Ok(())
}

/// Returns whether `program` exists and has this version.
fn says(program: &Path, version: &str) -> bool {
    let output = Command::new(program).arg("--version").stderr(Stdio::null()).output();
    output.is_ok_and(|output| {
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        output.status.success() && said.split_whitespace().nth(1) == Some(version)
    })
}
