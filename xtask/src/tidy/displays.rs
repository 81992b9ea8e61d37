//! Rule: `core::printable` shows paths. `Path::display` leaves line feeds as they are, and shows
//! all bytes that are no text alike.

use super::finding::Finding;
use super::scan::{before_tests, line_of};
use super::tree::Tree;

/// How a path is shown without care.
const DISPLAY: &str = ".display()";

/// Crates that cannot see `core`, and what only tests use.
const APART: [&str; 4] = ["crates/sys/", "crates/fabric/", "crates/testkit/", "xtask/"];

/// Files of tests whose names do not say so.
const TESTS: [&str; 1] = ["crates/fleet/src/launch/bootstrap/shells.rs"];

/// Checks the product's sources; tests choose the names of their files.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust().filter(|file| is_product(&file.path)) {
        for (at, _) in before_tests(&file.scanned.code).match_indices(DISPLAY) {
            let why = "`display` shows different paths alike; use `printable::path`, or \
                       `printable::word` in a command to be pasted";
            findings.push(Finding::new(&file.path, line_of(&file.text, at), why));
        }
    }
    findings
}

fn is_product(path: &str) -> bool {
    let is_test = path.ends_with("tests.rs") || path.contains("/tests/") || TESTS.contains(&path);
    let is_apart = APART.iter().any(|folder| path.starts_with(folder));
    path.starts_with("crates/") && !is_test && !is_apart
}

#[cfg(test)]
mod tests {
    use super::super::tree::one;
    use super::*;

    #[test]
    fn a_path_that_is_shown_without_care_is_found() {
        let text = "// a.display()\nfn f(a: &Path) {\n    g(a.display()) }\n#[cfg(test)]\nmod tests {\n    fn g() { a.display(); }\n}\n";
        let lines = |path| {
            let found = check(&one(path, text));
            found.iter().map(|finding| finding.line).collect::<Vec<_>>()
        };
        assert_eq!(lines("crates/node/src/relay.rs"), [3]);
        for path in ["crates/sys/src/mount.rs", "crates/cli/tests/it.rs", TESTS[0]] {
            assert!(lines(path).is_empty(), "{path}");
        }
    }
}
