//! What the command line says goes by `ui::output`, which escapes what a terminal would obey.

use super::finding::Finding;
use super::scan::{before_tests, line_of, words};
use super::tree::Tree;

/// Ways to write past it.
const PAST: [&str; 4] = ["print!", "println!", "eprint!", "eprintln!"];

/// Checks the sources of the command line.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust().filter(|file| file.path.starts_with("crates/cli/src/")) {
        let code = before_tests(&file.scanned.code);
        for past in PAST {
            for at in words(code, past) {
                let why = format!("`{past}` shows what nodes say as it is: ui::output escapes it");
                findings.push(Finding::new(&file.path, line_of(&file.text, at), why));
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
    fn text_that_goes_past_it_is_found() {
        for past in PAST {
            let text = format!("// {past}\nfn f() {{ {past}(\"{{}}\", g()); }}");
            assert_eq!(check(&one("crates/cli/src/door.rs", &text)).len(), 1, "{past}");
            assert!(check(&one("xtask/src/main.rs", &text)).is_empty());
        }
    }
}
