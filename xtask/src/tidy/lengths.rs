//! Files stay short enough to be read at once; functions too, which clippy checks.

use super::finding::Finding;
use super::tree::Tree;

/// No file is longer, in lines.
const FILE: usize = 800;
/// The aim for the middle one of all files, in lines.
const MEDIAN_AIM: usize = 150;
/// The middle one of all files is never longer, in lines.
const MEDIAN: usize = 200;

/// Checks each file and the median.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        let lines = file.text.lines().count();
        if lines > FILE {
            findings.push(Finding::new(
                &file.path,
                FILE + 1,
                format!("{lines} lines; a file has at most {FILE}: split it by idea"),
            ));
        }
    }
    let median = median(tree);
    if median > MEDIAN {
        findings.push(Finding::new(
            "crates",
            1,
            format!("the median file has {median} lines; at most {MEDIAN}, better {MEDIAN_AIM}"),
        ));
    }
    findings
}

/// One line about the lengths in the whole tree.
pub(crate) fn summary(tree: &Tree) -> String {
    let longest = tree
        .rust()
        .map(|file| (file.text.lines().count(), file.path.as_str()))
        .max()
        .unwrap_or((0, "none"));
    format!(
        "{} Rust files, median {} lines (aim {MEDIAN_AIM}, limit {MEDIAN}), longest {}: {}",
        tree.rust().count(),
        median(tree),
        longest.0,
        longest.1
    )
}

fn median(tree: &Tree) -> usize {
    let mut lines: Vec<_> = tree.rust().map(|file| file.text.lines().count()).collect();
    lines.sort_unstable();
    lines.get(lines.len() / 2).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::tree::one;
    use super::*;

    #[test]
    fn long_files_and_medians_are_found() {
        let found = check(&one("crates/a/src/lib.rs", &"//\n".repeat(801)));
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(check(&one("crates/a/src/lib.rs", &"//\n".repeat(200))).is_empty());
        assert_eq!(check(&one("crates/a/src/lib.rs", &"//\n".repeat(201))).len(), 1);
        assert!(summary(&one("a.rs", "//\n")).contains("median 1 lines"));
    }
}
