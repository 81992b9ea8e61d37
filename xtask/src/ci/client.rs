//! Installs the Python client with `pip install ./python`, as users do, and mypy into
//! `target/python-client`. Installs only what is missing or has changed.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// The type checker, as a requirement for pip.
const CHECKER: &str = "mypy==1.19.1";

const IMPORT_CHECKER: &str = "import mypy";

/// Installs the client and the type checker unless they are installed.
///
/// # Errors
/// If pip cannot install one of them.
pub(crate) fn install(root: &Path) -> Result<()> {
    let folder = root.join("target/python-client");
    if !is_same(&root.join("python/src/garland"), &folder.join("garland"))? {
        println!("installing the Python client");
        pip(&folder, &["--no-deps", &root.join("python").to_string_lossy()])?;
        // setuptools writes its build files next to the sources: remove them.
        for left in ["python/build", "python/src/garland_client.egg-info"] {
            let _ = fs::remove_dir_all(root.join(left));
        }
        if !is_same(&root.join("python/src/garland"), &folder.join("garland"))? {
            bail!("pip installed other files than those in python/src/garland");
        }
    }
    let mut look = Command::new("python3");
    look.args(["-c", IMPORT_CHECKER]).env("PYTHONPATH", &folder).stderr(Stdio::null());
    if !look.status().is_ok_and(|status| status.success()) {
        println!("installing a Python package: {CHECKER}");
        pip(&folder, &[CHECKER])?;
    }
    Ok(())
}

fn pip(folder: &Path, what: &[&str]) -> Result<()> {
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade"]);
    pip.arg("--target").arg(folder).args(what);
    let status = pip.stdin(Stdio::null()).status().context("failed to start `python3 -m pip`")?;
    if !status.success() {
        bail!("pip failed to install {} to {}", what.join(" "), folder.display());
    }
    Ok(())
}

/// Returns whether every file of `sources` exists in `installed` with the same content.
fn is_same(sources: &Path, installed: &Path) -> Result<bool> {
    for entry in fs::read_dir(sources).context("failed to list the client's sources")? {
        let path = entry.context("failed to list the client's sources")?.path();
        if path.is_file() {
            let name = path.file_name().unwrap_or_default();
            let source =
                fs::read(&path).with_context(|| format!("failed to read {}", path.display()))?;
            if fs::read(installed.join(name)).ok() != Some(source) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}
