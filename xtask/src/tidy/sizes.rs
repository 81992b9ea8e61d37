//! Rule: the number of lines grows only on purpose. `lines.toml` has the limit of each crate and of all
//! crates together. Comments, empty lines, tests and this package are not counted.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::finding::Finding;
use super::tree::Tree;

/// The file with the limits.
const LIMITS: &str = "lines.toml";

/// The key of the limit for crates that have none of their own.
const OTHERS: &str = "others";

/// The key of the limit for all crates together.
const TOTAL: &str = "total";

/// Counts the lines of every crate.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(Ok(limits)) = tree.get(LIMITS).map(|file| file.text.parse::<Table>()) else {
        return vec![Finding::new(
            LIMITS,
            1,
            "the file with the limits of lines is missing".to_owned(),
        )];
    };
    let counts = counts(tree);
    let total = counts.values().sum();
    let all = counts.into_iter().chain([(TOTAL, total)]);
    let above = all.filter_map(|(name, count)| {
        let limit = limits.get(name).or_else(|| limits.get(OTHERS)).and_then(Value::as_integer)?;
        let limit = usize::try_from(limit).unwrap_or(0);
        (count > limit).then(|| {
            let why = format!("{name} has {count} lines, the limit is {limit}; shorten it, or raise the limit on purpose");
            Finding::new(LIMITS, 1, why)
        })
    });
    above.collect()
}

/// Counts the lines of code of each crate.
fn counts(tree: &Tree) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for file in tree.rust() {
        let Some(name) = crate_of(&file.path) else { continue };
        let is_code = |line: &&str| !line.is_empty() && !line.starts_with("//");
        *counts.entry(name).or_default() +=
            file.text.lines().map(str::trim).filter(is_code).count();
    }
    counts
}

/// Returns the crate that a file belongs to; `None` for tests and tools.
fn crate_of(path: &str) -> Option<&str> {
    let is_test = path.contains("/tests/") || path.ends_with("tests.rs");
    let (name, rest) = match path.strip_prefix("crates/") {
        Some(below) => below.split_once('/')?,
        None => path.split_once('/').filter(|(name, _)| *name == "bench")?,
    };
    (rest.starts_with("src/") && !is_test).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(limits: &str) -> usize {
        let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
        let code = "//! Text.\n\nfn one() {}\nfn two() {}\n";
        let files = [
            file(LIMITS, limits),
            file("crates/a/src/lib.rs", code),
            file("crates/a/src/tests.rs", code),
            file("crates/a/tests/x.rs", code),
            file("bench/src/main.rs", code),
            file("xtask/src/main.rs", code),
        ];
        check(&Tree::of(files)).len()
    }

    #[test]
    fn more_lines_than_allowed_are_found() {
        assert_eq!(findings("a = 2\nothers = 2\ntotal = 4\n"), 0);
        assert_eq!(findings("a = 1\nothers = 2\ntotal = 4\n"), 1);
        assert_eq!(findings("a = 2\nothers = 1\ntotal = 3\n"), 2);
        assert_eq!(findings("nothing"), 1);
    }
}
