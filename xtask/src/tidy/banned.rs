//! Rule: no unfinished code, and no skipped test.

use super::finding::Finding;
use super::scan::{line_of, words};
use super::tree::Tree;

/// Words that Rust code must not contain.
const CODE: [&str; 4] = ["todo!", "unimplemented!", "dbg!", "#[ignore"];
/// Words that no text may contain; written in halves so that this file passes the check.
const NOTES: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("X", "X", "X")];

/// Checks Rust code for macros and attributes, and every text for notes to oneself.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        for word in CODE {
            for (at, _) in file.scanned.code.match_indices(word) {
                let line = line_of(&file.text, at);
                let why = format!("`{word}`: finish this code, or remove it");
                findings.push(Finding::new(&file.path, line, why));
            }
        }
        for note in NOTES {
            for at in words(&file.text, note) {
                let line = line_of(&file.text, at);
                let why = format!("`{note}`: do what the note says, or open an issue");
                findings.push(Finding::new(&file.path, line, why));
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
    fn unfinished_code_is_found() {
        for word in CODE {
            let text = format!("// {word}\nfn f() {{\n    {word}] }}");
            let found = check(&one("crates/a/src/lib.rs", &text));
            assert_eq!(found.len(), 1, "{word}");
            assert_eq!(found[0].line, 3);
        }
    }

    #[test]
    fn notes_are_found_in_any_text() {
        for note in NOTES {
            for path in ["README.md", "crates/a/src/lib.rs"] {
                let text = format!("\n// {note}: later, in x{note}x\n");
                let found = check(&one(path, &text));
                assert_eq!(found.len(), 1, "{note}");
                assert_eq!(found[0].line, 2);
            }
        }
    }
}
