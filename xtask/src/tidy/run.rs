//! Runs all rules on the whole repository.

use std::path::Path;

use anyhow::{Result, anyhow, bail};

use super::finding::Finding;
use super::tree::Tree;
use super::{
    banned, bindings, constants, constructors, direction, displays, facades, import_order, imports,
    lengths, names, pages, parameters, paths, promises, reach, scenarios, shadows, sizes,
    vocabulary, waits,
};

/// A rule: takes all text files, and returns its findings.
type Rule = fn(&Tree) -> Vec<Finding>;

const RULES: [Rule; 20] = [
    direction::check,
    lengths::check,
    banned::check,
    imports::check,
    import_order::check,
    names::check,
    pages::check,
    bindings::check,
    constants::check,
    constructors::check,
    parameters::check,
    paths::check,
    promises::check,
    scenarios::check,
    shadows::check,
    reach::check,
    displays::check,
    facades::check,
    waits::check,
    vocabulary::check,
];

/// Checks the repository at `root` and prints every finding.
///
/// # Errors
/// If a rule is broken, or the repository cannot be read.
pub(crate) fn run(root: &Path) -> Result<()> {
    let tree = Tree::read(root)?;
    let mut findings: Vec<_> = RULES.iter().flat_map(|rule| rule(&tree)).collect();
    findings.sort();
    findings.dedup();
    for finding in &findings {
        println!("{finding}");
    }
    println!("{}", lengths::summary(&tree));
    println!("{}", sizes::trend(root, &tree));
    if !findings.is_empty() {
        bail!("tidy: {} findings", findings.len());
    }
    Ok(())
}

/// Prints a line `USER DEFINER` for each pair of files of which the first uses names of the second,
/// then all import cycles.
///
/// # Errors
/// If the repository cannot be read, or a file cannot be parsed as Rust.
pub(crate) fn print_imports(root: &Path) -> Result<()> {
    let tree = Tree::read(root)?;
    let uses = imports::edges(&tree).map_err(|finding| anyhow!("{finding}"))?;
    for (from, defining) in uses {
        for to in defining {
            println!("{from} {to}");
        }
    }
    for cycle in imports::check(&tree) {
        println!("{cycle}");
    }
    Ok(())
}
