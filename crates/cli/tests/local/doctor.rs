//! `garland doctor` end to end, on agents that are processes of this machine and real file systems.

use garland_testkit::{Scratch, Wire};

use crate::garland_in;

/// The words of `garland doctor ARGUMENTS` with the nodes' directories in the scratch directory.
fn words(scratch: &Scratch, arguments: &[&str]) -> Vec<String> {
    let roots = scratch.path("roots").display().to_string();
    let all = [&["doctor", "--local-root", &roots], arguments].concat();
    all.into_iter().map(str::to_owned).collect()
}

#[test]
fn healthy_nodes_are_told_with_what_they_have_and_stay_as_they_were() {
    let scratch = Scratch::new("doctor");
    let garland = garland_in(&scratch);
    std::fs::create_dir_all(scratch.root("local1").join("d")).unwrap();
    std::fs::create_dir_all(scratch.root("local2").join("d")).unwrap();
    let said = garland.run(&words(&scratch, &["local[1-2]:/d/file"])).with_code(0).out;
    for line in
        ["local[1-2]", "links   1 between neighbours", " free in /d: ", "memory  ", "cores   "]
    {
        assert!(said.contains(line), "{line} in\n{said}");
    }
    let result = garland.run(&words(&scratch, &["--json", "local[1-2]:/d/"])).with_code(0).json();
    assert_eq!(result["schema"], "garland.doctor/1");
    let node = &result["nodes"][0];
    assert_eq!((&node["verdict"], &node["faults"]), (&"ok".into(), &serde_json::json!([])));
    assert!(node["free"].as_u64() > Some(0) && node["cores"].as_u64() > Some(0), "{node}");
    assert_eq!((&node["path"], &node["links"]), (&"/d/".into(), &1.into()));
    for name in ["local1", "local2"] {
        assert_eq!(std::fs::read_dir(scratch.root(name).join("d")).unwrap().count(), 0);
    }
    scratch.assert_nothing_left();
}

#[test]
fn a_destination_that_cannot_be_written_is_a_fault_of_its_node() {
    let scratch = Scratch::new("doctor-faults");
    let first = scratch.root("local1");
    let second = scratch.root("local2");
    std::fs::create_dir_all(&first).unwrap();
    std::fs::create_dir_all(second.join("d")).unwrap();
    std::fs::create_dir_all(scratch.root("local3").join("d")).unwrap();
    let wire = Wire::quick().and(&format!("mount -t tmpfs -o ro none '{}/d'", second.display()));
    let garland = garland_in(&scratch).over(wire);
    let said = garland.run(&words(&scratch, &["local[1-3]:/d/x"])).with_code(4).out;
    let missing = "fault   local1: cannot open the directory /d: no such file or directory";
    let refused = "fault   local2: cannot create a file in /d: read-only file system";
    assert!(said.contains(missing) && said.contains(refused), "{said}");
    assert!(!said.contains("fault   local3"), "{said}");
    // An agent that cannot be started.
    std::fs::remove_dir(&first).unwrap();
    std::fs::write(&first, "").unwrap();
    let said = garland.run(&words(&scratch, &["local[1,3]:/d"])).with_code(1).out;
    assert!(said.contains("failed  local1: ") && said.contains(" free in /d: "), "{said}");
    scratch.assert_nothing_left();
}
