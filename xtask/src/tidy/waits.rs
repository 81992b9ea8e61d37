//! Rule: threads start and wait by `sys` only. It returns an error where the standard library
//! panics, and in a simulated world other threads run meanwhile.

use super::finding::Finding;
use super::scan::{before_tests, line_of, words};
use super::tree::Tree;

/// Names of functions and types that start threads or wait, and what to use in place of them.
const WAITS: [(&str, &str); 8] = [
    ("thread::spawn", "sys::threads"),
    ("thread::Builder", "sys::threads"),
    ("scope.spawn", "sys::threads"),
    ("thread::sleep", "sys::threads"),
    ("mpsc", "sys::channel"),
    ("parking_lot", "sys::sync"),
    ("net::TcpStream", "sys::socket"),
    ("net::TcpListener", "sys::socket"),
];

/// Crates whose code never runs in a simulated world: `sys` is the place of all waits, `testkit` is
/// for tests, and `fabric` runs in a program of its own.
const APART: [&str; 3] = ["sys", "testkit", "fabric"];

/// Checks the product's sources; tests may start threads in any way.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust().filter(|file| is_product(&file.path)) {
        let code = before_tests(&file.scanned.code);
        for (name, instead) in WAITS {
            for at in words(code, name) {
                let why = format!("`{name}` does not work in a simulated world; use {instead}");
                findings.push(Finding::new(&file.path, line_of(&file.text, at), why));
            }
        }
    }
    findings
}

fn is_product(path: &str) -> bool {
    let inside = path.strip_prefix("crates/").and_then(|rest| rest.split_once('/'));
    let is_test = path.ends_with("tests.rs") || path.contains("/tests/");
    let is_source =
        |(krate, rest): (&str, &str)| !APART.contains(&krate) && rest.starts_with("src/");
    !is_test && inside.is_some_and(is_source)
}

#[cfg(test)]
mod tests {
    use super::super::tree::one;
    use super::*;

    #[test]
    fn every_way_to_start_or_wait_is_found() {
        for (start, _) in WAITS {
            let text = format!("// {start}\nfn f() {{ std::{start}(g); }}");
            let found = check(&one("crates/node/src/relay.rs", &text));
            assert_eq!(
                found.iter().map(|finding| finding.line).collect::<Vec<_>>(),
                [2],
                "{start}"
            );
        }
    }

    #[test]
    fn tests_and_the_way_itself_may() {
        let text = "fn f() {}\n#[cfg(test)]\nmod tests {\n    fn g() { thread::spawn(h); }\n}\n";
        assert!(check(&one("crates/node/src/relay.rs", text)).is_empty());
        let text = "fn f() { thread::spawn(g); }";
        for path in [
            "crates/sys/src/sync.rs",
            "crates/cli/tests/it.rs",
            "crates/testkit/src/site.rs",
            "xtask/src/a.rs",
        ] {
            assert!(check(&one(path, text)).is_empty(), "{path}");
        }
    }
}
