//! Rule: every Rust file is part of a crate. A file that no `mod` declares is never compiled, nor
//! are its tests.

use std::collections::BTreeSet;

use super::finding::Finding;
use super::scan::{closing, identifier, words};
use super::tree::Tree;

/// Checks the sources and tests of every crate and of the chores.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<String> =
        tree.rust().map(|file| file.path.clone()).filter(|path| is_root(path)).collect();
    while let Some(path) = open.pop() {
        let Some(file) = tree.get(&path) else {
            continue; // The compiler reports missing modules.
        };
        if reached.insert(path.clone()) {
            declared(&file.text, &file.scanned.code, &base(&path), &mut |paths| {
                open.extend(paths);
            });
        }
    }
    tree.rust()
        .filter(|file| belongs_to_a_crate(&file.path) && !reached.contains(&file.path))
        .map(|file| {
            Finding::new(
                &file.path,
                1,
                "this file is never compiled: no `mod` declares it; declare or delete it",
            )
        })
        .collect()
}

fn belongs_to_a_crate(path: &str) -> bool {
    inside(path).is_some_and(|inside| inside.starts_with("src/") || inside.starts_with("tests/"))
}

/// Returns the path relative to the crate's directory.
fn inside(path: &str) -> Option<&str> {
    match path.strip_prefix("crates/") {
        Some(rest) => rest.split_once('/').map(|(_, inside)| inside),
        None => path.strip_prefix("xtask/").or_else(|| path.strip_prefix("fuzz/")),
    }
}

/// Returns whether cargo compiles this file without a `mod`, as the root of a library, program or
/// test.
fn is_root(path: &str) -> bool {
    let Some(rest) = inside(path) else {
        return false;
    };
    let parts: Vec<_> = rest.split('/').collect();
    match parts[..] {
        ["src", "lib.rs" | "main.rs"] | ["src", "bin" | "fuzz_targets", _] => true,
        ["src", "bin", _, "main.rs"] | ["tests", _, "main.rs"] => true,
        ["tests" | "benches" | "examples", file] => file.ends_with(".rs"),
        _ => false,
    }
}

/// Returns the directory of the files of modules that the file at `path` declares.
fn base(path: &str) -> String {
    let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
    if matches!(name, "lib.rs" | "main.rs" | "mod.rs") || is_root(path) {
        dir.to_owned()
    } else {
        format!("{dir}/{}", name.trim_end_matches(".rs"))
    }
}

/// Calls `found` with the possible files of each `mod name;` in `code`, also inside inline modules.
fn declared(text: &str, code: &str, base: &str, found: &mut dyn FnMut(Vec<String>)) {
    let mut skip = 0;
    for at in words(code, "mod") {
        if at < skip {
            continue;
        }
        let name = identifier(&code[at + 3..]);
        let after = code[at + 3..].trim_start()[name.len()..].trim_start();
        if name.is_empty() {
            continue;
        }
        if after.starts_with(';') {
            found(match attribute(text, code, at) {
                Some(path) => vec![format!("{base}/{path}")],
                None => vec![format!("{base}/{name}.rs"), format!("{base}/{name}/mod.rs")],
            });
        } else if after.starts_with('{') {
            let open = code.len() - after.len();
            skip = closing(code, open);
            let text = &text[open + 1..skip];
            let code = &code[open + 1..skip];
            declared(text, code, &format!("{base}/{name}"), found);
        }
    }
}

/// Returns the path in a `#[path = "..."]` right above the `mod` at offset `at`.
fn attribute<'a>(text: &'a str, code: &str, at: usize) -> Option<&'a str> {
    let start = code[..at].rfind([';', '}', '{']).map_or(0, |i| i + 1);
    let path = start + code[start..at].find("#[path")?;
    text[path..at].split('"').nth(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dead(files: &[(&str, &str)]) -> Vec<String> {
        let tree = Tree::from_files(files.iter().map(|(p, t)| ((*p).into(), (*t).into())));
        check(&tree).into_iter().map(|found| found.path).collect()
    }

    #[test]
    fn files_without_a_mod_are_found() {
        let files = [
            ("crates/a/src/lib.rs", "mod b; // mod d;\nmod c { mod e; }"),
            ("crates/a/src/b/mod.rs", "mod f;"),
            ("crates/a/src/b/f.rs", "mod g;"),
            ("crates/a/src/b/f/g.rs", ""),
            ("crates/a/src/c/e.rs", ""),
            ("crates/a/src/d.rs", ""),
            ("crates/a/tests/it.rs", "mod kit;"),
            ("crates/a/tests/kit/mod.rs", ""),
            ("crates/a/tests/lost/mod.rs", ""),
        ];
        assert_eq!(dead(&files), ["crates/a/src/d.rs", "crates/a/tests/lost/mod.rs"]);
    }

    #[test]
    fn path_attributes_are_followed() {
        let main = "#[path = \"other.rs\"]\nmod b;";
        let files = [("crates/a/src/main.rs", main), ("crates/a/src/other.rs", "")];
        assert!(dead(&files).is_empty());
        let files = [("crates/a/src/main.rs", "mod b;"), ("crates/a/src/other.rs", "")];
        assert_eq!(dead(&files), ["crates/a/src/other.rs"]);
    }
}
