//! Results of earlier runs, read back as the values that they were.

use std::fs;
use std::path::PathBuf;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::run::Run;
use garland_terminal::failure::{Failure, OrFailure};

/// The result object in a run's directory.
pub struct KeptResult {
    path: PathBuf,
    text: Vec<u8>,
    schema: String,
}

/// What every result object begins with.
#[derive(Deserialize)]
struct Kind {
    schema: String,
}

impl KeptResult {
    /// Reads the result object of `run`.
    ///
    /// # Errors
    /// When there is none, or it is no result object.
    pub fn of(run: &Run) -> Result<Self, Failure> {
        let path = run.folder().join("result.json");
        let text = fs::read(&path).or_nothing(format!("reading {}", path.display()))?;
        let kind: Kind = serde_json::from_slice(&text).map_err(|error| {
            Failure::usage(format!("{} is no result: {error}", path.display()))
                .hint("the command was ended while it was written, or another version wrote it")
        })?;
        Ok(Self { path, text, schema: kind.schema })
    }

    /// The kind of result and its version, such as `garland.cp/2`.
    pub fn schema(&self) -> &str {
        &self.schema
    }

    /// The object as a value.
    ///
    /// # Errors
    /// When it is no such value.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        serde_json::from_slice(&self.text).map_err(|error| {
            Failure::usage(format!("{} is no result: {error}", self.path.display()))
                .hint("the command was ended while it was written, or another version wrote it")
        })
    }
}
