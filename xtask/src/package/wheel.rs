//! Makes the Python wheel: the client of `python/`, and the program as a script, so that pip
//! installs both.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::checkout::Checkout;
use super::release::Program;
use super::staging::{COPYRIGHT, Staging, said};

/// The Python program that packs the files.
const PACK: &str = include_str!("../../../packaging/wheel.py");

/// The files of the client that are not Python's.
const MARK: &str = "py.typed";

/// Makes the wheel in the directory `folder`, and returns its path.
///
/// # Errors
/// If a file of the client cannot be read, or Python is missing.
pub(super) fn build(checkout: &Checkout, program: &Program, folder: &Path) -> Result<PathBuf> {
    let project = fs::read_to_string(checkout.root.join("python/pyproject.toml"))
        .context("failed to read python/pyproject.toml")?;
    let project: toml::Table = project.parse().context("failed to parse pyproject.toml")?;
    let field = |names: &[&str]| {
        let found = names.iter().try_fold(project.get("project")?, |value, name| value.get(name));
        found?.as_str()
    };
    let needed = |names: &[&str]| {
        field(names).with_context(|| format!("pyproject.toml has no {}", names.join(".")))
    };
    let version = needed(&["version"])?;
    let stem = format!("{}-{version}", needed(&["name"])?.replace('-', "_"));
    let tag = platform_tag(program.architecture());
    let staging = Staging::new(folder.join("garland"))?;
    put_client(&staging, checkout)?;
    program.copy_to(&staging.folder(&format!("{stem}.data/scripts/garland"))?)?;
    let about = format!("{stem}.dist-info");
    let manual = fs::read_to_string(checkout.root.join("python/README.md"))
        .context("failed to read python/README.md")?;
    let metadata = format!(
        "Metadata-Version: 2.1\nName: {}\nVersion: {version}\nSummary: {}\nLicense: {}\n\
         Requires-Python: {}\nDescription-Content-Type: text/markdown\n\n{manual}",
        needed(&["name"])?,
        needed(&["description"])?,
        needed(&["license", "text"])?,
        needed(&["requires-python"])?,
    );
    staging.put(&format!("{about}/METADATA"), metadata)?;
    let tags: Vec<String> = tag.split('.').map(|one| format!("Tag: py3-none-{one}\n")).collect();
    let wheel = format!(
        "Wheel-Version: 1.0\nGenerator: garland\nRoot-Is-Purelib: false\n{}",
        tags.concat()
    );
    staging.put(&format!("{about}/WHEEL"), wheel)?;
    staging.put(&format!("{about}/licenses/copyright"), COPYRIGHT)?;
    staging.settle()?;
    let wheel = folder.join(format!("{stem}-py3-none-{tag}.whl"));
    let mut python = Command::new("python3");
    python.args(["-c", PACK]).arg(&staging.0).arg(format!("{about}/RECORD")).arg(&wheel);
    said(&mut python)?;
    Ok(wheel)
}

fn put_client(staging: &Staging, checkout: &Checkout) -> Result<()> {
    let sources = checkout.root.join("python/src/garland");
    for entry in fs::read_dir(sources).context("failed to list the client's sources")? {
        let path = entry.context("failed to list the client's sources")?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".py") || name == MARK {
            let source = fs::read(&path);
            let source = source.with_context(|| format!("failed to read {}", path.display()))?;
            staging.put(&format!("garland/{name}"), source)?;
        }
    }
    Ok(())
}

/// Returns the platforms of a static program in pip's terms: the C library of a system is never
/// used, so the program runs with the oldest of either kind.
fn platform_tag(architecture: &str) -> String {
    let machine = match architecture {
        "amd64" => "x86_64",
        "arm64" => "aarch64",
        "ppc64el" => "ppc64le",
        other => other,
    };
    format!("manylinux_2_17_{machine}.musllinux_1_1_{machine}")
}
