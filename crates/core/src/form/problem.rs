use thiserror::Error;

use crate::cluster::nodelist::{NodeListError, Origin};
use crate::nearest::hint;

/// The problems that any configuration file can have, in its syntax, keys and types of values.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FormProblem {
    /// The file is not TOML, for this reason.
    #[error("not valid TOML: {0}")]
    Syntax(String),
    /// The version of the format is missing. The string is the kind of file.
    #[error("`version` is missing: a {0} must begin with `version = 1`")]
    NoVersion(&'static str),
    /// The version of the format is not supported.
    #[error("version {found} of the {file} is not supported: this garland reads version 1")]
    Version {
        /// The kind of file, such as `cluster file`.
        file: &'static str,
        /// The version in the file.
        found: String,
    },
    /// A key is unknown.
    #[error("unknown key `{key}` in {section}{}; allowed: {allowed}", hint(*near))]
    UnknownKey {
        /// The unknown key, with control characters escaped.
        key: String,
        /// The title of the section that has the key.
        section: &'static str,
        /// The allowed keys, separated by commas.
        allowed: String,
        /// The most similar allowed key; `None` if none is similar.
        near: Option<&'static str>,
    },
    /// A key is missing.
    #[error("{section} needs `{key}`: write {example}")]
    Missing {
        /// The title of the section that lacks the key.
        section: &'static str,
        /// The missing key.
        key: &'static str,
        /// An example of the key with its value.
        example: &'static str,
    },
    /// A value has the wrong type or is out of range.
    #[error("`{key}` must be {expected}, not {found}")]
    Kind {
        /// The key of the value.
        key: String,
        /// A description of the allowed values.
        expected: String,
        /// The value if it is a number, otherwise its type.
        found: String,
    },
    /// The string with this key is empty.
    #[error("`{0}` is empty: it needs a value")]
    Empty(String),
    /// A value is not one of the allowed words.
    #[error("`{key}` cannot be {found:?}{}; allowed: {allowed}", hint(*near))]
    Word {
        /// The key of the string.
        key: &'static str,
        /// The string, which is not an allowed word.
        found: String,
        /// The allowed words, separated by commas.
        allowed: String,
        /// The most similar allowed word; `None` if none is similar.
        near: Option<&'static str>,
    },
    /// A string cannot be parsed.
    #[error("`{key}`: {reason}")]
    Value {
        /// The key of the string.
        key: String,
        /// The reason and the allowed format.
        reason: String,
    },
    /// A node list is invalid.
    #[error("`{key}`: {}", within(error))]
    NodeList {
        /// The key of the node list.
        key: String,
        /// What is wrong with the list.
        error: NodeListError,
    },
}

/// Formats an error without its position if it is in the list itself:
/// [`FileError`](super::FileError) has that position. An error in a group keeps its own position.
fn within(error: &NodeListError) -> String {
    match error.place.origin {
        Origin::Given => error.problem.to_string(),
        _ => error.to_string(),
    }
}
