//! `cargo xtask book`: makes the site of docs/ in `target/book`, and checks that none of its links
//! is dead.

mod links;
mod source;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::crates_io::Program;

const MDBOOK: Program = Program {
    name: "mdbook",
    version: "0.5.4",
    // Without its web server, which is most of what would be compiled.
    features: &["--no-default-features", "--features", "search"],
};

/// Builds mdBook if it is missing, then the site; prints where the site begins.
///
/// # Errors
/// If mdBook cannot be built, or fails, or the site has a dead link.
pub(crate) fn make(root: &Path) -> Result<()> {
    let mdbook = MDBOOK.install(&root.join("target/mdbook"))?;
    let staged = root.join("target/book-source");
    source::stage(root, &staged)?;
    let site = root.join("target/book");
    let mut build = Command::new(mdbook);
    build.arg("build").arg(&staged).arg("--dest-dir").arg(&site).stdin(Stdio::null());
    let status = build.status().context("failed to start mdbook")?;
    if !status.success() {
        bail!("mdbook failed to make the book of {}", staged.display());
    }
    fs::remove_dir_all(&staged)
        .with_context(|| format!("failed to remove {}", staged.display()))?;
    let dead = links::find_dead(&site)?;
    for link in &dead {
        println!("{link}");
    }
    if !dead.is_empty() {
        bail!("the book in {} has {} dead links", site.display(), dead.len());
    }
    println!("{}", site.join("index.html").display());
    Ok(())
}
