//! What a benchmark is to the program that runs it.

use std::path::Path;

use anyhow::Result;

use super::contest::Usage;

/// A benchmark.
pub(crate) trait Runnable {
    /// Returns its name and its options.
    fn usage(&self) -> Usage;

    /// Runs it.
    ///
    /// # Errors
    /// If an argument is wrong, a tool fails, or a goal is missed.
    fn run(&self, root: &Path, args: &[String]) -> Result<()>;
}
