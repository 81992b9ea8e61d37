//! Builds test suites for file systems from crates.io into `target/suites`, and only those that are
//! missing. They are programs of others and no dependencies: nothing of ours is linked with them.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// The suites and their versions. Whoever changes one has its tests' expectations to look at.
const SUITES: [(&str, &str); 2] = [("fsx", "0.3.2"), ("pjdfstest", "0.2.2")];

/// Makes the suites present.
///
/// # Errors
/// When one is missing and can't be built.
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
        // Not from here, whose flags are for what goes to nodes.
        cargo.current_dir(std::env::temp_dir());
        for flags in ["RUSTFLAGS", "CARGO_BUILD_TARGET", "RUSTC_WORKSPACE_WRAPPER"] {
            cargo.env_remove(flags);
        }
        let status = cargo.stdin(Stdio::null()).status().context("start `cargo install`")?;
        if !status.success() || !says(&program, version) {
            bail!("cargo can't install {name} {version} to {}", folder.display());
        }
    }
    Ok(())
}

/// Whether the program is there, and of this version.
fn says(program: &Path, version: &str) -> bool {
    let output = Command::new(program).arg("--version").stderr(Stdio::null()).output();
    output.is_ok_and(|output| {
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        output.status.success() && said.split_whitespace().nth(1) == Some(version)
    })
}
