//! Rule: a constant says what it limits: `MAX_NAMES`, `READY_TIMEOUT`, `POLL_INTERVAL`. A bare
//! `MOST` or `PATIENCE` does so only for who has just read its definition.

use super::finding::Finding;
use super::scan::{before_tests, identifier, line_of, words};
use super::tree::Tree;

/// Names that have no subject anywhere.
const NEVER: [&str; 4] = ["MOST", "PATIENCE", "LOOK", "OFF"];
/// Names that have no subject at the level of a module. Inside a function or a type, that is the
/// subject.
const NOT_IN_MODULES: [&str; 7] =
    ["POLL", "KEPT", "LONGEST", "LEAST", "SLOWEST", "ENOUGH", "SHOWN"];

/// Checks all Rust files outside of tests.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let is_test = |path: &str| path.contains("/tests/") || path.ends_with("tests.rs");
    let mut findings = Vec::new();
    for file in tree.rust().filter(|file| !is_test(&file.path)) {
        let code = before_tests(&file.scanned.code);
        for keyword in ["const", "static"] {
            for at in words(code, keyword) {
                let name = identifier(&code[at + keyword.len()..]);
                let line = code[..at].rsplit('\n').next().unwrap_or_default();
                let is_in_module = !line.starts_with(' ');
                if NEVER.contains(&name) || (is_in_module && NOT_IN_MODULES.contains(&name)) {
                    let why = format!(
                        "`{name}` does not say what it limits; write `MAX_NAMES`, \
                         `READY_TIMEOUT`, `POLL_INTERVAL`.."
                    );
                    findings.push(Finding::new(&file.path, line_of(&file.text, at), why));
                }
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::tree::one;
    use super::*;

    fn lines(path: &str, code: &str) -> Vec<usize> {
        check(&one(path, code)).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn constants_without_a_subject_are_found() {
        let path = "crates/a/src/lib.rs";
        for name in NEVER {
            assert_eq!(lines(path, &format!("\nconst {name}: u8 = 1;")), [2]);
            assert_eq!(lines(path, &format!("fn f() {{\n    static {name}: u8 = 1;\n}}")), [2]);
        }
        for name in NOT_IN_MODULES {
            assert_eq!(lines(path, &format!("\n\npub(crate) const {name}: u8 = 1;")), [3]);
            assert_eq!(lines(path, &format!("static {name}: u8 = 1;")), [1]);
        }
    }

    #[test]
    fn subjects_functions_and_tests_are_allowed() {
        let path = "crates/a/src/lib.rs";
        assert!(lines(path, "const MAX_NAMES: u8 = 1;\nconst POLL_INTERVAL: u8 = 1;").is_empty());
        assert!(lines(path, "impl A {\n    pub const POLL: u8 = 1;\n}").is_empty());
        assert!(lines(path, "// const MOST\nfn f() -> &'static str { MOST }").is_empty());
        let test = "#[cfg(test)]\nmod tests {\n    const MOST: u8 = 1;\n}";
        assert!(lines(path, test).is_empty());
        for path in ["crates/a/src/b/tests.rs", "crates/a/tests/it.rs"] {
            assert!(lines(path, "const MOST: u8 = 1;").is_empty(), "{path}");
        }
    }
}
