//! Rule: imports stand in one order: the standard library, other crates, this crate, with a blank
//! line between these groups and none inside of one. rustfmt sorts only within a group.

use super::finding::Finding;
use super::scan::{identifier, words};
use super::tree::{SourceFile, Tree};

/// Where an import comes from, in the order in which the groups stand.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    Std,
    OtherCrate,
    Own,
}

/// One `use`, as far as its first name.
#[derive(Clone, Copy)]
struct Import {
    group: Group,
    is_public: bool,
}

/// Checks the imports of all Rust files, of tests and functions, too.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust().flat_map(check_file).collect()
}

fn check_file(file: &SourceFile) -> Vec<Finding> {
    let code = &file.scanned.code;
    let own = modules(code);
    let mut findings = Vec::new();
    let mut last: Option<Import> = None;
    // Whether a blank line follows the last import.
    let mut is_apart = false;
    let mut is_in_import = false;
    for (index, (line, text)) in code.lines().zip(file.text.lines()).enumerate() {
        if is_in_import {
            is_in_import = !line.contains(';');
        } else if let Some(import) = parse(line, &own) {
            if let Some(why) = last.and_then(|last| fault(last, import, is_apart)) {
                findings.push(Finding::new(&file.path, index + 1, why));
            }
            last = Some(import);
            is_apart = false;
            is_in_import = !line.contains(';');
        } else if text.trim().is_empty() {
            is_apart = true;
        } else if !line.trim().is_empty() && !line.trim_start().starts_with("#[") {
            last = None; // Another item ends the run of imports; comments and attributes do not.
        }
    }
    findings
}

/// Returns the modules that the file declares: their names can begin an import without `self::`.
fn modules(code: &str) -> Vec<&str> {
    words(code, "mod").map(|at| identifier(&code[at + "mod".len()..])).collect()
}

/// Returns the import that begins in this line.
fn parse(line: &str, modules: &[&str]) -> Option<Import> {
    let line = line.trim_start();
    let (visibility, path) = match line.strip_prefix("use ") {
        Some(path) => ("", path),
        None => line.split_once(" use ").filter(|(before, _)| before.starts_with("pub"))?,
    };
    let group = match identifier(path.trim_start_matches([':', '{'])) {
        "std" | "core" | "alloc" => Group::Std,
        "crate" | "super" | "self" => Group::Own,
        // A name in capitals is a type, which another import or the file itself has named.
        name if modules.contains(&name) || name.starts_with(char::is_uppercase) => Group::Own,
        _ => Group::OtherCrate,
    };
    Some(Import { group, is_public: !visibility.is_empty() })
}

/// Returns what is wrong with an import behind another one.
fn fault(last: Import, next: Import, is_apart: bool) -> Option<&'static str> {
    let is_same = last.group == next.group;
    if next.group < last.group {
        Some("imports stand in this order: the standard library, other crates, this crate")
    } else if !is_same && !is_apart {
        Some(
            "a blank line stands between imports of the standard library, other crates, this crate",
        )
    } else if is_same && is_apart && last.is_public == next.is_public {
        Some("imports of the standard library, other crates, this crate stand in one block each")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree::one;
    use super::*;

    fn lines(code: &str) -> Vec<usize> {
        let found = check(&one("crates/a/src/lib.rs", code));
        found.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn imports_in_order_are_allowed() {
        let code = "mod a;\n\nuse std::fs;\nuse std::io;\n\nuse b::B;\n#[cfg(test)]\nuse c::{\n    C,\n};\n\n\
                    pub use a::A;\nuse self::a::D;\nuse crate::e;\n\npub use super::f;\n";
        assert!(lines(code).is_empty(), "{:?}", lines(code));
    }

    #[test]
    fn other_crates_after_the_own_one_are_found() {
        assert_eq!(lines("use super::a;\nuse b::B;\n"), [2]);
        assert_eq!(lines("pub use crate::a;\n\n// b\nuse std::b;\n"), [4]);
        assert_eq!(lines("mod a;\nuse a::{\n    A,\n    B,\n};\n\nuse b::B;\n"), [7]);
        assert_eq!(lines("use b::B;\n\nuse std::a;\n\nuse c::C;\n"), [3]);
        assert_eq!(lines("mod tests {\n    use super::*;\n    use b::B;\n}\n"), [3]);
        assert_eq!(lines("fn f() {\n    use crate::A;\n    #[cfg(a)]\n    use b::B;\n}\n"), [4]);
    }

    #[test]
    fn groups_are_whole_and_apart() {
        assert_eq!(lines("use std::a;\nuse b::B;\n"), [2]);
        assert_eq!(lines("use b::B;\n\nuse c::C;\n"), [3]);
        assert_eq!(lines("use super::b;\n\nuse crate::c;\n"), [3]);
    }

    #[test]
    fn modules_and_types_of_the_file_are_its_own() {
        assert_eq!(lines("mod a;\nuse a::A;\nuse b::B;\n"), [3]);
        assert!(lines("use b::B;\n\nuse crate::C;\nuse B::{D, E};\n").is_empty());
    }

    #[test]
    fn other_items_separate_imports() {
        assert!(lines("use super::a;\n\nmod b;\n\nuse std::c;\n").is_empty());
        assert!(lines("use crate::a;\nfn f() {\n    use std::b;\n}\n").is_empty());
        assert!(lines("const A: &str = \"\nuse super::a;\nuse std::b;\n\";\n").is_empty());
    }
}
