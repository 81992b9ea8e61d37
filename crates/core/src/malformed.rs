//! The error for text that cannot be parsed as the value that it should represent.

use std::borrow::Cow;

use thiserror::Error;

/// The error for text that does not have the expected form. The message says which form to write.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{text:?} is not {expected}")]
pub struct Malformed {
    text: String,
    expected: Cow<'static, str>,
}

impl Malformed {
    /// Returns the error for `text`. `expected` names the value and its form, such as `a network:
    /// write one such as 10.88.0.0/16`.
    pub fn new(text: &str, expected: impl Into<Cow<'static, str>>) -> Self {
        Self { text: text.to_owned(), expected: expected.into() }
    }
}
