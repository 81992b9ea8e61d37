//! `unsafe` lives in `sys` and `fabric`, says why it is sound, and can't enter `core`.

use super::finding::Finding;
use super::scan::{line_of, words};
use super::tree::{SourceFile, Tree};

const HOMES: [&str; 2] = ["crates/sys/", "crates/fabric/"];
const CORE: &str = "crates/core/src/lib.rs";
const FORBID: &str = "#![forbid(unsafe_code)]";

/// Checks where `unsafe` stands, that a reason stands above it, and that `core` forbids it.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(core) = tree.get(CORE)
        && !core.scanned.code.contains(FORBID)
    {
        findings.push(Finding::new(CORE, 1, format!("`{FORBID}` is missing")));
    }
    for file in tree.rust() {
        for at in words(&file.scanned.code, "unsafe") {
            let line = line_of(&file.text, at);
            if !HOMES.iter().any(|home| file.path.starts_with(home)) {
                let why = "`unsafe` outside crates/sys and crates/fabric: wrap the call there";
                findings.push(Finding::new(&file.path, line, why));
            } else if !is_type(&file.scanned.code[at..]) && !reasoned(file, line) {
                let why = "`unsafe` without a `SAFETY:` comment right above";
                findings.push(Finding::new(&file.path, line, why));
            }
        }
    }
    findings
}

/// Whether this is the type of a function pointer, which does nothing.
fn is_type(code: &str) -> bool {
    let mut rest = code.trim_start_matches("unsafe").trim_start();
    if let Some(abi) = rest.strip_prefix("extern") {
        // The name of the calling convention is no code: between its quotes is nothing, or blanks.
        let after = abi.trim_start().strip_prefix('"').and_then(|name| name.split_once('"'));
        rest = after.map_or(abi, |(_, after)| after).trim_start();
    }
    rest.starts_with("fn(")
}

/// Whether a comment with the reason stands on the line or right above its statement: above it are
/// only comments, attributes and the statement's own earlier lines.
fn reasoned(file: &SourceFile, line: usize) -> bool {
    let comments: Vec<_> = file.scanned.comments.lines().collect();
    let code: Vec<_> = file.scanned.code.lines().collect();
    let says = |line: usize| {
        let comment = comments.get(line - 1).copied().unwrap_or_default();
        comment.contains("SAFETY:") || comment.contains("# Safety")
    };
    if says(line) {
        return true;
    }
    for above in (1..line).rev() {
        if says(above) {
            return true;
        }
        let text = code[above - 1].trim();
        let attribute = text.starts_with("#[");
        let comment = text.is_empty() && !comments[above - 1].trim().is_empty();
        let unfinished = !text.is_empty() && !text.ends_with([';', '{', '}', ',']);
        if !(attribute || comment || unfinished) {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::super::tree::one;
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let found = check(&one(path, text));
        found.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn unsafe_outside_sys_is_found() {
        let text = "// SAFETY: no.\nfn f() { unsafe { g() } } // unsafe";
        assert_eq!(lines("crates/node/src/relay.rs", text), [2]);
    }

    #[test]
    fn unsafe_without_a_reason_is_found() {
        let path = "crates/sys/src/uring.rs";
        let good = "// SAFETY: fds are open.\n#[allow(x)]\nlet n =\n    unsafe { g() };\n";
        assert_eq!(lines(path, good), [0_usize; 0]);
        let good = "struct S {\n    f: unsafe extern \"C\" fn(u32),\n}\n";
        assert_eq!(lines(path, good), [0_usize; 0]);
        assert_eq!(lines(path, "fn f() {}\nunsafe extern \"C\" fn g() {}\n"), [2]);
        let good = "/// Does.\n/// # Safety\n/// Careful.\nunsafe fn f(g: unsafe fn()) {}\n";
        assert_eq!(lines(path, good), [0_usize; 0]);
        let bad = "// SAFETY: fds are open.\nlet n = 1;\nlet m = unsafe { g() };\n";
        assert_eq!(lines(path, bad), [3]);
        assert_eq!(lines(path, "unsafe impl Send for X {}"), [1]);
    }

    #[test]
    fn core_forbids_it() {
        assert_eq!(lines(CORE, "//! Core. #![forbid(unsafe_code)]"), [1]);
        assert_eq!(lines(CORE, "//! Core.\n#![forbid(unsafe_code)]"), [0_usize; 0]);
    }
}
