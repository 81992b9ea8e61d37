//! The helper that goes by libfabric, which cargo doesn't build along.

use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

/// The helper, built anew if its sources have changed.
///
/// # Panics
/// When it can't be built.
#[must_use]
pub fn fabric_helper() -> &'static PathBuf {
    static HELPER: LazyLock<PathBuf> = LazyLock::new(|| {
        let cargo = std::env::var_os("CARGO").expect("tests are run by cargo");
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        let mut command = Command::new(cargo);
        let said =
            command.args(["xtask", "fabric"]).current_dir(root).output().expect("cargo is there");
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        PathBuf::from(String::from_utf8_lossy(&said.stdout).trim())
    });
    &HELPER
}
