//! Builds what users install: the static program, and the Debian package that contains it. Beside each are
//! its checksums.

mod checkout;
mod deb;
mod image;
mod release;
mod reproduction;
mod staging;
mod sums;

use std::path::{Path, PathBuf};

use anyhow::Result;

use checkout::Checkout;

pub(crate) use reproduction::check as reproducible;

/// Builds the static program, and prints its path and that of its checksums.
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

/// Makes the Debian package in `target/debian` from the program `binary`, or from a new build, and prints its
/// path and that of its checksums.
///
/// # Errors
/// If the program cannot be built, is not static or has another version, or a tool is missing.
pub(crate) fn deb(root: &Path, binary: Option<PathBuf>) -> Result<()> {
    let checkout = Checkout::at(root)?;
    let binary = binary.map_or_else(|| release::built(&checkout), Ok)?;
    print(&package(&checkout, &binary)?);
    Ok(())
}

/// Builds the program, and returns its path and that of its checksums.
fn program(checkout: &Checkout) -> Result<[PathBuf; 2]> {
    accompanied(release::built(checkout)?)
}

/// Makes the package of the program `binary`, and returns its path and that of its checksums.
fn package(checkout: &Checkout, binary: &Path) -> Result<[PathBuf; 2]> {
    accompanied(deb::build(checkout, binary)?)
}

/// Writes the checksum beside `artefact`, and returns the paths of both.
fn accompanied(artefact: PathBuf) -> Result<[PathBuf; 2]> {
    let sums = sums::put(&[&artefact])?;
    Ok([artefact, sums])
}

fn print(paths: &[PathBuf]) {
    paths.iter().for_each(|path| println!("{}", path.display()));
}
