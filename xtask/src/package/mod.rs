//! What is given to others: the static program, and the Debian package around it.

mod deb;
mod image;
mod release;
mod staging;

use std::path::Path;

use anyhow::Result;

pub(crate) use deb::build as deb;
pub(crate) use release::built;

/// Builds the static program, and prints where it is.
///
/// # Errors
/// When it can't be built, or isn't static.
pub(crate) fn release(root: &Path) -> Result<()> {
    println!("{}", built(root)?.display());
    Ok(())
}
