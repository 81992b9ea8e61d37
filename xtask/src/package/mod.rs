//! Builds what users install: the static program, and packages that contain it. Beside each are its
//! bill of materials and checksums.

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

use anyhow::{Context, Result, bail};

pub(crate) use checkout::Checkout;
pub(crate) use reproduction::check as reproducible;

use release::Program;

/// A kind of package.
struct Kind {
    /// The chore that makes it.
    chore: &'static str,
    /// The directory that it is made in, below `target`.
    folder: &'static str,
    build: fn(&Checkout, &Program, &Path) -> Result<PathBuf>,
}

/// Debian's package, the wheel of Python's client, and a container image.
const KINDS: [Kind; 3] = [
    Kind { chore: "deb", folder: "debian", build: deb::build },
    Kind { chore: "wheel", folder: "wheel", build: wheel::build },
    Kind { chore: "image", folder: "oci", build: container::build },
];

/// Builds the static program, and prints its path and those of its bill of materials and checksums.
///
/// # Errors
/// If it cannot be built, or is not static.
pub(crate) fn release(root: &Path) -> Result<()> {
    print(&build_program(&Checkout::at(root)?)?);
    Ok(())
}

/// Builds the static program, and returns its path.
///
/// # Errors
/// If it cannot be built, or is not static.
pub(crate) fn built(root: &Path) -> Result<PathBuf> {
    release::built(&Checkout::at(root)?)
}

/// Makes the package of the kind `chore`, and prints its path and those of its bill of materials
/// and checksums. Of `words`, `--binary FILE` names the program, instead of a new build, and
/// `--into DIRECTORY` the directory of the package.
///
/// # Errors
/// If the program cannot be built, is not static or has another version, or a tool is missing.
pub(crate) fn pack(root: &Path, chore: &str, words: &[String]) -> Result<()> {
    let kind = KINDS.iter().find(|kind| kind.chore == chore).context("unknown kind of package")?;
    let mut binary = None;
    let mut into = None;
    for pair in words.chunks(2) {
        match pair {
            [option, file] if option == "--binary" => binary = Some(PathBuf::from(file)),
            [option, folder] if option == "--into" => into = Some(Path::new(folder)),
            _ => bail!("unknown argument: {}", pair.join(" ")),
        }
    }
    let checkout = Checkout::at(root)?;
    let binary = binary.map_or_else(|| release::built(&checkout), Ok)?;
    print(&package(&checkout, kind, &binary, into)?);
    Ok(())
}

/// Builds the program, and returns its path and those of the files beside it.
fn build_program(checkout: &Checkout) -> Result<[PathBuf; 3]> {
    accompanied(checkout, release::built(checkout)?)
}

/// Makes the package of the program `binary`, and returns its path and those of the files beside
/// it.
fn package(
    checkout: &Checkout,
    kind: &Kind,
    binary: &Path,
    into: Option<&Path>,
) -> Result<[PathBuf; 3]> {
    let folder =
        into.map_or_else(|| checkout.root.join("target").join(kind.folder), Path::to_owned);
    accompanied(checkout, (kind.build)(checkout, &Program::at(binary)?, &folder)?)
}

/// Writes the bill of materials and the checksums beside `artefact`, and returns the paths of all
/// three.
fn accompanied(checkout: &Checkout, artefact: PathBuf) -> Result<[PathBuf; 3]> {
    let bill = artefact.with_extension("cdx.json");
    let text = sbom::bill(&checkout.root, &checkout.time)?;
    fs::write(&bill, text).with_context(|| format!("failed to write {}", bill.display()))?;
    let sums = sums::put(&[&artefact, &bill])?;
    Ok([artefact, bill, sums])
}

fn print(paths: &[PathBuf]) {
    paths.iter().for_each(|path| println!("{}", path.display()));
}
