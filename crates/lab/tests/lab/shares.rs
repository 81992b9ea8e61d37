//! Tests of nodes with CPU limits.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::Duration;

use garland_lab::{Lab, LabError, Spec, StateDir};
use garland_sys::clock::now_ns;
use garland_sys::identity::{Signal, signal};
use garland_sys::process;

const LOOP: &str = "while :; do :; done";

fn spec() -> Spec {
    let mut spec = Spec::switch("shares", 2, None);
    spec.topology.nodes[1].cpu = Some(200);
    spec
}

pub fn cpu(state: &StateDir) {
    if process::user_id() != 0 {
        return refused(state);
    }
    let lab = Lab::up(state, spec()).unwrap();
    let shares = lab.keeper().shares.clone().unwrap();
    let [mut first, mut second] = [busy(&lab, "n1"), busy(&lab, "n1")];
    let mut free = busy(&lab, "n2");
    // On a machine that runs other programs as well, a limit is an upper bound.
    let mut measured: Vec<f64> = vec![used(&lab, "n1"), used(&lab, "n1")];
    while measured.len() < 40 && !measured.iter().any(|used| *used >= 0.18) {
        measured.push(used(&lab, "n1"));
    }
    let most = measured.iter().copied().fold(0.0, f64::max);
    assert!((0.18..=0.22).contains(&most), "two loops with 20 % together: {measured:.3?}");
    assert!((0..30).any(|_| used(&lab, "n2") > most), "n2 has no share");
    lab.down().unwrap();
    for child in [&mut first, &mut second, &mut free] {
        child.wait().unwrap();
    }
    assert!(!shares.exists());
    crashed(state);
}

/// The next command removes what a crash left behind.
fn crashed(state: &StateDir) {
    let lab = Lab::up(state, spec()).unwrap();
    let shares = lab.keeper().shares.clone().unwrap();
    let mut child = busy(&lab, "n1");
    signal(lab.keeper().pid, Signal::KILL).unwrap();
    child.wait().unwrap();
    assert!(shares.exists());
    let other = Lab::up(state, Spec { name: "other".to_owned(), ..spec() }).unwrap();
    assert!(!shares.exists(), "{} is left", shares.display());
    assert!(other.keeper().shares.as_ref().is_some_and(|shares| shares.exists()));
    other.down().unwrap();
}

/// An ordinary user gets an error that says what an administrator has to do.
fn refused(state: &StateDir) {
    let Err(error) = Lab::up(state, spec()) else { panic!("nobody may make groups") };
    assert!(matches!(error, LabError::Start { .. }), "{error}");
    let text = error.to_string();
    for part in ["CPU time of nodes (`cpu`)", "cgroup", "chown", "or omit `cpu`"] {
        assert!(text.contains(part), "{text}");
    }
    Lab::up(state, Spec::switch("shares", 2, None)).unwrap().down().unwrap();
}

fn busy(lab: &Lab, node: &str) -> Child {
    let mut command = lab.command(node, "sh").unwrap();
    command.args(["-c", LOOP]).stdin(Stdio::null()).spawn().unwrap()
}

/// Returns the share of one CPU that the processes of a node used during a second.
fn used(lab: &Lab, node: &str) -> f64 {
    let spent = || -> u64 {
        let files = lab.processes(node).unwrap().into_iter();
        let files = files.map(|pid| PathBuf::from(format!("/proc/{pid}/schedstat")));
        let texts = files.filter_map(|file| fs::read_to_string(file).ok());
        texts.filter_map(|text| text.split(' ').next()?.parse::<u64>().ok()).sum()
    };
    let before = spent();
    let started = now_ns();
    std::thread::sleep(Duration::from_secs(1));
    (spent() - before) as f64 / (now_ns() - started) as f64
}

/// A node that copies at the rate of another time gets that share of this machine, and its pipes
/// have the capacity of the time.
pub fn vintage(state: &StateDir) {
    let mut spec = Spec::switch("vintage", 2, None);
    let vintage = &mut spec.topology.nodes[1].vintage;
    vintage.pipe = Some(4096);
    vintage.start = Some("30ms".parse().unwrap());
    vintage.tcp =
        garland_topology::OldTcp { window: Some(32768), sack: Some(false), reno: Some(true) };
    if process::user_id() == 0 {
        vintage.copies = Some("40MB/s".parse().unwrap());
    }
    if process::user_id() == 0 {
        // Other programs use this machine as well: the share of a correct lab fits at least once.
        let share_of_wanted = |_| {
            let lab = Lab::up(state, spec.clone()).unwrap();
            let able = garland_sys::copying::bytes_per_second(Some(4096), 16384).unwrap();
            let share = f64::from(lab.spec().topology.nodes[1].cpu.unwrap()) / 1000.0;
            assert_eq!(lab.spec().topology.nodes[2].cpu, None);
            lab.down().unwrap();
            share / (40e6 / able)
        };
        let mut tries = (0..4).map(share_of_wanted);
        assert!(
            tries.any(|share| (0.6..1.6).contains(&share)),
            "not the share that copies 40 MB/s"
        );
    }
    let lab = Lab::up(state, spec).unwrap();
    let settings = "cd /proc/sys/net/ipv4; cat tcp_rmem tcp_window_scaling tcp_sack tcp_congestion_control tcp_recovery";
    let of = |node: &str| {
        let mut command = lab.command(node, "sh").unwrap();
        let said = command.args(["-c", settings]).output().unwrap().stdout;
        String::from_utf8(said).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(of("n1"), "4096 65536 65536 0 0 reno 0");
    assert!(of("n2").starts_with("4096 131072 33554432 1 1 "), "{}", of("n2"));
    let path = lab.root("n1").unwrap().join("pipe");
    let _pipe = lab.pipe("n1", &path).unwrap();
    let mut command = lab.command("n1", "sh").unwrap();
    // Dead by SIGTERM while it waits for space: the pipe holds one page.
    let script = "exec 3<>\"$1\"; head -c 4096 /dev/zero >&3 && ! timeout 0.3 sh -c 'head -c 1 /dev/zero >&3'";
    let full = command.args(["-c", script, "sh"]).arg(&path).status().unwrap();
    assert!(full.success());
    let before = now_ns();
    lab.await_start("n1").unwrap();
    assert!(now_ns() - before >= 30_000_000);
    lab.down().unwrap();
}
