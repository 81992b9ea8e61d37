//! The trend of the lines of code: of each crate now, and how many came in the last week. It limits
//! nothing. Comments, empty lines, tests and this package are not counted.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use super::tree::Tree;

/// What the lines of today are compared with, as `git rev-list --before` takes it.
const PAST: &str = "7 days ago";

/// A change of at least this many lines in a crate is printed.
const MIN_PRINTED_CHANGE: usize = 100;

/// The lines of code of each crate, by its name.
type Counts = BTreeMap<String, usize>;

/// Returns one line about the lines of code in `tree`, and what changed in a week if `root` has its
/// history.
pub(crate) fn trend(root: &Path, tree: &Tree) -> String {
    let now = counts(tree);
    let total: usize = now.values().sum();
    let Some(past) = past_counts(root) else {
        return format!("{total} lines of code in the crates");
    };
    let before: usize = past.values().sum();
    let names = now.keys().chain(past.keys().filter(|name| !now.contains_key(*name)));
    let changes = names.filter_map(|name| {
        let here = now.get(name).copied().unwrap_or(0);
        let there = past.get(name).copied().unwrap_or(0);
        let is_worth_a_word = here.abs_diff(there) >= MIN_PRINTED_CHANGE;
        is_worth_a_word.then(|| format!("{name} {}", difference(here, there)))
    });
    let changes = changes.collect::<Vec<_>>().join(", ");
    let all = difference(total, before);
    format!("{total} lines of code in the crates; {all} in a week: {changes}")
}

/// Returns how many lines more than `before` there are `now`, with its sign.
fn difference(now: usize, before: usize) -> String {
    let sign = if now < before { '-' } else { '+' };
    format!("{sign}{}", now.abs_diff(before))
}

/// Counts the lines of code of each crate.
fn counts(tree: &Tree) -> Counts {
    let mut counts = Counts::new();
    for file in tree.rust() {
        let Some(name) = crate_of(&file.path) else { continue };
        let is_code = |line: &&str| !line.is_empty() && !line.starts_with("//");
        *counts.entry(name.to_owned()).or_default() +=
            file.text.lines().map(str::trim).filter(is_code).count();
    }
    counts
}

/// Returns what [`counts`] was at [`PAST`]; `None` where git or the history is missing.
fn past_counts(root: &Path) -> Option<Counts> {
    let before = format!("--before={PAST}");
    let commit = git(root, &["rev-list", "-1", &before, "HEAD"])?;
    let commit = commit.trim();
    if commit.is_empty() {
        return None;
    }
    // Lines that are neither empty nor begin with `//`.
    let code = "^[[:space:]]*([^/[:space:]]|/[^/])";
    let found = git(root, &["grep", "-cE", code, commit, "--", "*.rs"])?;
    let mut counts = Counts::new();
    for line in found.lines() {
        let (file, count) = line.strip_prefix(commit)?.strip_prefix(':')?.rsplit_once(':')?;
        if let Some(name) = crate_of(file) {
            *counts.entry(name.to_owned()).or_default() += count.parse::<usize>().ok()?;
        }
    }
    Some(counts)
}

/// Returns what a git command prints; `None` if it fails.
fn git(root: &Path, words: &[&str]) -> Option<String> {
    let output = Command::new("git").current_dir(root).args(words).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
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

    #[test]
    fn code_is_counted_without_comments_tests_and_tools() {
        let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
        let code = "//! Text.\n\nfn one() {}\nfn two() {}\n";
        let files = [
            file("crates/a/src/lib.rs", code),
            file("crates/a/src/tests.rs", code),
            file("crates/a/tests/x.rs", code),
            file("bench/src/main.rs", code),
            file("xtask/src/main.rs", code),
        ];
        let lines = counts(&Tree::from_files(files));
        assert_eq!(lines, Counts::from([("a".to_owned(), 2), ("bench".to_owned(), 2)]));
    }

    #[test]
    fn a_change_has_its_sign() {
        assert_eq!(difference(5, 3), "+2");
        assert_eq!(difference(3, 5), "-2");
    }
}
