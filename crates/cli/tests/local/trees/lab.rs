//! Trees in a lab: nodes with wires and disks of their own.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;

use garland_lab::{Lab, StateDir};
use garland_testkit::{Scratch, random_file};
use parking_lot::Mutex;

use crate::trees::compare::assert_equal;
use crate::trees::{garland_in, oddities, verdict, write};

/// One lab at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// Copies `tree` with `more` words to the four nodes of the lab that `up` says, where all have it
/// then; the result as JSON.
#[track_caller]
fn copied_in(scratch: &Scratch, up: &[&str], tree: &Path, more: &[&str]) -> serde_json::Value {
    let _alone = ALONE.lock();
    let garland = garland_in(scratch);
    let _ = garland.run(&[&["lab", "up"], up].concat()).with_code(0);
    let state = scratch.state().join(garland_sys::process::host_name()).join("lab");
    let lab = Lab::open(&StateDir(state), "lab").expect("it has just been started");
    let from = format!("{}/", tree.display());
    let words = [&["cp", "--json", "-r"], more, &[&from, "lab:n[1-4]:/t"]].concat();
    let said = garland.run(&words);
    // Compared before the lab is taken down, which takes the nodes' folders along.
    let compare = || {
        let result = said.with_code(0).json();
        for node in ["n1", "n2", "n3", "n4"] {
            let root = lab.root(node).expect("it is a node of the lab");
            assert_equal(tree, &root.join("t"));
        }
        result
    };
    let compared = catch_unwind(AssertUnwindSafe(compare));
    let down = garland.run(&["lab", "down"]);
    let result = compared.unwrap_or_else(|panic| resume_unwind(panic));
    let _ = down.with_code(0);
    scratch.assert_nothing_left();
    result
}

#[test]
fn every_oddity_arrives_as_it_is_in_a_lab() {
    let scratch = Scratch::new("tree-lab");
    let odd = scratch.path("odd");
    oddities::make(&odd);
    let up = ["--nodes", "4", "--rate", "1gbit"];
    let result = copied_in(&scratch, &up, &odd, &["--xattrs"]);
    assert_eq!(result["tree"]["missed"], 0);
}

#[test]
fn a_node_whose_disk_is_slow_gets_all_of_a_tree_too() {
    let scratch = Scratch::new("tree-slow-disk");
    for number in 0..48 {
        write(&scratch, &format!("t/{}/small{number}", number % 7), number.to_string());
        random_file(&scratch.path(format!("t/{}/{number}", number % 7)), 1_500_000, number);
    }
    let topology = "version = 1\n[topology]\nshape = \"switch\"\nnodes = \"n[0-4]\"\n\
                    rate = \"400mbit\"\n[[topology.node]]\nnames = \"n2\"\ndisk = \"8MB/s\"\n";
    write(&scratch, "lab.toml", topology);
    // What it can't take in time goes by, and comes from the head again.
    let result = copied_in(&scratch, &["lab.toml"], &scratch.path("t"), &[]);
    assert_eq!(verdict(&result, "lab:n2"), ("ok", ""));
}
