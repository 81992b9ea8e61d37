//! Only `sys::clock` reads a clock, so that everything else can be driven by a test's time.

use super::finding::Finding;
use super::scan::{line_of, words};
use super::tree::Tree;

/// The only files that may: the product's, and that of the chores (which is no part of it).
const CLOCKS: [&str; 2] = ["crates/sys/src/clock.rs", "xtask/src/clock.rs"];

/// Ways to read a clock, and ways to hide one behind another name.
const READS: [&str; 10] = [
    "Instant::now",
    "Instant as",
    "SystemTime::now",
    "SystemTime as",
    "UNIX_EPOCH.elapsed",
    "Timestamp::now",
    "Zoned::now",
    "clock_gettime",
    "gettimeofday",
    "libc::time",
];

/// Checks all Rust files, tests included.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        if CLOCKS.contains(&file.path.as_str()) {
            continue;
        }
        for read in READS {
            for at in words(&file.scanned.code, read) {
                findings.push(Finding::new(
                    &file.path,
                    line_of(&file.text, at),
                    format!("`{read}`: only sys::clock reads a clock; take the time from there"),
                ));
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
    fn every_way_to_read_a_clock_is_found() {
        for read in READS {
            let text = format!("// {read}\nfn f() {{ let t = std::x::{read}(); }}");
            let found = check(&one("crates/core/tests/it.rs", &text));
            assert_eq!(found.len(), 1, "{read}");
            assert_eq!(found[0].line, 2);
        }
    }

    #[test]
    fn the_clock_itself_may_read_it() {
        let text = "fn f() { Instant::now(); }";
        assert!(check(&one(CLOCKS[0], text)).is_empty());
        assert_eq!(check(&one("crates/node/src/clock.rs", text)).len(), 1);
    }
}
