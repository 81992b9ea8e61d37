//! Runs a copy in a lab of its own with faults from outside of the program, and asks where its time
//! went.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use garland_core::units::Rate;
use garland_lab::fault::{self, LinkDirection};
use garland_lab::slow;
use garland_sys::clock;
use garland_testkit::{Garland, HangingDisk, HangsIn, Process, Scratch, TestLab, random_file};
use serde_json::Value;

use crate::answer::Explanation;
use crate::case::{Case, RATE_MBIT, Shape};
use crate::fault::{Fault, Kind};

/// Sends datagrams to an address at so many Mbit/s, for a minute at most.
const TRAFFIC: &str = "import socket, sys, time\n\
    to, mbit = sys.argv[1], float(sys.argv[2])\n\
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
    began, sent = time.monotonic(), 0\n\
    while time.monotonic() - began < 60:\n\
    \x20   due = (time.monotonic() - began) * mbit * 1e6 / 8 / 1500\n\
    \x20   while sent < due:\n\
    \x20       s.sendto(bytes(1458), (to, 9)); sent += 1\n\
    \x20   time.sleep(0.002)\n";

/// The longest time that any copy takes here, in seconds.
const LIMIT_S: u64 = 200;

/// The fraction of a processor that a starved node gets.
const STARVED: &str = "0.01";

/// A copy that was observed.
pub struct Observed {
    pub explanation: Explanation,
    /// The fraction of its time in which the processors of this machine were idle.
    pub idle: f64,
    /// What the copy says of nodes that were slow or died.
    pub notes: String,
}

/// Runs copies, or finds them among those that were kept.
pub struct Observer {
    /// The program that copies and explains.
    pub program: PathBuf,
    /// The directory with the runs of earlier copies; each run is kept there.
    pub kept: Option<PathBuf>,
}

/// A process of this test that is ended with it.
struct Companion(Child);

impl Drop for Companion {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Observer {
    /// Runs the copy of a case with its faults, and explains it. `variant` is its name among the
    /// copies of the case.
    pub fn observe(&self, case: &Case, variant: &str) -> Observed {
        let kept = self
            .kept
            .as_ref()
            .map(|dir| dir.join(format!("{}-{}-{variant}", case.seed, case.number)));
        let scratch = Scratch::in_memory("truth");
        if let Some(dir) = kept.as_ref().filter(|dir| dir.join("result.json").exists()) {
            return observed(&Garland::new(&self.program, &scratch), dir);
        }
        let run = copy(case, Garland::new(&self.program, &scratch), &scratch);
        if let Some(dir) = kept {
            copy_tree(&run, &dir);
        }
        observed(&Garland::new(&self.program, &scratch), &run)
    }
}

/// Makes the copy of a case in a lab; returns the directory of its run.
fn copy<'a>(case: &Case, garland: Garland<'a>, scratch: &'a Scratch) -> PathBuf {
    let lab = TestLab::with_topology(garland, scratch, &topology(case));
    let name = |node: u32| format!("n{node}");
    for node in 1..=case.nodes {
        fs::create_dir_all(lab.root(&name(node)).join("d")).expect("a directory can be made");
    }
    let source = scratch.path("x");
    random_file(&source, case.length(), case.seed);
    if case.shape == Shape::Gather {
        for node in 1..=case.nodes {
            fs::copy(&source, lab.root(&name(node)).join("d/x")).expect("there is room");
        }
    }
    let mut disks = Vec::new();
    let mut companions = Vec::new();
    for fault in &case.faults {
        disks.extend(disk(case, fault, &lab));
        companions.extend(traffic(case, fault, &lab));
        shape(case, fault, &lab);
    }
    let idle = copied(case, &lab);
    let run = lab.garland.runs().into_iter().rfind(|run| run.join("plan.json").exists());
    let run = run.expect("the copy was kept");
    fs::write(run.join("idle"), idle.to_string()).expect("there is room");
    drop((companions, disks));
    lab.down();
    run
}

fn topology(case: &Case) -> String {
    // One node more, which other traffic comes from and goes to.
    let last = case.nodes + 1;
    let trunk = case.faults.iter().find(|fault| fault.kind == Kind::SlowTrunk);
    let mut text = match case.shape {
        Shape::Trunk => {
            let rate = trunk.map_or(4 * RATE_MBIT, |fault| fault.share * RATE_MBIT / 100);
            format!(
                "version = 1\n[topology]\nshape = \"leaf-spine\"\nnodes = \"n[0-{last}]\"\n\
                 leaves = 2\nspines = 1\nrate = \"{RATE_MBIT}mbit\"\nuplink = \"{rate}mbit\"\n"
            )
        }
        _ => format!(
            "version = 1\n[topology]\nshape = \"switch\"\nnodes = \"n[0-{last}]\"\n\
             rate = \"{RATE_MBIT}mbit\"\n"
        ),
    };
    for fault in case.faults.iter().filter(|fault| fault.kind == Kind::Starved) {
        text += &format!("[[topology.node]]\nnames = \"n{}\"\ncpu = {STARVED}\n", fault.node);
    }
    text
}

/// Mounts the disk of a fault.
fn disk(case: &Case, fault: &Fault, lab: &TestLab<'_>) -> Option<HangingDisk> {
    (fault.kind == Kind::SlowDisk).then(|| {
        let needed = case.needs_mbit(fault.node) as f64 * fault.share as f64 / 100.0;
        let a_mib = Duration::from_secs_f64(8.0 * 1.048_576 / needed);
        let dir = lab.root(&format!("n{}", fault.node)).join("d");
        HangingDisk::mount(&dir, HangsIn::Never { a_mib })
    })
}

/// Starts the other program of a fault.
fn traffic(case: &Case, fault: &Fault, lab: &TestLab<'_>) -> Option<Companion> {
    let own = fault.node;
    let other = case.nodes + 1;
    let (from, to) = match fault.kind {
        Kind::CompeteIn => (other, own),
        Kind::CompeteOut => (own, other),
        _ => return None,
    };
    let left = case.needs_mbit(own) * fault.share / 100;
    let mbit = RATE_MBIT.saturating_sub(left).to_string();
    let mut command = lab.lab.command(&format!("n{from}"), "python3").expect("it is a node");
    let address = format!("10.88.0.{}", 10 + to);
    command.args(["-c", TRAFFIC, &address, &mbit]).stdin(Stdio::null());
    Some(Companion(command.spawn().expect("python3 is installed")))
}

/// Slows the wire of a fault, or has it lose frames.
fn shape(case: &Case, fault: &Fault, lab: &TestLab<'_>) {
    let name = format!("n{}", fault.node);
    let rate = Rate::from_bits_per_second(case.needs_mbit(fault.node) * fault.share * 10_000);
    let direction = match fault.kind {
        Kind::SlowIn => LinkDirection::In,
        Kind::SlowOut => LinkDirection::Out,
        Kind::Loss(percent) => {
            let rule = format!("meta length > 1000 numgen random mod 100 < {percent} drop");
            let hook = "type filter hook ingress device \"eth0\" priority -10; policy accept;";
            let rules = format!("table netdev truth {{\nchain drops {{\n{hook}\n{rule}\n}}\n}}\n");
            let mut command: Command = lab.lab.command(&name, "nft").expect("it is a node");
            let status = command.arg(rules).stdin(Stdio::null()).status();
            assert!(status.expect("nft is installed").success(), "nft refuses on {name}");
            return;
        }
        _ => return,
    };
    slow::slow(&lab.lab, &name, direction, rate).expect("a wire can be slowed");
}

/// Runs the command while faults strike; returns the fraction of the time in which processors were
/// idle.
fn copied(case: &Case, lab: &TestLab<'_>) -> f64 {
    let before = processors();
    let mut running = lab.garland.start(&case.words());
    let head = running.process();
    let began = clock::now_ns();
    let ms = || (clock::now_ns() - began) / 1_000_000;
    let mut ahead: Vec<Fault> = case.faults.iter().filter(|it| !it.lasts()).copied().collect();
    let mut ends: Vec<(u64, u32)> = Vec::new();
    while running.is_running() {
        for fault in ahead.extract_if(.., |fault| fault.at_ms <= ms()) {
            halt(lab, fault.node, &head, true);
            if let Kind::Pause(long) = fault.kind {
                ends.push((fault.at_ms + long, fault.node));
            }
        }
        for (_, node) in ends.extract_if(.., |(end, _)| *end <= ms()) {
            halt(lab, node, &head, false);
        }
        std::thread::sleep(Duration::from_millis(2));
        assert!(ms() < LIMIT_S * 1000, "{case}: no end after {LIMIT_S} s");
    }
    let idle = idle_since(before);
    let output = running.end();
    // Some nodes fail if one of them dies.
    assert!([0, 1].contains(&output.code), "{case}: {} {}", output.code, output.err);
    idle
}

/// Returns the fraction of the time since `before` in which the processors of this machine were
/// idle.
pub fn idle_since(before: (u64, u64)) -> f64 {
    let after = processors();
    (after.0 - before.0) as f64 / (after.1 - before.1).max(1) as f64
}

/// Stops the processes of a node, or continues them.
fn halt(lab: &TestLab<'_>, node: u32, head: &Process, stops: bool) {
    let name = format!("n{node}");
    match (node, stops) {
        (0, true) => head.stop(),
        (0, false) => head.go_on(),
        (_, true) => drop(fault::stop(&lab.lab, &name).expect("processes can be stopped")),
        (_, false) => drop(fault::resume(&lab.lab, &name).expect("processes can continue")),
    }
}

/// Returns the time of all processors, in ticks: idle, and all of it.
pub fn processors() -> (u64, u64) {
    let text = fs::read_to_string("/proc/stat").expect("/proc is mounted");
    let line = text.lines().next().unwrap_or_default();
    let ticks: Vec<u64> =
        line.split_whitespace().skip(1).filter_map(|it| it.parse().ok()).collect();
    (ticks.iter().skip(3).take(2).sum(), ticks.iter().take(8).sum())
}

/// Explains a run.
fn observed(garland: &Garland<'_>, run: &Path) -> Observed {
    let told = garland.run(&["explain", "--json", &run.display().to_string()]);
    let explained: Value = serde_json::from_str(&told.out)
        .unwrap_or_else(|error| panic!("{}: {error}: {}{}", run.display(), told.out, told.err));
    let text = fs::read_to_string(run.join("result.json")).expect("the run has a result");
    let result: Value = serde_json::from_str(&text).expect("a result is JSON");
    let idle = fs::read_to_string(run.join("idle")).ok().and_then(|idle| idle.parse().ok());
    let nodes = result["nodes"].as_array().into_iter().flatten();
    let notes = nodes.filter_map(|node| {
        let name = node["name"].as_str()?.trim_start_matches("lab:");
        let slow = node["slow"].is_object().then_some("slow");
        let detached = (node["detached"] == true).then_some("detached");
        let verdict = node["verdict"].as_str().filter(|verdict| *verdict != "ok");
        Some(format!("{name} {}", slow.or(detached).or(verdict)?))
    });
    Observed {
        explanation: Explanation::from_json(&explained),
        idle: idle.unwrap_or(1.0),
        notes: notes.collect::<Vec<_>>().join(", "),
    }
}

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory can be made");
    for entry in fs::read_dir(from).expect("it is a directory").flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).expect("there is room");
        }
    }
}
