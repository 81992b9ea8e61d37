//! Builds what users install: the static program, and the Debian package that contains it.

mod deb;
mod image;
mod release;
mod staging;

use std::path::Path;

use anyhow::Result;

pub(crate) use deb::build as deb;
pub(crate) use release::built;

/// Builds the static program, and prints its path.
///
/// # Errors
/// If it cannot be built, or is not static.
pub(crate) fn release(root: &Path) -> Result<()> {
    println!("{}", built(root)?.display());
    Ok(())
}
