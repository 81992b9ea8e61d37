//! The project's own chores.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

/// Runs `cargo xtask WORDS`, and returns the path that it prints first.
///
/// # Panics
/// When the chore fails.
#[must_use]
pub fn chore<W: AsRef<OsStr>>(words: &[W]) -> PathBuf {
    let cargo = std::env::var_os("CARGO").expect("tests are run by cargo");
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let mut command = Command::new(cargo);
    // `make test` sets these for its own build; with them, cargo would build xtask again.
    for variable in ["RUSTC_WORKSPACE_WRAPPER", "CLIPPY_ARGS", "CARGO_INCREMENTAL"] {
        command.env_remove(variable);
    }
    let said = command.arg("xtask").args(words).current_dir(root).output().expect("cargo is there");
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let printed = String::from_utf8_lossy(&said.stdout);
    PathBuf::from(printed.lines().next().expect("it prints a path"))
}
