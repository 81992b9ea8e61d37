//! The error of a text that has not the form of the value that it stands for.

use std::borrow::Cow;

use thiserror::Error;

/// A text that is not a value of the expected form; says how to write one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{text:?} is not {expected}")]
pub struct Malformed {
    text: String,
    expected: Cow<'static, str>,
}

impl Malformed {
    /// Returns the error for `text`, which is not `expected`, such as `a network: write one such as
    /// 10.88.0.0/16`.
    pub fn new(text: &str, expected: impl Into<Cow<'static, str>>) -> Self {
        Self { text: text.to_owned(), expected: expected.into() }
    }
}
