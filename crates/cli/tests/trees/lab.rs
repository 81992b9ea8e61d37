//! Trees in a lab: four nodes with wires of their own.

use garland_lab::{Lab, StateDir};
use garland_testkit::Scratch;

use crate::compare::assert_equal;
use crate::{garland, oddities};

#[test]
fn every_oddity_arrives_as_it_is_in_a_lab() {
    let scratch = Scratch::new("tree-lab");
    let odd = scratch.path("odd");
    oddities::make(&odd);
    let garland = garland(&scratch);
    let _ = garland.run(&["lab", "up", "--nodes", "4", "--rate", "1gbit"]).with_code(0);
    let state = scratch.state().join(garland_sys::process::host_name()).join("lab");
    let lab = Lab::open(&StateDir(state), "lab").expect("it has just been started");
    let said = garland.run(&["cp", "-r", "--xattrs", "odd", "lab:n[1-4]:/t"]);
    // Compared before the lab is taken down, which takes the nodes' folders along.
    let compare = || {
        let _ = said.clone().with_code(0);
        for node in ["n1", "n2", "n3", "n4"] {
            let root = lab.root(node).expect("it is a node of the lab");
            assert_equal(&odd, &root.join("t/odd"));
        }
    };
    let compared = std::panic::catch_unwind(std::panic::AssertUnwindSafe(compare));
    let down = garland.run(&["lab", "down"]);
    compared.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    let _ = down.with_code(0);
    scratch.assert_nothing_left();
}
