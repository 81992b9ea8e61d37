//! Copies over a real sshd to nodes with networks and files of their own.

mod bridged;
mod carried;
mod ends;
mod fabric;
mod late_start;
mod light;
mod listening;
mod logins;
mod reach;
mod spread;
mod syslog;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use garland_testkit::Sshd;

const GARLAND: &str = env!("CARGO_BIN_EXE_garland");
const NODE: &str = env!("CARGO_BIN_EXE_garland-node");

fn field_of(nodes: u8) -> Sshd {
    let folder = Path::new(GARLAND).parent().expect("a binary lies in a folder");
    let field = Sshd::start(nodes, folder).expect("an sshd on every node");
    let bytes: Vec<u8> =
        (0..3_000_001_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    fs::write(field.machines.seen(0, "/mnt/head/source"), bytes).expect("room for the source");
    field
}

fn garland(field: &Sshd, arguments: &[&str]) -> Command {
    garland_at(GARLAND, field, arguments)
}

/// Runs the program `program` on the head.
fn garland_at(program: &str, field: &Sshd, arguments: &[&str]) -> Command {
    let mut command = field.machines.command(0, "timeout");
    command
        .args(["--signal=KILL", "30", "env"])
        .args(["HOME=/mnt/head", "GARLAND_STATE=/mnt/head/state", "LC_ALL=C", program])
        .args(["--cluster", "/mnt/head/cluster.toml"])
        .args(arguments);
    command
}

fn run(field: &Sshd, arguments: &[&str]) -> Output {
    garland(field, arguments).output().expect("garland starts")
}

/// The bytes of `path` on a node, if it is there.
fn read(field: &Sshd, node: u8, path: &str) -> Option<Vec<u8>> {
    fs::read(field.machines.seen(node, path)).ok()
}

fn assert_whole(field: &Sshd, node: u8, path: &str) {
    let source = read(field, 0, "/mnt/head/source").expect("the source");
    assert!(read(field, node, path) == Some(source), "n{node}:{path} isn't the source");
}

/// The binaries that a node keeps, in its home folder.
fn cached(field: &Sshd, node: u8) -> Vec<PathBuf> {
    let base = field.machines.seen(node, "/mnt/home/.cache/garland");
    let folders = fs::read_dir(base).into_iter().flatten().flatten();
    folders
        .flat_map(|folder| fs::read_dir(folder.path()).into_iter().flatten().flatten())
        .map(|file| file.path())
        .collect()
}

/// From which node each node got the binary in the last run of `command`.
fn noted_ways(field: &Sshd, command: &str) -> Vec<String> {
    let script =
        format!("cat $(ls -td /mnt/head/state/*/runs/*-{command}-* | head -n 1)/binary.log");
    let output = field.machines.command(0, "sh").args(["-c", &script]).output().expect("it runs");
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

/// The SHA-256 digest of a file in hexadecimal.
fn digest(path: &Path) -> String {
    let sum = Command::new("sha256sum").arg(path).output().expect("it runs");
    String::from_utf8_lossy(&sum.stdout).chars().take(64).collect()
}

/// Agents and logins end with the command: within moments there is none.
fn assert_nothing_left(field: &Sshd) {
    const LOOK: std::time::Duration = std::time::Duration::from_millis(50);
    let mut left = Vec::new();
    for _ in 0..600 {
        left = field.machines.processes().expect("ps");
        left.retain(|line| line.contains("agent --controller") || line.starts_with("ssh "));
        if left.is_empty() {
            return;
        }
        std::thread::sleep(LOOK);
    }
    panic!("left behind: {left:#?}");
}

/// The binaries that a node has in part.
fn half_binaries(field: &Sshd, node: u8) -> Vec<PathBuf> {
    let mut files = cached(field, node);
    files.retain(|file| file.to_string_lossy().contains("/.new."));
    files
}

fn wait_for(condition: impl Fn() -> bool) {
    const LOOK: std::time::Duration = std::time::Duration::from_millis(10);
    let met = (0..12_000).any(|_| {
        let met = condition();
        if !met {
            std::thread::sleep(LOOK);
        }
        met
    });
    assert!(met, "it didn't happen within two minutes");
}
