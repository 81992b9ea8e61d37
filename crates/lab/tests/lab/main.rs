//! Labs for real: as root, and as an ordinary user.
//!
//! Everything happens in a PID and a mount namespace of this run, with a memory file system for
//! `/tmp`, so that nothing is left however the run ends. The program also plays the keeper and the
//! probe of its labs, and the programs that run on their nodes.

mod bonds;
mod cases;
mod parts;
mod shapes;
mod shares;

use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use garland_sys::{clock, namespace, process};

/// A user and group that own nothing.
const NOBODY: u32 = 65534;

/// The cases that rights may matter for; the others are played without root under `make soak` only.
const WITHOUT_ROOT: [&str; 14] = [
    "up_exec_down",
    "exit_and_signals",
    "rate_100mbit",
    "two_labs",
    "killed_keeper",
    "keeper_ends",
    "down_stays",
    "enter_the_head",
    "flips_one_byte",
    "cuts_silently",
    "shape_hub",
    "bond_by_packet",
    "bond_by_subflow",
    "cpu_share",
];

fn main() -> ExitCode {
    if let Some(exit) = garland_lab::hidden::main(std::env::args_os()) {
        return exit;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["part", ref rest @ ..] => parts::play(rest),
        ["inside", ref filters @ ..] => inside(filters),
        ["suite", folder, ref filters @ ..] => suite(Path::new(folder), filters),
        ref filters => outside(filters),
    }
}

/// Starts this program again where it can leave nothing behind.
fn outside(filters: &[&str]) -> ExitCode {
    assert_eq!(process::user_id(), 0, "run this test as root: it tests labs made with and without");
    let status = Command::new("unshare")
        .args(["--pid", "--fork", "--kill-child", "--mount", "--mount-proc", "--"])
        .arg(own_path())
        .arg("inside")
        .args(filters.iter().filter(|word| !word.starts_with('-')))
        .status()
        .expect("unshare of util-linux runs");
    exit(status.success())
}

fn inside(filters: &[&str]) -> ExitCode {
    let binary = std::fs::read(own_path()).expect("the program can be read");
    namespace::mount_memory(Path::new("/tmp")).expect("a memory file system can be mounted");
    println!("as root");
    let root = folder("/tmp/root");
    let as_root = suite(&root, filters);
    println!("without root");
    let soaks = std::env::var_os("GARLAND_SOAK").is_some();
    let user = folder("/tmp/user");
    // The build's folder may be closed to others.
    let program = user.join("lab-test");
    std::fs::write(&program, binary).expect("there is memory");
    for path in [&user, &program] {
        chown(path, Some(NOBODY), Some(NOBODY)).expect("root may");
    }
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(&program, mode).expect("root may");
    let as_user = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .args(["env", "PATH=/usr/bin:/bin"])
        .arg(&program)
        .arg("suite")
        .arg(&user)
        .args(if filters.is_empty() && !soaks { &WITHOUT_ROOT } else { filters })
        .status()
        .expect("setpriv of util-linux runs");
    exit(as_root == ExitCode::SUCCESS && as_user.success())
}

/// Runs all cases whose name has one of the filters in it, and says how each ended.
fn suite(folder: &Path, filters: &[&str]) -> ExitCode {
    let mut all_well = true;
    for (name, case) in cases::ALL {
        if !filters.is_empty() && !filters.iter().any(|filter| name.contains(filter)) {
            continue;
        }
        let state = garland_lab::StateDir(folder.join(name));
        let began = clock::now_ns();
        let well = std::panic::catch_unwind(|| case(&state)).is_ok();
        let took = Duration::from_nanos(clock::now_ns() - began);
        for lab in state.list().unwrap_or_default() {
            let _ = garland_lab::Lab::end(&state, &lab.spec.name);
        }
        println!("test {name} ... {} in {took:.1?}", if well { "ok" } else { "FAILED" });
        all_well &= well;
    }
    exit(all_well)
}

fn folder(path: &str) -> PathBuf {
    std::fs::create_dir(path).expect("the memory file system was empty");
    path.into()
}

fn own_path() -> PathBuf {
    std::env::current_exe().expect("/proc is mounted")
}

fn exit(well: bool) -> ExitCode {
    if well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
