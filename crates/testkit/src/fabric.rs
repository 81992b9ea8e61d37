//! The helper program that uses libfabric. Cargo does not build it together with `garland`.

use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

/// Builds the helper if its sources have changed, and returns its path.
///
/// # Panics
/// When the helper cannot be built.
#[must_use]
pub fn fabric_helper() -> &'static PathBuf {
    static HELPER: LazyLock<PathBuf> = LazyLock::new(|| {
        let cargo = std::env::var_os("CARGO").expect("tests are run by cargo");
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        let mut command = Command::new(cargo);
        // `make test` sets these for its own build; with them, cargo would build xtask again.
        for variable in ["RUSTC_WORKSPACE_WRAPPER", "CLIPPY_ARGS", "CARGO_INCREMENTAL"] {
            command.env_remove(variable);
        }
        let said =
            command.args(["xtask", "fabric"]).current_dir(root).output().expect("cargo is there");
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        PathBuf::from(String::from_utf8_lossy(&said.stdout).trim())
    });
    &HELPER
}
