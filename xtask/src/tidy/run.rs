//! All rules over the whole repository.

use std::path::Path;

use anyhow::{Result, bail};

use super::finding::Finding;
use super::tree::Tree;
use super::{
    banned, clocks, direction, lengths, names, order, pages, paths, reach, scenarios, speech,
    threads, unsafety,
};

/// A rule looks at the tree and names what breaks it.
type Rule = fn(&Tree) -> Vec<Finding>;

const RULES: [Rule; 13] = [
    direction::check,
    order::check,
    lengths::check,
    clocks::check,
    unsafety::check,
    banned::check,
    names::check,
    pages::check,
    paths::check,
    scenarios::check,
    reach::check,
    threads::check,
    speech::check,
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
