//! Rule: only `sys::threads` starts threads, since it returns an error where the standard library panics.

use super::finding::Finding;
use super::scan::{before_tests, line_of, words};
use super::tree::Tree;

/// The only file that may start threads.
const HOME: &str = "crates/sys/src/threads.rs";

/// Names of functions and types that start a thread.
const STARTS: [&str; 3] = ["thread::spawn", "thread::Builder", "scope.spawn"];

/// Checks the product's sources; tests may start threads in any way.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust().filter(|file| is_product(&file.path)) {
        let code = before_tests(&file.scanned.code);
        for start in STARTS {
            for at in words(code, start) {
                let why = format!("`{start}` panics if no thread can be created; use sys::threads");
                findings.push(Finding::new(&file.path, line_of(&file.text, at), why));
            }
        }
    }
    findings
}

fn is_product(path: &str) -> bool {
    let inside = path.strip_prefix("crates/").and_then(|rest| rest.split_once('/'));
    let is_test = path.ends_with("tests.rs") || path.contains("/tests/");
    let is_source = |(krate, rest): (&str, &str)| krate != "testkit" && rest.starts_with("src/");
    path != HOME && !is_test && inside.is_some_and(is_source)
}

#[cfg(test)]
mod tests {
    use super::super::tree::one;
    use super::*;

    #[test]
    fn every_way_to_start_a_thread_is_found() {
        for start in STARTS {
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
        for path in [HOME, "crates/cli/tests/it.rs", "crates/testkit/src/site.rs", "xtask/src/a.rs"]
        {
            assert!(check(&one(path, text)).is_empty(), "{path}");
        }
    }
}
