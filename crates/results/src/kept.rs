//! Reads back the results of earlier runs.

use std::io;
use std::path::PathBuf;

use garland_core::printable;
use garland_state::run::{Run, read_file};
use garland_sys::error::reason;
use garland_terminal::failure::Failure;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

/// The reason why a result cannot be read back.
#[derive(Debug, Error)]
pub enum KeptError {
    /// The file cannot be read.
    #[error("cannot read {}: {reason}", printable::path(.0), reason = reason(.1))]
    Io(PathBuf, io::Error),
    /// The content of the file is not a valid result.
    #[error("{} is not a valid result: {}", printable::path(.0), .1)]
    Other(PathBuf, serde_json::Error),
}

impl From<KeptError> for Failure {
    fn from(error: KeptError) -> Self {
        match error {
            KeptError::Io(..) => Self::nothing(error),
            KeptError::Other(..) => Self::usage(error)
                .hint("the command was killed while it wrote the file, or another version of garland wrote it"),
        }
    }
}

/// The result object that is stored in a run's directory.
pub struct KeptResult {
    path: PathBuf,
    text: Vec<u8>,
    schema: String,
}

/// The schema of a result object, which is read before the other fields.
#[derive(Deserialize)]
struct Kind {
    schema: String,
}

impl KeptResult {
    /// Reads the result object of `run`.
    ///
    /// # Errors
    /// When the run has no result, or the file is not a result object.
    pub fn read(run: &Run) -> Result<Self, KeptError> {
        let path = run.folder().join("result.json");
        let text = read_file(&path).map_err(|error| KeptError::Io(path.clone(), error))?;
        match serde_json::from_slice::<Kind>(&text) {
            Ok(Kind { schema }) => Ok(Self { path, text, schema }),
            Err(error) => Err(KeptError::Other(path, error)),
        }
    }

    /// Returns the schema and its version, such as `garland.cp/2`.
    pub fn schema(&self) -> &str {
        &self.schema
    }

    /// Parses the object as a value of the type `T`.
    ///
    /// # Errors
    /// When the object lacks a field of `T`, or a field has another type than in `T`.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, KeptError> {
        serde_json::from_slice(&self.text)
            .map_err(|error| KeptError::Other(self.path.clone(), error))
    }
}
