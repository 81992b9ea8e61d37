//! The helper program that uses libfabric. Cargo does not build it together with `garland`.

use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

/// Returns the path of the helper. It is built if its sources have changed.
///
/// # Panics
/// When the helper cannot be built.
#[must_use]
pub fn fabric_helper() -> &'static PathBuf {
    static HELPER: LazyLock<PathBuf> = LazyLock::new(|| {
        let cargo = std::env::var_os("CARGO").expect("tests are run by cargo");
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        let mut command = Command::new(cargo);
        // What `make test` has set is for its own crates: xtask is there already without.
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
