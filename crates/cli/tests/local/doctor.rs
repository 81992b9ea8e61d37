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
    assert_eq!(node["copy"], "into");
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
    let missing = "fault   local1: cannot copy to /d/x: cannot open the directory /d: \
                   no such file or directory; a copy to /d/ makes it\n";
    let refused = "fault   local2: cannot copy to /d/x: cannot create a file in /d: \
                   read-only file system\n";
    assert!(said.contains(missing) && said.contains(refused), "{said}");
    assert!(!said.contains("fault   local3"), "{said}");
    // An agent that cannot be started.
    std::fs::remove_dir(&first).unwrap();
    std::fs::write(&first, "").unwrap();
    let said = garland.run(&words(&scratch, &["local[1-3]:/d"])).with_code(4).out;
    assert!(said.contains("failed  local1: ") && said.contains("fault   local2: "), "{said}");
    let said = garland.run(&words(&scratch, &["local[1,3]:/d"])).with_code(1).out;
    assert!(said.contains("failed  local1: ") && said.contains(" free in /d: "), "{said}");
    scratch.assert_nothing_left();
}

#[test]
fn it_says_what_a_copy_to_the_same_argument_does() {
    let scratch = Scratch::new("doctor-copy");
    let garland = garland_in(&scratch);
    std::fs::create_dir_all(scratch.root("local1").join("d")).unwrap();
    std::fs::write(scratch.path("f"), "x").unwrap();
    let root = scratch.root("local1");
    let cases = [
        ("/d", "into the directory /d", "d/f"),
        ("/d/name", "as the file /d/name: it is no directory, and /d/name/ makes one", "d/name"),
        ("/nosuch", "as the file /nosuch: it is no directory, and /nosuch/ makes one", "nosuch"),
        ("/new/", "into the directory /new/, which it makes", "new/f"),
        ("/newer/still/", "into the directory /newer/still/, which it makes", "newer/still/f"),
    ];
    for (path, does, file) in cases {
        let to = format!("local1:{path}");
        let said = garland.run(&words(&scratch, &[&to])).with_code(0).out;
        assert!(said.contains(&format!("copy    local1: {does}\n")), "{path}: {said}");
        let there = root.join(file);
        assert!(!there.exists(), "{path}");
        let roots = scratch.path("roots").display().to_string();
        let _ = garland.run(&["cp", "--local-root", &roots, "f", &to]).with_code(0);
        assert!(there.is_file(), "{path}");
    }
    scratch.assert_nothing_left();
}

#[test]
fn the_example_of_the_book_is_what_it_says() {
    let book = include_str!("../../../../docs/trouble.md");
    let example = book.split("```console\n$ garland doctor '").nth(1).expect("an example");
    let (argument, lines) = example.split_once("'\n").expect("a quoted argument");
    let lines = lines.split_once("```").expect("its end").0;
    let scratch = Scratch::new("doctor-book");
    for node in 1..=4 {
        let root = scratch.root(&format!("local{node}"));
        std::fs::create_dir_all(if node == 4 { root } else { root.join("scratch") }).unwrap();
    }
    let third = scratch.root("local3").join("scratch");
    let wire = Wire::quick().and(&format!("mount -t tmpfs -o ro none '{}'", third.display()));
    let said = garland_in(&scratch).over(wire).run(&words(&scratch, &[argument])).with_code(4).out;
    for line in lines.lines() {
        // Machines differ in what they have, and in what may slow them down.
        let label = line.split("  ").next().expect("a word");
        let is_own = ["ok", "space", "memory", "cores"].contains(&label);
        let found = said.lines().any(|said| match is_own {
            true => said.starts_with(label) || label == "ok",
            false => said == line,
        });
        assert!(found, "{line:?} is not in\n{said}");
    }
    scratch.assert_nothing_left();
}
