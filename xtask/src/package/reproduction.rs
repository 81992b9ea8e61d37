//! Checks that builds are reproducible: two builds in different directories, at different times,
//! must have the same bytes.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::checkout::Checkout;
use super::{KINDS, build_program, package, sums};

/// Builds the program and the packages in `root`, and again from a copy of the sources in a
/// temporary directory (about 1 GiB, removed at the end); prints the checksums of both builds.
///
/// # Errors
/// If a build fails, or the two differ.
pub(crate) fn check(root: &Path) -> Result<()> {
    let here = Checkout::at(root)?;
    let folder = Folder::new();
    // Before the first build, which takes minutes in which the sources may change.
    let again = here.copied_to(&folder.0)?;
    let ours = artefacts(&here)?;
    let theirs = artefacts(&again)?;
    let mut different = Vec::new();
    for (one, other) in ours.iter().zip(&theirs) {
        let name = one.file_name().unwrap_or_default().display();
        let first = sums::of(one)?;
        let second = sums::of(other)?;
        println!("{first}  {name}\n{second}  {name}, again");
        if first != second {
            different.push(name.to_string());
        }
    }
    ensure!(
        different.is_empty(),
        "two builds of the same sources differ: {}",
        different.join(", ")
    );
    Ok(())
}

/// Makes all that users take away.
fn artefacts(checkout: &Checkout) -> Result<Vec<PathBuf>> {
    let program = build_program(checkout)?;
    let mut all = program.to_vec();
    for kind in &KINDS {
        all.extend(package(checkout, kind, &program[0], None)?);
    }
    Ok(all)
}

/// A directory that is removed when the value is dropped. Its name has another length than that of
/// the sources usually has.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let name = format!("garland-built-again-in-another-directory-{}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let removed = fs::remove_dir_all(&self.0);
        if let Err(error) = removed.context("failed to remove the second build") {
            eprintln!("{error:#}: {}", self.0.display());
        }
    }
}
