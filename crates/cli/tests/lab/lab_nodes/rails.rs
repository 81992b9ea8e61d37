//! Two NICs a node, each on a switch of its own, of which one fails or is slow.

use garland_core::units::Rate;
use garland_lab::fault::{self, LinkDirection};
use garland_lab::{Lab, StateDir, slow};
use garland_sys::process;
use garland_testkit::{Running, Scratch, random_file, until, verdict};
use serde_json::Value;

use crate::lab_nodes::stage::Stage;

/// Bits per second of a wire, in Mbit/s.
const WIRE: u64 = 60;

/// Two seconds of both rails.
const LENGTH: u64 = 30 << 20;

/// A lab of a head and four nodes with two rails, and a source.
fn stage(scratch: &Scratch) -> (Stage<'_>, Lab) {
    let shape = format!(
        "version = 1\n[topology]\nshape = \"rail\"\nnodes = 5\nrails = 2\nrate = \"{WIRE}mbit\"\n"
    );
    let stage = Stage::new(scratch, &shape);
    let state = scratch.state().join(process::host_name()).join("lab");
    let lab = Lab::open(&StateDir(state), "lab").expect("it has just been started");
    random_file(&scratch.path("rails.bin"), LENGTH, 3);
    (stage, lab)
}

/// Begins to copy to all nodes.
fn start(stage: &Stage<'_>, more: &[&str]) -> Running {
    let words = ["cp", "--json", "--no-fsync", "rails.bin", "lab:n[2-5]:/x"];
    stage.garland.start(&[&words, more].concat())
}

/// Waits until the copy is in its middle: the last node has some of it.
fn await_middle(lab: &Lab) {
    let root = lab.root("n5").expect("it is a node of the lab");
    until("bytes at the last node", || {
        let files = std::fs::read_dir(&root).into_iter().flatten().flatten();
        files.flat_map(|file| file.metadata()).any(|stat| stat.len() >= LENGTH / 8)
    });
}

/// All nodes have all of it; the seconds that the command took.
#[track_caller]
fn whole(scratch: &Scratch, lab: &Lab, copy: Running) -> f64 {
    let result: Value = copy.end().with_code(0).json();
    let wanted = std::fs::read(scratch.path("rails.bin")).expect("the file exists");
    for node in ["n2", "n3", "n4", "n5"] {
        assert_eq!(verdict(&result, &format!("lab:{node}")).0, "ok", "{result}");
        let path = lab.root(node).expect("it is a node of the lab").join("x");
        assert!(std::fs::read(&path).expect("the file exists") == wanted, "{node} has other bytes");
        std::fs::remove_file(path).expect("the file exists");
    }
    result["elapsed_ns"].as_f64().expect("it took some time") / 1e9
}

/// Returns the bytes that a node has received over each of its two NICs.
fn received(lab: &Lab, node: &str) -> [u64; 2] {
    let mut command = lab.command(node, "cat").expect("it is a node of the lab");
    let output = command.arg("/proc/net/dev").output().expect("`cat` is installed");
    let table = String::from_utf8(output.stdout).expect("it is text");
    ["eth0:", "eth1:"].map(|nic| {
        let line = table.lines().find_map(|line| line.trim().strip_prefix(nic));
        let bytes = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        bytes.unwrap_or_else(|| panic!("no bytes of {nic} {table}"))
    })
}

#[test]
fn each_of_two_rails_carries_half_and_one_alone_carries_all() {
    let scratch = Scratch::new("rails-two");
    let (stage, lab) = stage(&scratch);
    for (rails, shares) in [("1", [0.95..1.1, 0.0..0.05]), ("2", [0.45..0.6, 0.45..0.6])] {
        let before = received(&lab, "n3");
        let seconds = whole(&scratch, &lab, start(&stage, &["--rails", rails]));
        let after = received(&lab, "n3");
        println!("{rails} rails: {seconds:.2} s");
        for (nic, share) in shares.iter().enumerate() {
            let carried = (after[nic] - before[nic]) as f64 / LENGTH as f64;
            assert!(share.contains(&carried), "eth{nic} carried {carried:.2} of it, not {share:?}");
        }
    }
    drop(stage);
    scratch.assert_nothing_left();
}

#[test]
fn a_rail_that_dies_in_the_middle_leaves_its_share_to_the_other() {
    let scratch = Scratch::new("rails-cut");
    let (stage, lab) = stage(&scratch);
    for node in ["n3", "n1"] {
        let copy = start(&stage, &[]);
        await_middle(&lab);
        fault::cut_nic(&lab, node, "eth1").expect("it has one");
        println!("{node} without its second rail: {:.1} s", whole(&scratch, &lab, copy));
        fault::restore(&lab, node).expect("it can be mended");
    }
    drop(stage);
    scratch.assert_nothing_left();
}

#[test]
fn a_slow_rail_leaves_what_it_has_to_the_other_when_that_is_free() {
    let scratch = Scratch::new("rails-slow");
    let (stage, lab) = stage(&scratch);
    let tenth = Rate::from_bits_per_second(WIRE * 100_000);
    for way in [LinkDirection::In, LinkDirection::Out] {
        slow::slow_nic(&lab, "n3", "eth1", way, tenth).expect("it has one");
    }
    // Half of it by the slow rail alone.
    let alone = LENGTH as f64 * 8.0 / 2.0 / tenth.bits_per_second() as f64;
    let mut took = Vec::new();
    while took.last().is_none_or(|took| *took > alone / 2.0) {
        assert!(took.len() < 3, "{took:.1?} s of {alone:.1} by the slow rail alone");
        took.push(whole(&scratch, &lab, start(&stage, &[])));
    }
    println!("a slow rail: {took:.1?} s, {alone:.1} by it alone");
    drop(stage);
    scratch.assert_nothing_left();
}
