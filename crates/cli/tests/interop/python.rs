//! The Python client, as `pip install ./python` brings it (`cargo xtask test` does), and its types.

use std::path::{Path, PathBuf};
use std::process::Command;

use garland_testkit::Scratch;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs `python3` with the client installed.
#[track_caller]
fn python(words: &[&str], scratch: &Scratch) {
    let root = repository();
    let output = Command::new("python3")
        .args(words)
        .current_dir(root.join("python"))
        .env("PYTHONPATH", root.join("target/python-client"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("MYPYPATH", "src")
        .env("MYPY_CACHE_DIR", scratch.path("mypy"))
        .env("TMPDIR", scratch.folder())
        .env("GARLAND", env!("CARGO_BIN_EXE_garland"))
        .output()
        .expect("python3 is there");
    let said = String::from_utf8_lossy(&output.stderr);
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}: {out}{said}", words.join(" "));
}

#[test]
fn it_does_with_the_program_what_it_says() {
    let scratch = Scratch::new("python");
    python(&["-m", "unittest", "discover", "-q", "-s", "tests"], &scratch);
    scratch.assert_nothing_left();
}

#[test]
fn its_types_are_strict() {
    let scratch = Scratch::new("python-types");
    python(&["-m", "mypy", "--strict", "src", "tests"], &scratch);
}
