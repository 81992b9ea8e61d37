//! No text names a directory that exists on one person's machine only.

use super::finding::Finding;
use super::scan::line_of;
use super::tree::Tree;

/// Homes and work directories; in halves so that this file doesn't find itself.
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
                    let why = format!("`{private}`: a path of one machine; make it relative");
                    findings.push(Finding::new(&file.path, line, why));
                }
            }
        }
    }
    findings
}

/// Whether a slash after this character begins an absolute path rather than going on with one.
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
