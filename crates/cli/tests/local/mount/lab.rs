//! A mount in a lab: nodes behind wires of their own.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use garland_lab::{Lab, StateDir};
use garland_sys::clock;
use garland_testkit::{Scratch, random_file, soon, until};

use crate::garland_in;
use crate::mount::stage::shell;

#[test]
fn a_labs_nodes_are_reached_over_its_wires_and_missed_when_they_are_cut() {
    let scratch = Scratch::new("mount-lab");
    let garland = garland_in(&scratch);
    let _ = garland.run(&["lab", "up", "--nodes", "2", "--rate", "200mbit"]).with_code(0);
    let state = scratch.state().join(garland_sys::process::host_name()).join("lab");
    let lab = Lab::open(&StateDir(state), "lab").expect("it has just been started");
    let test = || {
        let _ = garland.run(&["up", "lab:n[1-2]"]).with_code(0);
        fs::create_dir(scratch.path("m")).unwrap();
        let _ = garland.run(&["mount", "m", "lab:n[1-2]"]).with_code(0);
        random_file(&scratch.path("source"), 8 << 20, 1);
        let began = clock::now_ns();
        shell(scratch.folder(), "cp source m/n1/x; cmp m/n1/x source; cp m/n1/x m/2/y");
        let took = Duration::from_nanos(clock::now_ns() - began);
        assert!(
            took > Duration::from_millis(600),
            "it didn't cross a wire of 200 Mbit/s: {took:?}"
        );
        let there = lab.root("n2").expect("it is a node of the lab").join("y");
        assert!(fs::read(there).unwrap() == fs::read(scratch.path("source")).unwrap());
        soon("an error behind a cut wire", Duration::from_secs(5), || {
            garland_lab::fault::cut(&lab, "n2").expect("its wire can be cut");
            let began = clock::now_ns();
            until("an error", || fs::write(scratch.path("m/n2/z"), "z").is_err());
            let took = Duration::from_nanos(clock::now_ns() - began);
            fs::write(scratch.path("m/n1/z"), "z").expect("the other node is there");
            garland_lab::fault::restore(&lab, "n2").expect("its wire can be mended");
            until("the node", || fs::write(scratch.path("m/n2/z"), "z").is_ok());
            took
        });
    };
    let tested = catch_unwind(AssertUnwindSafe(test));
    let unmounted = garland.run(&["mount", "-u", "m"]);
    let down = garland.run(&["lab", "down"]);
    if let Err(panic) = tested {
        resume_unwind(panic);
    }
    let _ = (unmounted.with_code(0), down.with_code(0));
    scratch.assert_nobody_left();
}
