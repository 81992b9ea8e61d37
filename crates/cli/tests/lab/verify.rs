//! `garland net verify` in labs that are cabled as planned, and in others.

use std::os::unix::fs::chown;
use std::process::Command;

use garland_testkit::{Garland, RunOutput, Running, Scratch};
use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;

/// One lab at a time: rates are measured, and they share the processors.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock()
}

const STAR: &str = "shape = \"star\"\nnodes = 6\nrate = \"100mbit\"";

/// A lab of a topology, which ends with this.
struct Stage<'a> {
    garland: Garland<'a>,
    file: String,
    _alone: MutexGuard<'static, ()>,
}

impl<'a> Stage<'a> {
    fn new(scratch: &'a Scratch, topology: &str, faults: &[&str]) -> Self {
        let guard = alone();
        let garland = Garland::new(env!("CARGO_BIN_EXE_garland"), scratch);
        let file = write(scratch, topology);
        let faults = faults.iter().flat_map(|fault| ["--fault", fault]);
        let words: Vec<&str> = ["lab", "up", &file].into_iter().chain(faults).collect();
        let _ = garland.run(&words).with_code(0);
        Self { garland, file, _alone: guard }
    }

    /// What is found, in words; the command must end with 4 if anything is, else with 0.
    #[track_caller]
    fn findings(&self) -> Vec<String> {
        told(self.garland.run(&["net", "verify", &self.file, "--json"]))
    }
}

impl Drop for Stage<'_> {
    fn drop(&mut self) {
        let _ = self.garland.run(&["lab", "down"]);
    }
}

fn write(scratch: &Scratch, topology: &str) -> String {
    let path = scratch.path("topology.toml");
    std::fs::write(&path, format!("version = 1\n[topology]\n{topology}\n")).expect("there is room");
    path.display().to_string()
}

#[track_caller]
fn told(said: RunOutput) -> Vec<String> {
    assert!([0, 4].contains(&said.code), "{}{}", said.out, said.err);
    let result: Value = serde_json::from_str(&said.out).expect("a result object");
    assert_eq!(result["schema"], "garland.net-verify/2");
    let findings = result["findings"].as_array().expect("there is a list");
    assert_eq!(said.code == 4, !findings.is_empty(), "{}", said.out);
    let mut texts: Vec<String> =
        findings.iter().map(|finding| finding["text"].as_str().unwrap().to_owned()).collect();
    texts.sort();
    texts
}

/// The findings begin so, each one.
#[track_caller]
fn assert_begin(found: &[String], wanted: &[&str]) {
    let fit = found.iter().zip(wanted).all(|(found, wanted)| found.starts_with(wanted));
    assert!(fit && found.len() == wanted.len(), "found {found:#?}, wanted {wanted:#?}");
}

#[test]
fn what_is_cabled_as_planned_accuses_nobody() {
    let topologies = [
        "shape = \"star\"\nnodes = 3\nrate = \"100mbit\"\nbetween = \"isolated\"",
        "shape = \"star\"\nnodes = 3\nrate = \"100mbit\"\nbetween = \"forwarded\"",
        "shape = \"hub\"\nnodes = 2\nrate = \"10mbit\"",
        "shape = \"switch\"\nnodes = 4\nrate = \"100mbit\"",
        "shape = \"mesh\"\nnodes = 3\nrows = 2\ncolumns = 2\nrate = \"10mbit\"\nsegments = \"hub\"\n\
         joined = \"routed\"\nroutes = 2",
        "shape = \"bonded\"\nnodes = 2\nrate = \"100mbit\"\nsegments = \"switch\"\n\
         selector = \"packet\"",
        "shape = \"ring\"\nnodes = 4\nrate = \"100mbit\"",
    ];
    for (turn, topology) in topologies.into_iter().enumerate() {
        let scratch = Scratch::new("verify-healthy");
        let stage = Stage::new(&scratch, topology, &[]);
        assert_begin(&stage.findings(), &[]);
        if turn == 0 {
            let said = stage.garland.run(&["net", "verify", &stage.file]).with_code(0);
            assert!(said.out.ends_with("as planned\n"), "{topology}: {}", said.out);
        }
    }
}

#[test]
fn every_fault_of_a_star_is_named_by_both_ends() {
    let scratch = Scratch::new("verify-star");
    let faults = [
        "swap:n2/eth0,n3/eth0",
        "missing:n4/eth0",
        "slow:n5/eth0=10mbit",
        "mtu:n6/eth0=1400",
        "extra:n1/eth7,n2/eth7",
    ];
    let stage = Stage::new(&scratch, STAR, &faults);
    assert_begin(
        &stage.findings(),
        &[
            "MTU: n6/eth0 (to n0/eth5) has 1400, planned 1500; 1400 bytes pass",
            "extra: n[1-2]/eth7 reach each other, but are not in the plan",
            "missing: n4/eth0 does not reach n0/eth3",
            "slow: n0/eth4 - n5/eth0: 9.",
            "swapped: n2/eth0 and n3/eth0 have each other's cable",
        ],
    );
    let said = stage.garland.run(&["net", "verify", &stage.file]).with_code(4);
    assert!(said.out.contains("hint: exchange the cables of these NICs"), "{}", said.out);
    // Another topology isn't that lab's.
    let other = write(&scratch, &STAR.replace('6', "5"));
    let named = ["net", "verify", &other, "--lab", "other"];
    let said = stage.garland.run(&named).with_code(3);
    assert!(said.err.contains("lab other is not running"), "{}", said.err);
}

#[test]
fn exchanged_cables_of_one_switch_are_no_fault_and_others_are() {
    let scratch = Scratch::new("verify-switch");
    let switch = "shape = \"switch\"\nnodes = 6\nrate = \"100mbit\"";
    let faults =
        ["swap:n2/eth0,n3/eth0", "missing:n4/eth0", "slow:n5/eth0=10mbit", "mtu:n1/eth0=1400"];
    let stage = Stage::new(&scratch, switch, &faults);
    assert_begin(
        &stage.findings(),
        &[
            "MTU: n1/eth0 (to n[0,2-6]/eth0) has 1400, planned 1500; 1400 bytes pass",
            "missing: n4/eth0 does not reach n[0-3,5-6]/eth0",
            "slow: n5/eth0 - n[0-4,6]/eth0: 9.",
        ],
    );
}

#[test]
fn a_mesh_tells_rows_from_columns() {
    let scratch = Scratch::new("verify-mesh");
    let mesh = "shape = \"mesh\"\nnodes = 8\nrows = 3\ncolumns = 3\nrate = \"100mbit\"\n\
                segments = \"switch\"\njoined = \"routed\"";
    let faults = ["swap:n2/eth0,n3/eth0", "missing:n4/eth1", "mtu:n6/eth0=1400"];
    let stage = Stage::new(&scratch, mesh, &faults);
    assert_begin(
        &stage.findings(),
        &[
            "MTU: n6/eth0 (to n[7-8]/eth0) has 1400, planned 1500",
            "missing: n4/eth1 does not reach n[1,7]/eth1",
            "swapped: n2/eth0 and n3/eth0 have each other's cable",
        ],
    );
}

#[test]
fn agents_that_may_not_send_frames_send_datagrams() {
    let scratch = Scratch::new("verify-datagrams");
    let stage = Stage::new(&scratch, STAR, &["swap:n2/eth0,n3/eth0"]);
    let mut command = Command::new("setpriv");
    let known = stage.garland.command(&["net", "verify", &stage.file, "--json"]);
    command.args(["--bounding-set=-net_raw", "--inh-caps=-net_raw"]).arg(known.get_program());
    command.args(known.get_args()).env("GARLAND_STATE", scratch.state());
    let said = Running::start(command).end();
    assert!(said.out.contains("\"evidence\": \"datagrams\""), "{}{}", said.out, said.err);
    assert_begin(&told(said), &["swapped: n2/eth0 and n3/eth0"]);
}

#[test]
fn a_route_that_was_changed_is_found() {
    let scratch = Scratch::new("verify-route");
    let ring = "shape = \"ring\"\nnodes = 3\nrate = \"100mbit\"";
    let stage = Stage::new(&scratch, ring, &[]);
    // n0 and n2 are opposite, and the way by n1 is planned.
    let other = ["route", "replace", "10.88.0.12/32", "via", "10.88.0.13", "dev", "eth1"];
    let words = [&["lab", "exec", "n0", "--", "ip"][..], &other[..]].concat();
    let _ = stage.garland.run(&words).with_code(0);
    assert_begin(
        &stage.findings(),
        &["route: n0 -> n2 went by n0/eth1, n3/eth1, planned n0/eth0, n1/eth0"],
    );
}

#[test]
fn a_rate_that_nobody_measured_is_not_as_planned() {
    let scratch = Scratch::new("verify-unmeasured");
    let stage = Stage::new(&scratch, &STAR.replace('6', "2"), &[]);
    let no_tcp = ["rule", "add", "ipproto", "tcp", "to", "10.88.0.0/16", "blackhole"];
    let words = [&["lab", "exec", "n2", "--", "ip"][..], &no_tcp[..]].concat();
    let _ = stage.garland.run(&words).with_code(0);
    // A connection that is bound to a NIC, as that from n2 is, needs no route.
    assert_begin(
        &stage.findings(),
        &["not measured: the rate of n0/eth1 -> n2/eth0: n0 says: timed out"],
    );
    let said = stage.garland.run(&["net", "verify", &stage.file]).with_code(4);
    assert!(said.out.ends_with("topology: 0 faults; 1 measurement is missing\n"), "{}", said.out);
}

#[test]
fn it_needs_no_root() {
    const NOBODY: u32 = 65534;
    let scratch = Scratch::new("verify-rootless");
    let _alone = alone();
    // The build's folder may be closed to others.
    let binary = scratch.path("garland");
    std::fs::copy(env!("CARGO_BIN_EXE_garland"), &binary).expect("the binary can be copied");
    let file = write(&scratch, &STAR.replace('6', "3"));
    chown(scratch.folder(), Some(NOBODY), Some(NOBODY)).expect("root may");
    let run = |words: &[&str]| {
        let mut command = Command::new("setpriv");
        command
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(&binary)
            .args(words)
            .current_dir(scratch.folder())
            .env("HOME", scratch.folder())
            .env("GARLAND_STATE", scratch.state());
        Running::start(command).end()
    };
    let _ = run(&["lab", "up", &file, "--fault", "swap:n2/eth0,n3/eth0"]).with_code(0);
    let found = told(run(&["net", "verify", &file, "--json"]));
    let _ = run(&["lab", "down"]).with_code(0);
    assert_begin(&found, &["swapped: n2/eth0 and n3/eth0"]);
    scratch.assert_nothing_left();
}
