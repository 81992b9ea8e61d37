//! Tests of real labs, as root and as an ordinary user.
//!
//! The tests run in PID and mount namespaces of their own, with a tmpfs at `/tmp`, so that nothing
//! is left behind however the run ends. This program is also the keeper and the probe of its labs,
//! and the program that runs on their nodes.
//!
//! Cases are named `root::NAME` and `user::NAME`. The program accepts those arguments of Rust's own
//! test programs that cargo-nextest uses (`--list`, `--exact`), so that nextest can run each case
//! by itself.

mod bonds;
mod cases;
mod delays;
mod parts;
mod shapes;
mod shares;

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use garland_lab::{Lab, StateDir};
use garland_sys::{clock, namespace, process};

/// The ID of a user and a group that own nothing.
const NOBODY: u32 = 65534;

/// The directory of all files of the tests, on the tmpfs at `/tmp`.
const PLACE: &str = "/tmp";

/// Prefixes of the names of cases that may depend on privileges. The other cases run without root
/// only in `make soak`.
const WITHOUT_ROOT: [&str; 16] = [
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
    "delay_round_trip",
    "delay_killed_keeper",
];

fn main() -> ExitCode {
    if let Some(exit) = garland_lab::hidden::main(std::env::args_os()) {
        return exit;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["part", ref rest @ ..] => parts::play(rest),
        ["inside", ref names @ ..] => inside(names),
        ["suite", user, ref names @ ..] => suite(user, names),
        ref options => outside(options),
    }
}

/// Returns the names of all cases.
fn names() -> Vec<String> {
    let soaks = std::env::var_os("GARLAND_SOAK").is_some();
    let cases = || cases::ALL.iter().map(|(name, _)| *name);
    let without = |name: &&str| soaks || WITHOUT_ROOT.iter().any(|start| name.starts_with(start));
    let as_root = cases().map(|name| format!("root::{name}"));
    as_root.chain(cases().filter(without).map(|name| format!("user::{name}"))).collect()
}

/// Lists the cases, or runs this program again in namespaces of its own, where it can leave nothing
/// behind.
fn outside(options: &[&str]) -> ExitCode {
    let asked = |option: &str| options.contains(&option);
    // Options have no values, except `--format terse`.
    let is_filter = |word: &&str| !word.starts_with('-') && *word != "terse";
    let filters: Vec<_> = options.iter().copied().filter(is_filter).collect();
    let fits = |name: &String| match asked("--exact") {
        true => filters.contains(&name.as_str()),
        false => filters.is_empty() || filters.iter().any(|filter| name.contains(filter)),
    };
    let mut cases = names();
    // No case is ignored.
    cases.retain(|name| fits(name) && !asked("--ignored"));
    if asked("--list") {
        cases.iter().for_each(|name| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    assert_eq!(process::user_id(), 0, "run this test as root: it tests labs made with and without");
    // The shell reaps those whose parents have died, as process 1 has to: a lab has ended when all
    // its processes are reaped.
    let status = Command::new("unshare")
        .args(["--pid", "--fork", "--kill-child", "--mount", "--mount-proc", "--"])
        .args(["sh", "-c", "\"$@\"; exit $?", "sh"])
        .arg(own_path())
        .arg("inside")
        .args(cases)
        .status()
        .expect("unshare of util-linux runs");
    exit(status.success())
}

/// Runs the cases as root and as an ordinary user. This program may be below `/tmp` or in a
/// directory that the user may not read, so a copy of it is executed.
fn inside(names: &[&str]) -> ExitCode {
    let binary = std::fs::read(own_path()).expect("the program can be read");
    namespace::mount_memory(Path::new(PLACE)).expect("a memory file system can be mounted");
    let program = Path::new(PLACE).join("lab-test");
    std::fs::write(&program, binary).expect("there is memory");
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).expect("root may");
    let mut all_well = true;
    for (user, id) in [("root", 0), ("user", NOBODY)] {
        let folder = Path::new(PLACE).join(user);
        std::fs::create_dir(&folder).expect("the memory file system was empty");
        chown(&folder, Some(id), Some(id)).expect("root may");
        let start = format!("{user}::");
        let names: Vec<_> = names.iter().filter_map(|name| name.strip_prefix(&start)).collect();
        if names.is_empty() {
            continue;
        }
        let mut command = match id {
            0 => Command::new(&program),
            id => {
                let mut command = Command::new("setpriv");
                command.args([format!("--reuid={id}"), format!("--regid={id}")]);
                command.args(["--clear-groups", "env", "PATH=/usr/bin:/bin"]).arg(&program);
                command
            }
        };
        command.args(["suite", user]).args(names).current_dir(PLACE);
        all_well &= command.status().expect("setpriv of util-linux runs").success();
    }
    exit(all_well)
}

/// Runs the cases with these names as the current user, and prints the result of each.
fn suite(user: &str, names: &[&str]) -> ExitCode {
    let mut all_well = true;
    for (name, case) in cases::ALL.iter().filter(|(name, _)| names.contains(name)) {
        let state = StateDir(Path::new(PLACE).join(user).join(name));
        let began = clock::now_ns();
        let well = std::panic::catch_unwind(|| case(&state)).is_ok();
        let well = well & end_all(&state);
        let took = Duration::from_nanos(clock::now_ns() - began);
        println!("test {user}::{name} ... {} in {took:.1?}", if well { "ok" } else { "FAILED" });
        all_well &= well;
    }
    exit(all_well)
}

/// Ends the labs that a case has left. Returns whether all of them could be ended.
fn end_all(state: &StateDir) -> bool {
    let mut well = true;
    for lab in state.list().unwrap_or_default() {
        if let Err(error) = Lab::end(state, &lab.spec.name) {
            eprintln!("{error}");
            well = false;
        }
    }
    well
}

fn own_path() -> PathBuf {
    std::env::current_exe().expect("/proc is mounted")
}

fn exit(well: bool) -> ExitCode {
    if well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
