//! The helper program that uses libfabric. Cargo does not build it together with `garland`.

use std::path::PathBuf;
use std::sync::LazyLock;

use crate::chore::chore;

/// Builds the helper if its sources have changed, and returns its path.
///
/// # Panics
/// When the helper cannot be built.
#[must_use]
pub fn fabric_helper() -> &'static PathBuf {
    static HELPER: LazyLock<PathBuf> = LazyLock::new(|| chore(&["fabric"]));
    &HELPER
}
