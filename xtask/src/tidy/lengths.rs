//! Files and functions stay short enough to be read at once.

use super::finding::Finding;
use super::scan::{closing, identifier, line_of, words};
use super::tree::{SourceFile, Tree};

/// No file is longer, in lines.
const FILE: usize = 800;
/// No function is longer, in lines from `fn` to its closing brace.
const FUNCTION: usize = 70;
/// The aim for the middle one of all files, in lines.
const MEDIAN_AIM: usize = 150;
/// The middle one of all files is never longer, in lines.
const MEDIAN: usize = 200;

/// Checks each file, each function and the median.
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
        check_functions(file, &mut findings);
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

fn check_functions(file: &SourceFile, findings: &mut Vec<Finding>) {
    let code = &file.scanned.code;
    for at in words(code, "fn") {
        let name = identifier(&code[at + 2..]);
        let Some(open) = body(&code[at..]) else {
            continue;
        };
        if name.is_empty() {
            continue; // The type of a function pointer.
        }
        let end = closing(code, at + open);
        let first = line_of(code, at);
        let lines = line_of(code, end - 1) - first + 1;
        if lines > FUNCTION {
            findings.push(Finding::new(
                &file.path,
                first,
                format!("`{name}` has {lines} lines; a function has at most {FUNCTION}"),
            ));
        }
    }
}

/// Where the body opens, unless the declaration ends without one.
fn body(code: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (i, byte) in code.bytes().enumerate() {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            b'{' if depth == 0 => return Some(i),
            b';' if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::tree::one;
    use super::*;

    fn function(lines: usize) -> String {
        format!(
            "trait T {{ fn short(&self, x: [u8; 4]); }}\nfn long() {{\n{}}}\n",
            "let _ = '}';\n".repeat(lines - 2)
        )
    }

    #[test]
    fn long_functions_are_found() {
        assert!(check(&one("crates/a/src/lib.rs", &function(70))).is_empty());
        let found = check(&one("crates/a/src/lib.rs", &function(71)));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, 2);
        assert!(found[0].why.contains("`long` has 71 lines"), "{}", found[0]);
    }

    #[test]
    fn long_files_and_medians_are_found() {
        let found = check(&one("crates/a/src/lib.rs", &"//\n".repeat(801)));
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(check(&one("crates/a/src/lib.rs", &"//\n".repeat(200))).is_empty());
        assert_eq!(check(&one("crates/a/src/lib.rs", &"//\n".repeat(201))).len(), 1);
        assert!(summary(&one("a.rs", "//\n")).contains("median 1 lines"));
    }
}
