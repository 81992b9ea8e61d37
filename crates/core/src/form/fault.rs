use std::fmt;
use std::ops::Range;

use thiserror::Error;

use super::FormProblem;

/// The error for a file that cannot be used; prints as `file:line:column: reason`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}:{line}:{column}: {problem}")]
pub struct FileError<P: fmt::Debug + fmt::Display> {
    /// The file's path as given.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
    /// What is wrong with the file.
    pub problem: Box<P>,
}

/// A problem and its byte range in the file.
pub struct Placed<P> {
    /// The byte range of the problem in the file.
    pub span: Range<usize>,
    /// What is wrong in this byte range.
    pub problem: Box<P>,
}

/// A problem that any configuration file can have, with its position.
pub type Fault = Placed<FormProblem>;

impl<P: fmt::Debug + fmt::Display> Placed<P> {
    /// Returns `problem` with its byte range `span` in the file.
    pub fn new(span: Range<usize>, problem: P) -> Self {
        Self { span, problem: Box::new(problem) }
    }

    /// Returns the error for the user, with the line and column of `span` in `text`.
    pub fn in_file(self, text: &str, file: &str) -> FileError<P> {
        let (line, column) = position(text, self.span.start);
        FileError { file: file.to_owned(), line, column, problem: self.problem }
    }
}

/// Returns the line and column, both from 1, of the byte at `offset`, or of the end of the text.
pub fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.char_indices().take_while(|(at, _)| *at < offset);
    before.fold(
        (1, 1),
        |(line, column), (_, c)| {
            if c == '\n' { (line + 1, 1) } else { (line, column + 1) }
        },
    )
}
