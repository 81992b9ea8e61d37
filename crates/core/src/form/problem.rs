use thiserror::Error;

use crate::cluster::nodelist::{NodeListError, Origin};
use crate::nearest::hint;

/// The problems that any configuration file can have, in its syntax, keys and types of values.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FormProblem {
    /// The file is not TOML.
    #[error("not valid TOML: {0}")]
    Syntax(String),
    /// The version of the format is missing.
    #[error("`version` is missing: a {0} must begin with `version = 1`")]
    NoVersion(&'static str),
    /// The version of the format is not supported.
    #[error("version {found} of the {file} is not supported: this garland reads version 1")]
    Version {
        /// The kind of file.
        file: &'static str,
        /// The file's version.
        found: String,
    },
    /// A key is unknown.
    #[error("unknown key `{key}` in {section}{}; allowed: {allowed}", hint(*near))]
    UnknownKey {
        /// The key.
        key: String,
        /// The section.
        section: &'static str,
        /// The allowed keys, separated by commas.
        allowed: String,
        /// The most similar allowed key.
        near: Option<&'static str>,
    },
    /// A key is missing.
    #[error("{section} needs `{key}`: write {example}")]
    Missing {
        /// The section.
        section: &'static str,
        /// The key.
        key: &'static str,
        /// An example of the key.
        example: &'static str,
    },
    /// A value has the wrong type or is out of range.
    #[error("`{key}` must be {expected}, not {found}")]
    Kind {
        /// The key.
        key: String,
        /// The allowed values.
        expected: String,
        /// The value, or its type.
        found: String,
    },
    /// A string is empty.
    #[error("`{0}` is empty: it needs a value")]
    Empty(String),
    /// A value is not one of the allowed words.
    #[error("`{key}` cannot be {found:?}{}; allowed: {allowed}", hint(*near))]
    Word {
        /// The key.
        key: &'static str,
        /// The word.
        found: String,
        /// The allowed words, separated by commas.
        allowed: String,
        /// The most similar allowed word.
        near: Option<&'static str>,
    },
    /// A string cannot be parsed.
    #[error("`{key}`: {reason}")]
    Value {
        /// The key.
        key: String,
        /// The reason and the allowed format.
        reason: String,
    },
    /// A node list is invalid.
    #[error("`{key}`: {}", within(error))]
    NodeList {
        /// The key.
        key: String,
        /// The error.
        error: NodeListError,
    },
}

/// Formats the error without its position if it is in the list itself:
/// [`FileError`](super::FileError) has the position. An error in a group keeps its position.
fn within(error: &NodeListError) -> String {
    match error.place.origin {
        Origin::Given => error.problem.to_string(),
        _ => error.to_string(),
    }
}
