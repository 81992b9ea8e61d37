//! Installs the Python client as its users do, by `pip install ./python`, and what checks its types,
//! into `target/python-client`, and only when something of them is missing or another.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// What checks types.
const CHECKER: &str = "mypy==1.19.1";

const LOOK: &str = "import mypy";

/// Makes both present.
///
/// # Errors
/// When pip can't install them.
pub(crate) fn install(root: &Path) -> Result<()> {
    let folder = root.join("target/python-client");
    if !is_same(&root.join("python/src/garland"), &folder.join("garland"))? {
        println!("installing the Python client");
        pip(&folder, &["--no-deps", &root.join("python").to_string_lossy()])?;
        // setuptools builds where the sources are.
        for left in ["python/build", "python/src/garland_client.egg-info"] {
            let _ = fs::remove_dir_all(root.join(left));
        }
        if !is_same(&root.join("python/src/garland"), &folder.join("garland"))? {
            bail!("pip has not installed what is in python/src/garland");
        }
    }
    let mut look = Command::new("python3");
    look.args(["-c", LOOK]).env("PYTHONPATH", &folder).stderr(Stdio::null());
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
    let status = pip.stdin(Stdio::null()).status().context("start `python3 -m pip`")?;
    if !status.success() {
        bail!("pip can't install {} to {}", what.join(" "), folder.display());
    }
    Ok(())
}

/// Whether every file of the sources is there, as it is.
fn is_same(sources: &Path, installed: &Path) -> Result<bool> {
    for entry in fs::read_dir(sources).context("list the client's sources")? {
        let path = entry.context("list the client's sources")?.path();
        if path.is_file() {
            let name = path.file_name().unwrap_or_default();
            let source = fs::read(&path).with_context(|| format!("read {}", path.display()))?;
            if fs::read(installed.join(name)).ok() != Some(source) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}
