//! The order of modules inside `core`: a module uses only what stands left of it.

use super::finding::Finding;
use super::scan::{identifier, line_of, words};
use super::tree::Tree;

/// A module of `core` and the others it may use besides itself:
/// `units <- cluster <- plan <- proto`, `units <- trace <- analysis` and `units <- farm <- proto, analysis`;
/// `tree` and `printable` stand apart.
const MAY_USE: [(&str, &[&str]); 9] = [
    ("units", &[]),
    ("cluster", &["units"]),
    ("plan", &["units", "cluster"]),
    ("farm", &["units"]),
    ("proto", &["units", "cluster", "plan", "farm"]),
    ("trace", &["units"]),
    ("analysis", &["units", "trace", "farm"]),
    ("tree", &[]),
    ("printable", &[]),
];

const SOURCE: &str = "crates/core/src/";

/// Checks every path from the crate's root in `core`, written `crate::` or by enough `super::`.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        let Some(inside) = file.path.strip_prefix(SOURCE) else {
            continue;
        };
        let inside = inside.trim_end_matches(".rs").trim_end_matches("/mod");
        let module: Vec<&str> = inside.split('/').collect();
        if module == ["lib"] {
            continue;
        }
        let top = module[0];
        let Some((_, allowed)) = MAY_USE.iter().find(|(name, _)| *name == top) else {
            findings.push(Finding::new(
                &file.path,
                1,
                format!("module `{top}` has no place in the order of core's modules"),
            ));
            continue;
        };
        for (at, used) in uses(&file.scanned.code, module.len()) {
            let known = MAY_USE.iter().any(|(name, _)| *name == used);
            if known && used != top && !allowed.contains(&used.as_str()) {
                findings.push(Finding::new(
                    &file.path,
                    line_of(&file.text, at),
                    format!("`{top}` may not use `{used}`: it stands right of it or apart"),
                ));
            }
        }
    }
    findings
}

/// Names used directly below the crate's root, in a file `depth` modules below that root.
fn uses(code: &str, depth: usize) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for at in words(code, "crate") {
        first_names(code, at + "crate".len(), &mut found);
    }
    for at in words(code, "super") {
        if code[..at].ends_with("::") {
            continue;
        }
        let (mut end, mut ups) = (at + "super".len(), 1);
        while code[end..].starts_with("::super") {
            end += "::super".len();
            ups += 1;
        }
        if ups >= depth {
            first_names(code, end, &mut found);
        }
    }
    found
}

/// The names after `::`, which may be one name or a group in braces.
fn first_names(code: &str, at: usize, found: &mut Vec<(usize, String)>) {
    let Some(rest) = code[at..].trim_start().strip_prefix("::") else {
        return;
    };
    let rest = rest.trim_start();
    let start = code.len() - rest.len();
    if !rest.starts_with('{') {
        found.push((start, identifier(rest).to_owned()));
        return;
    }
    let mut depth = 0;
    for (i, byte) in rest.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
        if depth == 1 && matches!(byte, b'{' | b',') {
            let name = identifier(&rest[i + 1..]).to_owned();
            let gap = rest[i + 1..].len() - rest[i + 1..].trim_start().len();
            found.push((start + i + 1 + gap, name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree::one;
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let found = check(&one(&format!("{SOURCE}{path}"), text));
        found.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn uses_to_the_right_are_found() {
        assert_eq!(lines("plan.rs", "use crate::units::X;\nuse crate::proto::Y;"), [2]);
        assert_eq!(
            lines("cluster/list.rs", "use crate::{\n units::{A, plan::B},\n plan,\n};"),
            [3]
        );
        assert_eq!(lines("units/mod.rs", "fn f() {\n crate::trace::g() }"), [2]);
        assert_eq!(lines("units/rate.rs", "use super::super::plan::X;"), [1]);
        assert_eq!(lines("analysis.rs", "use crate::plan::X;"), [1]);
    }

    #[test]
    fn uses_to_the_left_are_fine() {
        assert_eq!(lines("proto/head.rs", "use crate::{plan, units};"), [0_usize; 0]);
        assert_eq!(lines("proto/head.rs", "use super::plan::X; // crate::analysis"), [0_usize; 0]);
        assert_eq!(lines("analysis/fit.rs", "use crate::trace::X;"), [0_usize; 0]);
        assert_eq!(lines("lib.rs", "pub use crate::proto::X;"), [0_usize; 0]);
    }

    #[test]
    fn unknown_modules_are_found() {
        assert_eq!(lines("extra/mod.rs", ""), [1]);
    }
}
