//! Builds programs from crates.io below `target/`, if they are missing. They are separate programs,
//! not dependencies: none of our code is linked with them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// A crate with a program of the same name.
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    /// Arguments of `cargo install` that choose its features.
    pub(crate) features: &'static [&'static str],
}

impl Program {
    /// Returns the path of the program, which is in `folder`, after it was built there unless it
    /// has this version already.
    ///
    /// # Errors
    /// If it is missing and cannot be built.
    pub(crate) fn install(&self, folder: &Path) -> Result<PathBuf> {
        let program = folder.join("bin").join(self.name);
        if self.is_there(&program) {
            return Ok(program);
        }
        println!("building a program from crates.io: {} {}", self.name, self.version);
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["install", "--quiet", "--locked", "--force", "--debug"]);
        cargo.args(["--version", self.version]).args(self.features);
        cargo.arg("--root").arg(folder).arg("--target-dir").arg(folder.join("build"));
        // Run outside of the workspace, whose compiler flags are for the program that goes to
        // nodes.
        cargo.arg(self.name).current_dir(std::env::temp_dir());
        for flags in ["RUSTFLAGS", "CARGO_BUILD_TARGET", "RUSTC_WORKSPACE_WRAPPER"] {
            cargo.env_remove(flags);
        }
        let status =
            cargo.stdin(Stdio::null()).status().context("failed to start `cargo install`")?;
        if !status.success() || !self.is_there(&program) {
            bail!("cargo failed to install {} {} to {}", self.name, self.version, folder.display());
        }
        Ok(program)
    }

    /// Returns whether `program` exists and has this version.
    fn is_there(&self, program: &Path) -> bool {
        let output = Command::new(program).arg("--version").stderr(Stdio::null()).output();
        output.is_ok_and(|output| {
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            let version = said.split_whitespace().nth(1).map(|word| word.trim_start_matches('v'));
            output.status.success() && version == Some(self.version)
        })
    }
}
