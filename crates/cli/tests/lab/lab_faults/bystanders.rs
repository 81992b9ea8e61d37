//! `garland exec` on the nodes of a lab.

use garland_lab::fault;
use garland_testkit::Scratch;

use crate::lab_faults::stage::{Stage, verdict};

#[test]
fn commands_fold_and_a_killed_node_is_named() {
    let scratch = Scratch::new("exec");
    let stage = Stage::new(&scratch);
    let list = stage.list();
    let said = stage.garland.run(&["exec", "--fold", &list, "--", "hostname"]).with_code(0);
    assert!(said.out.contains(&list), "{}", said.out);
    assert_eq!(said.out.lines().count(), 1, "{}", said.out);
    let on_one = "test $(hostname) != n2";
    let said = stage.garland.run(&["exec", &list, "--", "sh", "-c", on_one]).with_code(1);
    assert!(format!("{}{}", said.out, said.err).contains("lab:n2: exit code 1"), "{said:?}");
    // What guarded the command before may be about to end.
    garland_testkit::until("the agent alone on n3", || stage.agent("n3").len() == 1);
    let sleep = stage.garland.start(&["exec", "--json", &list, "--", "sleep", "3"]);
    // The agent, the command, and the guard that ends it with the agent.
    garland_testkit::until("the command on n3", || stage.agent("n3").len() == 3);
    // The guard may be quicker than this loop over the node's processes, once the agent is dead.
    let _ = fault::kill(&stage.lab, "n3").expect("it can be killed");
    garland_testkit::until("nothing runs on n3", || stage.agent("n3").is_empty());
    let result = sleep.end().with_code(1).json();
    for node in stage.nodes() {
        let wanted = if node == "n3" { "failed" } else { "ok" };
        assert_eq!(verdict(&result, &node).0, wanted, "{result}");
    }
    assert!(!verdict(&result, "n3").1.is_empty());
    stage.end();
}
