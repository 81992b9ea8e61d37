//! Rule: a name has one path. A module is either public, or private with its public names exported
//! beside it.

use std::collections::HashSet;

use super::finding::Finding;
use super::scan::{before_tests, identifier};
use super::tree::Tree;

/// Checks all Rust files: also modules within crates are facades of theirs.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        let code = before_tests(&file.scanned.code);
        let public: HashSet<&str> = code
            .lines()
            .filter_map(|line| line.strip_prefix("pub mod ").filter(|_| line.ends_with(';')))
            .map(identifier)
            .collect();
        for (at, line) in code.lines().enumerate() {
            let Some(path) = line.strip_prefix("pub use ") else { continue };
            let module = identifier(path.strip_prefix("self::").unwrap_or(path));
            if public.contains(module) {
                let why = format!(
                    "names of `{module}` have two paths; leave out `pub` before the module, or this \
                     export"
                );
                findings.push(Finding::new(&file.path, at + 1, why));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::tree::one;
    use super::*;

    #[test]
    fn a_name_with_two_paths_is_found() {
        let lines = |code: &str| {
            let found = check(&one("crates/a/src/lib.rs", code));
            found.iter().map(|finding| finding.line).collect::<Vec<_>>()
        };
        assert_eq!(
            lines("pub mod a;\npub mod b;\n\npub use a::A;\npub use self::b::{\n    B,\n};"),
            [4, 5]
        );
        assert!(lines("mod a;\npub mod b;\n\npub use a::A;\nuse b::B;\n").is_empty());
        assert!(lines("pub mod a {\n}\npub use other::A;\n").is_empty());
    }
}
