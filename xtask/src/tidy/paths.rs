//! Rule: no text contains a path that exists only on one person's machine.

use super::finding::Finding;
use super::scan::line_of;
use super::tree::Tree;

/// Home and work directories; written in halves so that this file passes the check.
const PRIVATE: [&str; 3] = [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/")];

/// Checks every text.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        for private in PRIVATE {
            for (at, _) in file.text.match_indices(private) {
                let before = file.text[..at].chars().next_back();
                if starts_a_path(before) {
                    let line = line_of(&file.text, at);
                    let why = format!(
                        "`{private}`: a path that exists on one machine only; write a relative path"
                    );
                    findings.push(Finding::new(&file.path, line, why));
                }
            }
        }
    }
    findings
}

/// Returns whether a slash after this character begins an absolute path; otherwise it continues a
/// path.
fn starts_a_path(before: Option<char>) -> bool {
    before.is_none_or(|c| c.is_whitespace() || "\"'`(<[=:,".contains(c))
}

#[cfg(test)]
mod tests {
    use super::super::tree::one;
    use super::*;

    #[test]
    fn private_paths_are_found() {
        for private in PRIVATE {
            for path in ["README.md", "crates/a/src/lib.rs", "scenarios/a.toml"] {
                let found = check(&one(path, &format!("\n`{private}someone/x`\n")));
                assert_eq!(found.len(), 1, "{private}");
                assert_eq!(found[0].line, 2);
            }
            let inner = format!("target{private}x {{dir}}{private}x");
            assert!(check(&one("README.md", &inner)).is_empty());
        }
    }
}
