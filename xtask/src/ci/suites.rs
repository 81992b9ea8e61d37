//! Builds test suites for file systems from crates.io into `target/suites`, if they are missing.

use std::path::Path;

use anyhow::Result;

use crate::crates_io::Program;

/// The suites. After a change of a version, review what the tests expect of that suite.
const SUITES: [Program; 2] = [
    Program { name: "fsx", version: "0.3.2", features: &[] },
    Program { name: "pjdfstest", version: "0.2.2", features: &[] },
];

/// Installs the suites that are missing or have another version.
///
/// # Errors
/// If a suite is missing and cannot be built.
pub(crate) fn install(root: &Path) -> Result<()> {
    let folder = root.join("target/suites");
    SUITES.iter().try_for_each(|suite| suite.install(&folder).map(drop))
}
