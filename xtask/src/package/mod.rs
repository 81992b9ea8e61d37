//! Builds what users install: the static program, and the Debian package that contains it. Beside each are
//! its bill of materials and checksums.

mod checkout;
mod deb;
mod image;
mod release;
mod reproduction;
mod sbom;
mod staging;
mod sums;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

pub(crate) use checkout::Checkout;

pub(crate) use reproduction::check as reproducible;

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

/// Makes the Debian package in `target/debian` from the program `binary`, or from a new build, and prints its
/// path and those of its bill of materials and checksums.
///
/// # Errors
/// If the program cannot be built, is not static or has another version, or a tool is missing.
pub(crate) fn deb(root: &Path, binary: Option<PathBuf>) -> Result<()> {
    let checkout = Checkout::at(root)?;
    let binary = binary.map_or_else(|| release::built(&checkout), Ok)?;
    print(&package(&checkout, &binary)?);
    Ok(())
}

/// Builds the program, and returns its path and those of the files beside it.
fn program(checkout: &Checkout) -> Result<[PathBuf; 3]> {
    accompanied(checkout, release::built(checkout)?)
}

/// Makes the package of the program `binary`, and returns its path and those of the files beside it.
fn package(checkout: &Checkout, binary: &Path) -> Result<[PathBuf; 3]> {
    accompanied(checkout, deb::build(checkout, binary)?)
}

/// Writes the bill of materials and the checksums beside `artefact`, and returns the paths of all three.
fn accompanied(checkout: &Checkout, artefact: PathBuf) -> Result<[PathBuf; 3]> {
    let name = artefact.file_name().unwrap_or_default().to_string_lossy();
    let bill = artefact.with_file_name(format!("{}.cdx.json", name.trim_end_matches(".deb")));
    let text = sbom::bill(&checkout.root, &checkout.time)?;
    fs::write(&bill, text).with_context(|| format!("failed to write {}", bill.display()))?;
    let sums = sums::put(&[&artefact, &bill])?;
    Ok([artefact, bill, sums])
}

fn print(paths: &[PathBuf]) {
    paths.iter().for_each(|path| println!("{}", path.display()));
}
