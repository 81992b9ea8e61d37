//! The last copy that ended with an error and thus has no result: `explain` must not show an older
//! one as if it were the last.

use std::time::SystemTime;

use garland_sys::private_file;
use garland_terminal::failure::{Failure, OrFailure};
use serde::{Deserialize, Serialize};

use crate::places::Places;
use crate::run::Run;

/// The maximum length of the file in bytes.
const MAX_LENGTH: u64 = 1 << 20;

/// A copy that ended with an error.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FailedCopy {
    /// The message of the error.
    pub error: String,
}

impl FailedCopy {
    /// Stores this as the last copy that failed.
    ///
    /// # Errors
    /// When it cannot be stored.
    pub fn keep(&self, places: &Places) -> Result<(), Failure> {
        let text = serde_json::to_vec(self).or_nothing("cannot encode why a copy failed")?;
        private_file::replace_unsynced(&places.failed_copy(), &text)
            .or_nothing("cannot store why a copy failed")
    }

    /// Returns the last copy that failed, if that was after the end of `run` or there is none;
    /// `None` also if the record cannot be read.
    pub fn after(places: &Places, run: Option<&Run>) -> Option<Self> {
        let path = places.failed_copy();
        let text = private_file::read(&path, MAX_LENGTH).ok()??;
        let when = |path| std::fs::metadata(path).and_then(|file| file.modified()).ok();
        let failed: SystemTime = when(path)?;
        let ended = run.and_then(|run| when(run.folder().join("result.json")));
        if ended.is_some_and(|ended| ended >= failed) {
            return None;
        }
        serde_json::from_slice(&text).ok()
    }
}
