//! Where functions are defined, and which ones they call, by their names.

use crate::tidy::scan::{Scanned, before_tests, closing, identifier, words};

/// The words that begin the definition of a function or a type.
const DEFINING: [&str; 4] = ["fn", "struct", "enum", "trait"];

/// A part of a file's code, without comments, literals and unit tests.
pub(crate) struct Code {
    text: String,
}

impl Code {
    /// Takes the code of a file.
    pub(crate) fn new(text: &str) -> Self {
        Self { text: Scanned::new(before_tests(text)).code }
    }

    /// Returns the definition of the function or type `name`, if it is here: of `owner`, or of no
    /// type.
    pub(crate) fn definition(&self, owner: Option<&str>, name: &str) -> Option<Self> {
        let Some(owner) = owner else { return definition_in(&self.text, name) };
        words(&self.text, "impl").find_map(|at| {
            let open = at + self.text[at..].find('{')?;
            let is_of_owner = words(&self.text[at..open], owner).next().is_some();
            let block = &self.text[open..closing(&self.text, open)];
            is_of_owner.then(|| definition_in(block, name)).flatten()
        })
    }

    /// Returns whether `word` is in this code.
    pub(crate) fn names(&self, word: &str) -> bool {
        words(&self.text, word).next().is_some()
    }

    /// Returns whether this code calls a function: by the name of its type, or as a method.
    pub(crate) fn calls(&self, owner: Option<&str>, name: &str) -> bool {
        words(&self.text, name).any(|at| {
            let before = self.text[..at].trim_end();
            match (owner, before.strip_suffix("::")) {
                (Some(owner), Some(path)) => {
                    path.ends_with(owner) || path.ends_with("Self") || path.ends_with('>')
                }
                (Some(_), None) => before.ends_with('.'),
                (None, _) => !before.ends_with('.') && !before.ends_with("fn"),
            }
        })
    }
}

/// Returns the definition of `name` in `code`, with its signature.
fn definition_in(code: &str, name: &str) -> Option<Code> {
    let at = DEFINING.iter().find_map(|word| {
        words(code, word).find(|at| identifier(&code[at + word.len()..]) == name)
    })?;
    let open = at + code[at..].find('{')?;
    Some(Code { text: code[at..closing(code, open)].to_owned() })
}
