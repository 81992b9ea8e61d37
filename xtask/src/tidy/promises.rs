//! Rule: every test that the pages of promises and of security name exists, so that no promise
//! loses its test.

use super::finding::Finding;
use super::tree::Tree;

/// The pages whose names of tests are checked.
const PAGES: [&str; 2] = ["docs/promises.md", "docs/security.md"];

/// A word with so many underscores is the name of a test.
const UNDERSCORES: usize = 3;

/// Reports names of tests on these pages that no Rust file defines.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let pages = PAGES.iter().filter_map(|path| tree.get(path));
    let lost = pages.flat_map(|page| {
        page.text.lines().enumerate().flat_map(move |(at, line)| {
            let lost = named(line).filter(|name| !is_defined(tree, name));
            lost.map(move |name| {
                Finding::new(&page.path, at + 1, format!("there is no test `{name}`"))
            })
        })
    });
    lost.collect()
}

/// Returns the names of tests in a line: lower-case words between backticks.
fn named(line: &str) -> impl Iterator<Item = &str> {
    let quoted = line.split('`').skip(1).step_by(2);
    let is_word = |name: &&str| {
        name.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'_')
    };
    quoted.filter(is_word).filter(|name| name.matches('_').count() >= UNDERSCORES)
}

fn is_defined(tree: &Tree, name: &str) -> bool {
    let head = format!("fn {name}(");
    tree.rust().any(|file| file.text.contains(&head))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_without_its_test_is_found() {
        let page =
            "| whole | `a_test_that_is`, `worlds`, `words.toml` |\n| never | `a_test_that_was` |\n";
        let code = "#[test]\nfn a_test_that_is() {}\n";
        let tree = Tree::from_files([
            ("docs/promises.md".to_owned(), page.to_owned()),
            ("crates/x/tests/y.rs".to_owned(), code.to_owned()),
        ]);
        let found: Vec<String> = check(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["docs/promises.md:2: there is no test `a_test_that_was`"]);
    }
}
