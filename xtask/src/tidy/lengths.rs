//! Rules: files are short enough to read at once, and so are lines of comments. Clippy checks the
//! length of functions, rustfmt that of code.

use super::finding::Finding;
use super::tree::Tree;

/// The most lines of a file.
const FILE: usize = 800;
/// The aim for the median length of all files, in lines.
const MEDIAN_AIM: usize = 150;
/// Upper limit of the median length of all files, in lines.
const MEDIAN: usize = 200;

/// The most columns of a line of a comment.
const COMMENT: usize = 100;

/// Checks each file and the median.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        for line in long_comments(&file.text) {
            let text = format!("a comment has lines of at most {COMMENT} columns");
            findings.push(Finding::new(&file.path, line, text));
        }
        let lines = file.text.lines().count();
        if lines > FILE {
            findings.push(Finding::new(
                &file.path,
                FILE + 1,
                format!("{lines} lines, but at most {FILE} are allowed; split the file by topic"),
            ));
        }
    }
    let middle = median(tree);
    if middle > MEDIAN {
        findings.push(Finding::new(
            "crates",
            1,
            format!(
                "the median file has {middle} lines; the limit is {MEDIAN}, the aim {MEDIAN_AIM}"
            ),
        ));
    }
    findings
}

/// Returns the numbers of the lines of comments that are too long. Examples and tables may be
/// wider.
fn long_comments(text: &str) -> Vec<usize> {
    let mut is_example = false;
    let mut long = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let Some(comment) = line.trim_start().strip_prefix("//") else {
            is_example = false;
            continue;
        };
        let comment = comment.trim_start_matches(['/', '!']);
        if comment.trim_start().starts_with("```") {
            is_example = !is_example;
        }
        let is_wide = is_example || comment.starts_with(" |") || comment.starts_with("     ");
        if !is_wide && line.chars().count() > COMMENT {
            long.push(number);
        }
    }
    long
}

/// Returns one line about the lengths of all Rust files.
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

    #[test]
    fn long_lines_of_comments_are_found_but_for_examples_and_tables() {
        let long = "x".repeat(100);
        for (text, count) in [
            (format!("/// {long}\n    // {long}\n//! ok\nfn f() {{}} // {long}\n"), 2),
            (format!("/// ```\n/// {long}\n/// ```\n/// {long}\n"), 1),
            (format!("//! | {long} |\n//!     {long}\n"), 0),
            (format!("// {}\n", "ä".repeat(97)), 0),
        ] {
            assert_eq!(long_comments(&text).len(), count, "{text}");
        }
    }
}
