//! Several sources on nodes, and patterns.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use garland_testkit::Scratch;

use crate::trees::{garland_in, left_out, locals, paths, verdict, write};

#[test]
fn files_of_nodes_are_found_by_paths_and_patterns() {
    let scratch = Scratch::new("several-files");
    for node in locals(3) {
        write(&scratch, &format!("roots/{node}/log/a.log"), &node);
        write(&scratch, &format!("roots/{node}/log/{node}.log"), &node);
        write(&scratch, &format!("roots/{node}/log/other"), &node);
        write(&scratch, &format!("roots/{node}/log/sub.log/x"), &node);
    }
    write(&scratch, "roots/local3/etc/hosts", "hosts");
    fs::remove_dir_all(scratch.root("local2").join("log")).expect("it was there");
    fs::create_dir(scratch.root("local2").join("log")).expect("it can be made");
    symlink("../log/other", scratch.root("local1").join("log/link.log")).expect("it can be made");
    symlink("/etc/passwd", scratch.root("local1").join("log/out.log")).expect("it can be made");
    let garland = garland_in(&scratch);
    let words = ["local[1-3]:/log/*.log", "local3:/etc/hosts", "local3:/none", "all/"];
    let is_directory = "it is a directory, and directories are copied with -r";
    let wanted = [
        format!("local1:/log/sub.log: {is_directory}"),
        "local1:/log/out.log: cannot open it: no such file or directory".to_owned(),
        format!("local3:/log/sub.log: {is_directory}"),
        "local3:/none: no such file or directory".to_owned(),
    ];
    let nothing = "cannot copy /log/*.log: nothing matches";
    // A dry run names the same, with the same exit code.
    for (json, shows_plans) in [(&["--json"][..], true), (&[], false)] {
        let said = garland.cp(&[json, &["-n"], &words[..]].concat()).with_code(1);
        let told = if shows_plans { &said.err } else { &said.out };
        let missed = told.lines().filter_map(|line| line.strip_prefix("missed  "));
        assert_eq!(missed.collect::<Vec<_>>(), wanted);
        assert!(said.err.contains(&format!("failed  local2: {nothing}\n")), "{}", said.err);
        assert!(!scratch.path("all").exists());
    }
    let result = garland.cp(&[&["--json"], &words[..]].concat()).with_code(1).json();
    assert_eq!(left_out(&result), wanted);
    assert_eq!(verdict(&result, "local2"), ("failed", nothing));
    let wanted = ["local1/", "local1/a.log", "local1/link.log", "local1/local1.log"];
    let wanted = [&wanted[..], &["local3/", "local3/a.log", "local3/hosts", "local3/local3.log"]];
    assert_eq!(paths(&scratch.path("all")), wanted.concat());
    assert_eq!(fs::read(scratch.path("all/local1/link.log")).expect("it is a file"), b"local1");
    // What was missing is there now.
    write(&scratch, "roots/local2/log/b.log", "b");
    write(&scratch, "roots/local3/none", "none");
    let _ = garland.run(&["cp", "--resume", "last", "--quiet"]).with_code(1);
    assert_eq!(paths(&scratch.path("all/local2")), ["b.log"]);
    assert!(scratch.path("all/local3/none").exists());
    scratch.assert_nothing_left();
}

#[test]
fn of_one_node_what_is_found_goes_straight_into_the_directory() {
    let scratch = Scratch::new("several-one");
    for path in ["t/a/x.log", "t/b/x.log", "t/b/in/y", "t/[a]", "t/.hidden", "t/x\ny.log"] {
        write(&scratch, &format!("roots/local1/{path}"), path);
    }
    let own = scratch.root("local1").join("t/[a]");
    fs::set_permissions(&own, Permissions::from_mode(0o6755)).expect("it is ours");
    if garland_sys::process::user_id() == 0 {
        std::os::unix::fs::chown(&own, Some(65_534), Some(65_534)).expect("we are root");
        fs::set_permissions(&own, Permissions::from_mode(0o6755)).expect("we are root");
    }
    let garland = garland_in(&scratch);
    let got = |words: &[&str], at: &str| {
        let _ = garland.cp(words).with_code(0);
        paths(&scratch.path(at))
    };
    assert_eq!(
        got(&["-r", "local1:/t/[ab]", "tree"], "tree"),
        ["a/", "a/x.log", "b/", "b/in/", "b/in/y", "b/x.log"]
    );
    let some = ["-r", "--exclude", "/b/in/", "local1:/t/b*", "local1:t/a/", "some"];
    assert_eq!(got(&some, "some"), ["b/", "b/x.log", "x.log"]);
    let files = ["-p", "local1:/t/\\[a]", "local1:/t/*y.log", "local1:/t/.h*", "files"];
    assert_eq!(got(&files, "files"), [".hidden", "[a]", "x\ny.log"]);
    // As a single file, it belongs to whoever copies it.
    let copied = fs::metadata(scratch.path("files/[a]")).expect("the file exists");
    let user = fs::metadata(scratch.path("files")).expect("the directory exists").uid();
    assert_eq!((copied.uid(), copied.mode() & 0o7777), (user, 0o755));
    // The name itself, where the pattern matches nothing: `a` is a directory, and so is it as a
    // file.
    let _ = garland.cp(&["local1:/t/\\[a]", "one"]).with_code(0);
    assert!(scratch.path("one").is_file());
    let said = garland.cp(&["-nv", "local1:/t/*/x.log", "none"]).with_code(3);
    let same = "cannot copy both /t/a/x.log and /t/b/x.log: they have the same name";
    assert!(said.err.contains(same) || said.out.contains(same), "{}{}", said.out, said.err);
    let said = garland.cp(&["-nv", "local1:/t/a/*", "local1:/t/b/in/y", "none"]).with_code(0);
    let named = "copy    local1:/t/a/*, /t/b/in/y (2 files, 0 directories, 0 links)\n";
    assert!(said.out.starts_with(named), "{}", said.out);
    assert!(!scratch.path("none").exists());
    let said = garland.cp(&["local1:/t/a/*", "-"]).with_code(2);
    assert!(said.err.contains("several files cannot be written to one pipe"), "{}", said.err);
    scratch.assert_nothing_left();
}
