//! All rules over the whole repository.

use std::path::Path;

use anyhow::{Result, anyhow, bail};

use super::finding::Finding;
use super::tree::Tree;
use super::{
    banned, direction, imports, lengths, names, pages, paths, reach, scenarios, sizes, threads,
    vocabulary,
};

/// A rule looks at the tree and names what breaks it.
type Rule = fn(&Tree) -> Vec<Finding>;

const RULES: [Rule; 12] = [
    direction::check,
    lengths::check,
    banned::check,
    imports::check,
    names::check,
    pages::check,
    paths::check,
    scenarios::check,
    reach::check,
    sizes::check,
    threads::check,
    vocabulary::check,
];

/// Checks the repository at `root` and prints every finding.
///
/// # Errors
/// When a rule is broken, or the repository can't be read.
pub(crate) fn run(root: &Path) -> Result<()> {
    let tree = Tree::read(root)?;
    let mut findings: Vec<_> = RULES.iter().flat_map(|rule| rule(&tree)).collect();
    findings.sort();
    findings.dedup();
    for finding in &findings {
        println!("{finding}");
    }
    println!("{}", lengths::summary(&tree));
    if !findings.is_empty() {
        bail!("tidy: {} findings", findings.len());
    }
    Ok(())
}

/// Prints a line `FILE FILE` for each file that uses names which another one defines, then the circles.
///
/// # Errors
/// When the repository can't be read, or a file isn't Rust.
pub(crate) fn print_imports(root: &Path) -> Result<()> {
    let tree = Tree::read(root)?;
    let edges = imports::edges(&tree).map_err(|finding| anyhow!("{finding}"))?;
    for (from, defining) in edges {
        for to in defining {
            println!("{from} {to}");
        }
    }
    for circle in imports::check(&tree) {
        println!("{circle}");
    }
    Ok(())
}
