//! Job lists: a command a line, a command for each of several inputs, or TOML.

mod arguments;
mod lines;
mod tables;

use thiserror::Error;

use super::Job;

pub use arguments::{Pattern, SEPARATOR, expand};
pub use lines::parse_lines;
pub use tables::parse_tables;

/// Why a list of jobs is none.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ListError {
    /// There is nothing to do.
    #[error("there are no jobs in it")]
    Empty,
    /// More than numbers can tell apart.
    #[error("more jobs than {max} are too many", max = u32::MAX)]
    TooMany,
    /// It isn't the TOML that it should be.
    #[error("{0}")]
    Toml(String),
    /// A job that can't be.
    #[error("job {0}: {1}")]
    Job(usize, String),
    /// Inputs without a command, or the other way round.
    #[error("{0}")]
    Arguments(String),
}

/// Numbers the jobs from 1, and sees to it that they can be.
fn numbered(jobs: Vec<Job>) -> Result<Vec<Job>, ListError> {
    if jobs.is_empty() {
        return Err(ListError::Empty);
    }
    u32::try_from(jobs.len()).map_err(|_| ListError::TooMany)?;
    Ok((1..).zip(jobs).map(|(number, job)| Job { number, ..job }).collect())
}
