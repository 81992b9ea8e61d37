//! The sandbox of a benchmark: process, mount and IPC namespaces of its own.
//!
//! The compared tools start daemons and leave children behind. When the first process of a process
//! namespace ends, the kernel kills all others in it, and so releases their mounts and network
//! namespaces. A killed benchmark therefore leaves only empty control groups behind.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::{cpu, field};

/// The argument that marks the process in the sandbox.
const INSIDE: &str = "--inside-sandbox";

/// Outside of the sandbox: calls `before`, and runs this program again in a sandbox. In the
/// sandbox: calls `inside` with the id of the outer process, which identifies the run. Both get the
/// arguments of the benchmark `name`.
pub(crate) fn enter(
    name: &str,
    args: &[String],
    before: impl FnOnce(&[String]) -> Result<()>,
    inside: impl FnOnce(u32, &[String]) -> Result<()>,
) -> Result<()> {
    if let [first, run, rest @ ..] = args
        && first == INSIDE
    {
        return inside(run.parse().context("the number of the run is invalid")?, rest);
    }
    if !rustix::process::geteuid().is_root() {
        bail!(
            "this benchmark needs root to create namespaces, mounts and control groups; run it as root"
        );
    }
    before(args)?;
    let run = std::process::id();
    cpu::remove(run);
    let program = std::env::current_exe().context("failed to find the path of this program")?;
    // `unshare` ignores the signals that end this process, so it is killed with it; the sandbox's
    // first process is killed with `unshare`.
    let status = Command::new("setpriv")
        .args(["--pdeathsig", "KILL", "unshare"])
        .args(["--mount", "--ipc", "--pid", "--fork", "--kill-child=KILL", "--mount-proc"])
        .args(["--propagation", "private"])
        // The shell is the first process, so it reaps orphans.
        .args(["sh", "-c", "\"$@\"; exit $?", "sh"])
        .arg(program)
        .args([name, INSIDE, &run.to_string()])
        .args(args)
        .stdin(Stdio::null())
        .status()
        .context("failed to start `setpriv unshare`")?;
    cpu::remove(run);
    if !status.success() {
        bail!("the benchmark failed in its sandbox: {status}");
    }
    Ok(())
}

/// Mounts a private `/run` with a tmpfs for all files, and a private `/dev/shm`, where killed peers
/// leave their shared memory.
pub(crate) fn mount() -> Result<()> {
    let tmpfs = |dir, options| command(&["mount", "-t", "tmpfs", "-o", options, "bench", dir]);
    tmpfs("/run", "mode=755")?;
    tmpfs("/dev/shm", "mode=1777")?;
    for dir in [field::DIR, "/run/sshd"] {
        std::fs::create_dir(dir).with_context(|| format!("failed to create {dir}"))?;
    }
    tmpfs(field::DIR, "mode=755,size=100%,huge=always")?;
    Ok(())
}

/// Runs a short set-up command, and returns its standard output.
///
/// # Errors
/// If it fails, with its standard error.
pub(crate) fn command(words: &[&str]) -> Result<String> {
    let line = words.join(" ");
    let output = Command::new(words[0])
        .args(&words[1..])
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("failed to start `{line}`"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("`{line}` failed: {}: {}", output.status, said.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Compiles a C program of this repository in the sandbox, and returns the program's path.
pub(crate) fn compile(root: &Path, compiler: &str, source: &str, name: &str) -> Result<String> {
    compile_in(Path::new(field::DIR), root, compiler, source, name)
}

/// Compiles a C program of this repository into `directory`, and returns the program's path.
pub(crate) fn compile_in(
    folder: &Path,
    root: &Path,
    compiler: &str,
    source: &str,
    name: &str,
) -> Result<String> {
    let built = format!("{}/{name}", folder.display());
    let source = root.join(source);
    let source = source.to_str().context("the repository's path is not valid UTF-8")?;
    command(&[compiler, "-O2", "-o", &built, source])?;
    Ok(built)
}
