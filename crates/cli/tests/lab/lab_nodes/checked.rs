//! The topologies of 1996 and 2004 pass their self-check, as root and as an ordinary user: the ones
//! that take least time in every test, all of them in `make soak`.

use std::os::unix::fs::chown;
use std::process::Command;

use garland_testkit::{Running, Scratch};

/// The user and group `nobody`.
const NOBODY: u32 = 65534;

/// Other programs use this machine as well: a lab that is what it stands for says so once at least.
const CHECKS: usize = 3;

/// The quick ones.
const QUICK: [&str; 2] = ["hub10", "bonded-dual-net"];
/// The others.
const SLOW: [&str; 8] = [
    "switch100",
    "p2p-star",
    "p2p-16",
    "p2p-joined",
    "routed-mesh",
    "routed-mesh-two-routes",
    "switched-mesh",
    "switched-mesh-two-routes",
];

/// Those of this run.
fn scenarios() -> impl Iterator<Item = &'static str> {
    let soak = std::env::var_os("GARLAND_SOAK").is_some();
    QUICK.into_iter().chain(SLOW.into_iter().filter(move |_| soak))
}

/// Builds and checks all, by a command that `start` makes of a program and its words.
fn all_hold(start: impl Fn(&str, &[&str]) -> Command) {
    let _alone = garland_testkit::TestLab::alone();
    let scratch = Scratch::new("checked");
    chown(scratch.folder(), Some(NOBODY), Some(NOBODY)).expect("root may");
    // The build's folder may be closed to others.
    let binary = scratch.path("garland");
    std::fs::copy(env!("CARGO_BIN_EXE_garland"), &binary).expect("the binary can be copied");
    for name in scenarios() {
        let check = || {
            let words = ["lab", "run", name, "--check"];
            let mut command = start(&binary.display().to_string(), &words);
            command.current_dir(scratch.folder());
            command.env("HOME", scratch.folder()).env("GARLAND_STATE", scratch.state());
            let said = Running::start(command).end();
            let holds = said.code == 0;
            assert!(holds || said.code == 4, "{name}: {}{}", said.out, said.err);
            assert_eq!(holds, !said.out.contains("off "), "{name}: {}", said.out);
            assert!(!holds || said.out.contains("as predicted"), "{name}: {}", said.out);
            println!("{name}: {}", said.out);
            holds
        };
        assert!((0..CHECKS).any(|_| check()), "{name} isn't what it stands for");
    }
    scratch.assert_nothing_left();
}

#[test]
fn every_scenario_holds_for_root() {
    all_hold(|program, words| {
        let mut command = Command::new(program);
        command.args(words);
        command
    });
}

#[test]
fn every_scenario_holds_for_an_ordinary_user() {
    all_hold(|program, words| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program).args(words);
        command
    });
}
