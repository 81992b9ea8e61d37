//! Job lists: one command per line, one command for several inputs, or TOML.

mod arguments;
mod lines;
mod tables;

use thiserror::Error;

use super::{Job, Text};

pub use arguments::{Pattern, SEPARATOR, expand};
pub use lines::parse_lines;
pub use tables::parse_tables;

/// The error for an invalid list of jobs.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ListError {
    /// The list has no jobs.
    #[error("the list has no jobs")]
    Empty,
    /// The list has more jobs than there are job numbers.
    #[error("too many jobs: the maximum is {max}", max = u32::MAX)]
    TooMany,
    /// The list is not valid TOML, or has unknown keys.
    #[error("{0}")]
    Toml(String),
    /// The job with this number, from 1, is invalid, for this reason.
    #[error("job {0}: {1}")]
    Job(usize, String),
    /// The command or its outputs are invalid, for this reason.
    #[error("{0}")]
    Arguments(String),
}

/// Numbers the jobs from 1; refuses empty lists and lists that are too long.
fn numbered(jobs: Vec<Job>) -> Result<Vec<Job>, ListError> {
    if jobs.is_empty() {
        return Err(ListError::Empty);
    }
    u32::try_from(jobs.len()).map_err(|_| ListError::TooMany)?;
    Ok((1..).zip(jobs).map(|(number, job)| Job { number, ..job }).collect())
}

/// Joins the words of a command with spaces.
fn joined(words: &[Text]) -> Text {
    Text(words.iter().map(Text::bytes).collect::<Vec<_>>().join(&b' '))
}
