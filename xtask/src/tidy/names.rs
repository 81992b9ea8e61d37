//! Rule: no file or module has a name like `utils`, which does not say what it contains.

use super::finding::Finding;
use super::scan::{identifier, line_of, words};
use super::tree::Tree;

const DRAWERS: [&str; 8] =
    ["utils", "util", "helpers", "helper", "common", "misc", "shared", "stuff"];

/// Checks Rust files, their directories and their modules.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        for part in file.path.trim_end_matches(".rs").split('/') {
            if DRAWERS.contains(&part) {
                findings.push(finding(&file.path, 1, part));
            }
        }
        let code = &file.scanned.code;
        for at in words(code, "mod") {
            let name = identifier(&code[at + "mod".len()..]);
            if DRAWERS.contains(&name) {
                findings.push(finding(&file.path, line_of(code, at), name));
            }
        }
    }
    findings
}

fn finding(path: &str, line: usize, name: &str) -> Finding {
    Finding::new(
        path,
        line,
        format!(
            "`{name}` does not say what it contains: rename it, or move the code to where it is used"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::super::tree::one;
    use super::*;

    #[test]
    fn drawers_are_found() {
        for name in DRAWERS {
            let path = format!("crates/a/src/{name}/list.rs");
            assert_eq!(check(&one(&path, "")).len(), 1);
            let path = format!("crates/a/src/{name}.rs");
            assert_eq!(check(&one(&path, "")).len(), 1);
            let found = check(&one("crates/a/src/lib.rs", &format!("\nmod {name} {{}}")));
            assert_eq!(found.len(), 1);
            assert_eq!(found[0].line, 2);
        }
        assert!(check(&one("crates/a/src/commons.rs", "mod utilisation;")).is_empty());
    }
}
