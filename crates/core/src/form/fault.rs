use std::fmt;
use std::ops::Range;

use thiserror::Error;

use super::FormProblem;

/// A file that can't be used: what is wrong and where, as `file:line:column: reason`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}:{line}:{column}: {problem}")]
pub struct FileError<P: fmt::Debug + fmt::Display> {
    /// The file, as it was named.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
    /// What is wrong.
    pub problem: Box<P>,
}

/// A problem and the bytes of the file it is about.
pub struct Placed<P> {
    /// The bytes of the file, from its beginning.
    pub span: Range<usize>,
    /// What is wrong.
    pub problem: Box<P>,
}

/// A problem that any file may have, in its place.
pub type Fault = Placed<FormProblem>;

impl<P: fmt::Debug + fmt::Display> Placed<P> {
    /// `problem` at the bytes `span`.
    pub fn new(span: Range<usize>, problem: P) -> Self {
        Self { span, problem: Box::new(problem) }
    }

    /// The error for the user, with the line and column that `span` has in `text`.
    pub fn in_file(self, text: &str, file: &str) -> FileError<P> {
        let (line, column) = position(text, self.span.start);
        FileError { file: file.to_owned(), line, column, problem: self.problem }
    }
}

/// Line and column of a byte, both counted from 1; the end of the text for bytes beyond it.
pub fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.char_indices().take_while(|(at, _)| *at < offset);
    before.fold(
        (1, 1),
        |(line, column), (_, c)| {
            if c == '\n' { (line + 1, 1) } else { (line, column + 1) }
        },
    )
}
