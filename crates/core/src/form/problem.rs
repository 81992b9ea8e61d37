use thiserror::Error;

use crate::cluster::nodelist::{NodeListError, Origin};
use crate::nearest::hint;

/// What can be wrong with any file: its syntax, its keys, and the kinds of its values.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FormProblem {
    /// It isn't TOML.
    #[error("not valid TOML: {0}")]
    Syntax(String),
    /// It doesn't say which version of the format it is.
    #[error("no `version`: a {0} begins with `version = 1`")]
    NoVersion(&'static str),
    /// It is of a version that this program doesn't know.
    #[error("version {found} of the {file} isn't supported: this garland reads version 1")]
    Version {
        /// What the file is.
        file: &'static str,
        /// Its version.
        found: String,
    },
    /// A key that means nothing.
    #[error("unknown key `{key}` in {section}{}; allowed: {allowed}", hint(*near))]
    UnknownKey {
        /// The key.
        key: String,
        /// Where it stands.
        section: &'static str,
        /// The keys that are known there.
        allowed: String,
        /// The one that was perhaps meant.
        near: Option<&'static str>,
    },
    /// A key is missing.
    #[error("{section} needs `{key}`: write {example}")]
    Missing {
        /// Where it is missing.
        section: &'static str,
        /// The key.
        key: &'static str,
        /// What it may look like.
        example: &'static str,
    },
    /// A value of the wrong kind.
    #[error("`{key}` must be {expected}, not {found}")]
    Kind {
        /// The key.
        key: String,
        /// What is allowed.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// An empty text.
    #[error("`{0}` is empty: it needs a value")]
    Empty(String),
    /// A word that isn't among the words allowed.
    #[error("`{key}` can't be {found:?}{}; allowed: {allowed}", hint(*near))]
    Word {
        /// The key.
        key: &'static str,
        /// The word.
        found: String,
        /// The words allowed.
        allowed: String,
        /// The one that was perhaps meant.
        near: Option<&'static str>,
    },
    /// A text that doesn't mean what it should.
    #[error("`{key}`: {reason}")]
    Value {
        /// The key.
        key: String,
        /// What the text isn't, and what is allowed.
        reason: String,
    },
    /// A node list with a fault.
    #[error("`{key}`: {}", within(error))]
    NodeList {
        /// The key.
        key: String,
        /// The fault.
        error: NodeListError,
    },
}

/// A fault of the list at this place needs no place of its own; one in a group it refers to does.
fn within(error: &NodeListError) -> String {
    match error.place().origin() {
        Origin::Given => error.problem().to_string(),
        _ => error.to_string(),
    }
}
