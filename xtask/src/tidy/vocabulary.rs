//! Rule: no type has a name, and no comment or message has a phrase, that `words.toml` beside this
//! file lists.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::finding::Finding;
use super::scan::{identifier, line_of, words};
use super::tree::Tree;

/// The file with the words.
const WORDS: &str = "xtask/src/tidy/words.toml";

/// Keywords that define a type.
const DEFINING: [&str; 4] = ["struct", "enum", "trait", "type"];

/// Checks all Rust files.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(file) = tree.get(WORDS) else {
        return vec![Finding::new(
            WORDS,
            1,
            "the file with the banned words is missing".to_owned(),
        )];
    };
    let table = match file.text.parse::<Table>() {
        Ok(table) => table,
        Err(error) => {
            return vec![Finding::new(WORDS, 1, format!("not TOML: {}", error.message()))];
        }
    };
    let types = column(&table, "types");
    let phrases = column(&table, "phrases");
    let mut findings = Vec::new();
    for file in tree.rust() {
        let code = &file.scanned.code;
        for at in
            DEFINING.iter().flat_map(|keyword| words(code, keyword).map(|at| at + keyword.len()))
        {
            let name = identifier(&code[at..]);
            if let Some(instead) = types.get(name) {
                let why = format!("`{name}` is banned as the name of a type; write: {instead}");
                findings.push(Finding::new(&file.path, line_of(code, at), why));
            }
        }
        for (phrase, instead) in &phrases {
            for (at, _) in file.text.match_indices(phrase) {
                let why = format!("`{phrase}` is banned; write: {instead}");
                findings.push(Finding::new(&file.path, line_of(&file.text, at), why));
            }
        }
    }
    findings
}

/// Returns the entries of one table of the file: each banned word, and what to write instead.
fn column<'a>(table: &'a Table, name: &str) -> BTreeMap<&'a str, &'a str> {
    let rows = table.get(name).and_then(Value::as_table).into_iter().flatten();
    rows.filter_map(|(word, instead)| Some((word.as_str(), instead.as_str()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(code: &str) -> Vec<usize> {
        let words =
            "[types]\nHall = \"JobController\"\n[phrases]\n\"/// A hall\" = \"what it is\"\n";
        let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
        let tree = Tree::from_files([file(WORDS, words), file("crates/a/src/x.rs", code)]);
        check(&tree).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn types_and_phrases_that_are_not_used_are_found() {
        assert_eq!(lines("\npub struct Hall {}\n"), [2]);
        assert_eq!(lines("type Hall = u8;\n/// A hall of two.\n"), [1, 2]);
        assert_eq!(lines("// A Hall of nodes.\nstruct Hallway;\nfn hall() {}\n"), [0_usize; 0]);
    }
}
