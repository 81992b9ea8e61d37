//! Rule: no two files import each other, directly or through others, in one crate or across crates.
//!
//! A file has an edge to each file that defines a name which it uses; re-exports are followed.
//! Module declarations, re-exports and code for tests make no edges. Names are resolved by their
//! text, so calls of methods and the expansions of foreign macros are not seen.

mod circles;
mod modules;
mod resolve;

use std::collections::{BTreeMap, BTreeSet};

use super::finding::Finding;
use super::tree::Tree;
use modules::Modules;

/// Reports each import cycle.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    match edges(tree) {
        Ok(uses) => circles::of(&uses)
            .into_iter()
            .map(|files| {
                let first = files.first().cloned().unwrap_or_default();
                Finding::new(
                    &first,
                    1,
                    format!("these files import each other: {}", files.join(", ")),
                )
            })
            .collect(),
        Err(finding) => vec![finding],
    }
}

/// Returns for each file of the crates the files that define the names it uses.
///
/// # Errors
/// The first file that cannot be parsed as Rust, as a finding.
pub(crate) fn edges(tree: &Tree) -> Result<BTreeMap<String, BTreeSet<String>>, Finding> {
    let modules = Modules::read(tree)?;
    let mut edges: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (at, path) in modules.uses() {
        let from = modules.file(at);
        edges.entry(from.to_owned()).or_default();
        if let Some(to) = resolve::defining_file(&modules, at, path)
            && to != from
        {
            edges.entry(from.to_owned()).or_default().insert(to.to_owned());
        }
    }
    Ok(edges)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree_with(files: &[(&str, &str)]) -> Tree {
        Tree::from_files(files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())))
    }

    #[test]
    fn a_name_is_an_edge_to_the_file_that_defines_it() {
        let tree = tree_with(&[
            ("crates/core/src/lib.rs", "mod a; pub mod b; pub use a::A;"),
            ("crates/core/src/a.rs", "pub struct A; impl A { fn f() { crate::b::g() } }"),
            ("crates/core/src/b.rs", "pub fn g() {} fn h(x: super::A) { println!(\"{}\", x.0) }"),
            ("crates/cli/src/main.rs", "use garland_core::A; fn main() { garland_core::b::g() }"),
        ]);
        let uses = edges(&tree).unwrap();
        let to = |from: &str| uses[from].iter().map(String::as_str).collect::<Vec<_>>();
        assert_eq!(to("crates/core/src/a.rs"), ["crates/core/src/b.rs"]);
        assert_eq!(to("crates/core/src/b.rs"), ["crates/core/src/a.rs"]);
        assert_eq!(to("crates/cli/src/main.rs"), ["crates/core/src/a.rs", "crates/core/src/b.rs"]);
        let found = check(&tree);
        assert_eq!(found.len(), 1);
        assert!(found[0].why.contains("crates/core/src/a.rs, crates/core/src/b.rs"));
    }

    #[test]
    fn tests_and_declarations_make_no_circle() {
        let tree = tree_with(&[
            ("crates/core/src/lib.rs", "mod a; pub use a::A; pub struct B;"),
            (
                "crates/core/src/a.rs",
                "pub struct A(crate::B); #[cfg(test)] mod tests { use crate::*; fn t(a: A) {} }",
            ),
        ]);
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn globs_aliases_and_macros_are_looked_through() {
        let tree = tree_with(&[
            ("crates/core/src/lib.rs", "mod a; mod b; mod c;"),
            ("crates/core/src/a.rs", "use crate::b as other; fn f() { assert!(other::C == 1) }"),
            ("crates/core/src/b.rs", "pub use crate::c::*;"),
            ("crates/core/src/c.rs", "pub const C: u8 = 1; fn g() { crate::a::f() }"),
        ]);
        let found = check(&tree);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].why.ends_with("crates/core/src/a.rs, crates/core/src/c.rs"));
    }
}
