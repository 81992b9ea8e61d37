//! All of it without root.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use garland_testkit::{Running, Scratch, random_bytes};

/// The user and group `nobody`.
const NOBODY: u32 = 65534;

/// `garland ARGUMENTS` as nobody, in the scratch folder.
fn garland(scratch: &Scratch, binary: &Path, arguments: &[&str]) -> Running {
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(binary)
        .args(arguments)
        .current_dir(scratch.folder())
        .env("HOME", scratch.folder())
        .env("GARLAND_STATE", scratch.state());
    Running::start(command)
}

#[test]
fn a_lab_a_copy_pings_and_commands_need_no_root() {
    let scratch = Scratch::new("rootless");
    let _alone = garland_testkit::TestLab::alone();
    // The build's folder may be closed to others.
    let binary = scratch.path("garland");
    std::fs::copy(env!("CARGO_BIN_EXE_garland"), &binary).expect("the binary can be copied");
    let bytes = random_bytes(5_000_001, 3);
    std::fs::write(scratch.path("source.bin"), &bytes).expect("there is room");
    std::fs::set_permissions(scratch.path("source.bin"), PermissionsExt::from_mode(0o644))
        .expect("it is ours");
    chown(scratch.folder(), Some(NOBODY), Some(NOBODY)).expect("root may");
    let run = |arguments: &[&str]| garland(&scratch, &binary, arguments).end().with_code(0);
    let _ = run(&["lab", "up", "--nodes", "3", "--rate", "500mbit"]);
    let _ = run(&["up", "lab:n[1-2]"]);
    let _ = run(&["cp", "source.bin", "lab:n[1-3]:/d/"]);
    let source = scratch.path("source.bin");
    let _ = run(&["exec", "lab:n[1-3]", "--", "cmp", "d/source.bin", &source.to_string_lossy()]);
    let said = run(&["exec", "--fold", "lab:n[1-3]", "--", "hostname"]);
    assert!(said.out.contains("lab:n[1-3]"), "{}", said.out);
    for transport in ["tcp", "shm"] {
        let said = run(&["ping", "lab:n[1-2]", "8", "64", "-n", "200", "--transport", transport]);
        assert!(said.out.contains("64 bytes"), "{}", said.out);
    }
    let _ = run(&["down", "lab:n[1-3]"]);
    let _ = run(&["lab", "down"]);
    scratch.assert_nothing_left();
}
