//! Builds what users install: the static program, and packages that contain it. Beside each are its bill of
//! materials and checksums.

mod checkout;
mod container;
mod deb;
mod image;
mod release;
mod reproduction;
mod sbom;
mod staging;
mod sums;
mod wheel;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

pub(crate) use checkout::Checkout;

pub(crate) use reproduction::check as reproducible;

use release::Program;
use staging::said;

/// The licences of all that is linked into the program.
const COPYRIGHT: &str = include_str!("../../../packaging/copyright");

/// A kind of package: its chore, and what makes it from the program.
type Kind = (&'static str, fn(&Checkout, &Program) -> Result<PathBuf>);

/// The kinds of packages: Debian's, Python's wheel, and a container image.
const KINDS: [&Kind; 3] =
    [&("deb", deb::build), &("wheel", wheel::build), &("image", container::build)];

/// Builds the static program, and prints its path and those of its bill of materials and checksums.
///
/// # Errors
/// If it cannot be built, or is not static.
pub(crate) fn release(root: &Path) -> Result<()> {
    print(&program(&Checkout::at(root)?)?);
    Ok(())
}

/// Builds the static program, and returns its path.
///
/// # Errors
/// If it cannot be built, or is not static.
pub(crate) fn built(root: &Path) -> Result<PathBuf> {
    release::built(&Checkout::at(root)?)
}

/// Makes the package of the kind `chore` from the program `binary`, or from a new build, and prints its path
/// and those of its bill of materials and checksums.
///
/// # Errors
/// If the program cannot be built, is not static or has another version, or a tool is missing.
pub(crate) fn pack(root: &Path, chore: &str, binary: Option<PathBuf>) -> Result<()> {
    let kind = KINDS.iter().find(|(name, _)| *name == chore).context("unknown kind of package")?;
    let checkout = Checkout::at(root)?;
    let binary = binary.map_or_else(|| release::built(&checkout), Ok)?;
    print(&package(&checkout, kind, &binary)?);
    Ok(())
}

/// Builds the program, and returns its path and those of the files beside it.
fn program(checkout: &Checkout) -> Result<[PathBuf; 3]> {
    accompanied(checkout, release::built(checkout)?)
}

/// Makes the package of the program `binary`, and returns its path and those of the files beside it.
fn package(checkout: &Checkout, (_, build): &Kind, binary: &Path) -> Result<[PathBuf; 3]> {
    accompanied(checkout, build(checkout, &Program::at(binary)?)?)
}

/// Writes the bill of materials and the checksums beside `artefact`, and returns the paths of all three.
fn accompanied(checkout: &Checkout, artefact: PathBuf) -> Result<[PathBuf; 3]> {
    let bill = artefact.with_extension("cdx.json");
    let text = sbom::bill(&checkout.root, &checkout.time)?;
    fs::write(&bill, text).with_context(|| format!("failed to write {}", bill.display()))?;
    let sums = sums::put(&[&artefact, &bill])?;
    Ok([artefact, bill, sums])
}

/// Returns `time`, in seconds since 1970, as RFC 3339 writes it.
fn date(time: &str) -> Result<String> {
    let mut date = Command::new("date");
    date.args(["-u", "-d", &format!("@{time}"), "+%Y-%m-%dT%H:%M:%SZ"]);
    Ok(String::from_utf8_lossy(&said(&mut date)?).trim().to_owned())
}

fn print(paths: &[PathBuf]) {
    paths.iter().for_each(|path| println!("{}", path.display()));
}
