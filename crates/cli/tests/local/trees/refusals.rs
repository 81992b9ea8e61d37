//! What a tree must not do to what is there, and what can't be read of it.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use garland_testkit::{Running, Scratch};
use serde_json::json;

use crate::trees::{garland_in, left_out, locals, paths, verdict, write};

#[test]
fn no_kind_replaces_another_and_nothing_goes_through_a_link() {
    let scratch = Scratch::new("tree-kinds");
    for path in ["t/d/x", "t/file", "t/l/y", "t/rest"] {
        write(&scratch, path, path);
    }
    let outside = scratch.path("outside");
    fs::create_dir(&outside).expect("it can be made");
    let there = scratch.root("local2").join("t");
    fs::create_dir_all(there.join("file/kept")).expect("it can be made");
    fs::write(there.join("d"), b"a file").expect("it can be written");
    symlink(&outside, there.join("l")).expect("it can be made");
    let result =
        garland_in(&scratch).cp(&["--json", "-r", "t", "local[1-3]:/"]).with_code(1).json();
    let reason = "copied everything except 3 entries: \
                  t/d: it is not a directory and is not replaced by one; \
                  t/file: it is a directory and is not replaced; \
                  t/l: it is not a directory and is not replaced by one";
    assert_eq!(verdict(&result, "local2"), ("failed", reason));
    assert_eq!(
        paths(&scratch.root("local2")),
        ["t/", "t/d", "t/file/", "t/file/kept/", "t/l", "t/rest"]
    );
    assert_eq!(fs::read(there.join("d")).expect("the file exists"), b"a file");
    assert_eq!(paths(&outside), Vec::<String>::new());
    for node in ["local1", "local3"] {
        assert_eq!(verdict(&result, node), ("ok", ""));
        let wanted = ["t/", "t/d/", "t/d/x", "t/file", "t/l/", "t/l/y", "t/rest"];
        assert_eq!(paths(&scratch.root(node)), wanted);
    }
    scratch.assert_nothing_left();
}

#[test]
fn all_entries_that_failed_are_in_the_result_and_a_command_shows_them() {
    let scratch = Scratch::new("tree-all-failed");
    for number in 1..=7 {
        write(&scratch, &format!("t/{number}"), b"new");
        // A directory there is never replaced by a file, nor one here by a file there.
        fs::create_dir_all(scratch.path(format!("roots/local1/t/{number}"))).expect("it can be");
        write(&scratch, &format!("roots/local2/t/{number}"), b"ok");
    }
    let garland = garland_in(&scratch);
    let result = garland.cp(&["--json", "-r", "t", "local[1-2]:/"]).with_code(1).json();
    let node = result["nodes"].as_array().expect("a list").iter().find(|it| it["name"] == "local1");
    let node = node.expect("it is in the result");
    let wanted = json!({ "path": "t/7", "reason": "it is a directory and is not replaced",
                         "missed": true });
    assert_eq!((&node["missed"], &node["left_out"][6]), (&json!(7), &wanted), "{node}");
    let told = garland.cp(&["-r", "t", "local[1-2]:/"]).with_code(1).out;
    assert!(told.contains("t/5: it is a directory and is not replaced; and 2 more\n"), "{told}");
    let command = told.lines().find_map(|line| line.strip_prefix("all     garland "));
    let words: Vec<&str> = command.unwrap_or_else(|| panic!("{told}")).split(' ').collect();
    let shown = garland.run(&words).with_code(0).out;
    for number in 1..=7 {
        let line = format!("missed  local1: t/{number}: it is a directory and is not replaced\n");
        assert!(shown.contains(&line), "{shown}");
    }
    // From the node, it is this machine that cannot put them in place.
    let _ = garland.cp(&["-r", "t", "local2:/u/"]).with_code(0);
    fs::rename(scratch.root("local1"), scratch.path("here")).expect("it can be moved");
    let result = garland.cp(&["--json", "-r", "local2:/u/t", "here"]).with_code(3).json();
    assert_eq!(result["nodes"][0]["left_out"].as_array().map(Vec::len), Some(7), "{result}");
}

#[test]
fn a_link_in_the_place_of_a_file_is_replaced_and_not_followed() {
    let scratch = Scratch::new("tree-link-file");
    write(&scratch, "t/file", b"new");
    write(&scratch, "kept", b"as it was");
    symlink("elsewhere", scratch.path("t/link")).expect("it can be made");
    let there = scratch.root("local1").join("t");
    fs::create_dir_all(&there).expect("it can be made");
    symlink(scratch.path("kept"), there.join("file")).expect("it can be made");
    fs::write(there.join("link"), b"a file").expect("it can be written");
    let _ = garland_in(&scratch).cp(&["-r", "t", "local1:/"]).with_code(0);
    assert_eq!(fs::read(scratch.path("kept")).expect("the file exists"), b"as it was");
    assert_eq!(fs::read(there.join("file")).expect("the file exists"), b"new");
    assert!(!there.join("file").is_symlink());
    assert!(there.join("link").is_symlink());
}

#[test]
fn a_destination_that_is_a_file_fails_its_node() {
    let scratch = Scratch::new("tree-to-file");
    write(&scratch, "t/x", b"");
    write(&scratch, "roots/local2/d", b"kept");
    let result =
        garland_in(&scratch).cp(&["--json", "-r", "t", "local[1-2]:/d"]).with_code(1).json();
    let reason = "cannot open the directory /d: not a directory";
    assert_eq!(verdict(&result, "local2"), ("failed", reason));
    assert_eq!(verdict(&result, "local1"), ("ok", ""));
}

/// `command` as somebody who is allowed no more than others, even where the test is root's.
fn without_rights(command: &Command) -> Command {
    let mut weak = Command::new("setpriv");
    weak.args(["--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all"]);
    if garland_sys::process::user_id() != 0 {
        weak = Command::new("env");
    }
    weak.arg(command.get_program()).args(command.get_args()).env_clear();
    let variables = command.get_envs();
    weak.envs(variables.filter_map(|(name, value)| Some((name, value?))));
    weak.current_dir(command.get_current_dir().expect("it has one"));
    weak
}

#[test]
fn what_may_not_be_read_is_named_and_the_rest_arrives() {
    let scratch = Scratch::new("tree-unreadable");
    for number in 0..300 {
        write(&scratch, &format!("t/{number:03}"), number.to_string());
    }
    write(&scratch, "t/closed/inside", b"");
    for path in ["t/200", "t/closed"] {
        let none = Permissions::from_mode(0o000);
        fs::set_permissions(scratch.path(path), none).expect("it may have it");
    }
    let garland = garland_in(&scratch);
    let roots = scratch.path("roots").display().to_string();
    let words = ["cp", "--local-root", &roots, "--json", "-r", "t", "local[1-2]:/"];
    let output = without_rights(&garland.command(&words)).output().expect("it can be started");
    let shown = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{shown}");
    let result = serde_json::from_slice(&output.stdout).expect("it is a result");
    let wanted =
        ["t/200: cannot read it: permission denied", "t/closed: cannot open it: permission denied"];
    assert_eq!(left_out(&result), wanted);
    for node in locals(2) {
        assert_eq!(verdict(&result, &node), ("ok", ""));
        assert_eq!(paths(&scratch.root(&node)).len(), 300);
    }
    // So that it can be removed.
    fs::set_permissions(scratch.path("t/closed"), Permissions::from_mode(0o700)).expect("it may");
    scratch.assert_nothing_left();
}

#[test]
fn where_nothing_may_be_written_it_is_named_and_the_rest_arrives() {
    let scratch = Scratch::new("tree-unwritable");
    for number in 0..6000 {
        write(&scratch, &format!("t/{}/{number:04}", number / 1000), number.to_string());
    }
    let closed = scratch.root("local2").join("t/5");
    fs::create_dir_all(&closed).expect("it can be made");
    // It may be entered and not be changed, and belongs to somebody else where it can.
    let owner = Some(4321).filter(|_| garland_sys::process::user_id() == 0);
    fs::set_permissions(&closed, Permissions::from_mode(0o555)).expect("it may have it");
    std::os::unix::fs::chown(&closed, owner, owner).expect("root may");
    let garland = garland_in(&scratch);
    let roots = scratch.path("roots").display().to_string();
    let words = ["cp", "--local-root", &roots, "--json", "-r", "t", "local[1-2]:/"];
    let output = without_rights(&garland.command(&words)).output().expect("it can be started");
    let shown = String::from_utf8_lossy(&output.stderr);
    let result: serde_json::Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {shown}"));
    assert_eq!(verdict(&result, "local1"), ("ok", ""));
    assert_eq!(paths(&scratch.root("local1")).len(), 6007);
    if owner.is_some() {
        assert_eq!(output.status.code(), Some(1), "{shown}");
        let (said, reason) = verdict(&result, "local2");
        assert_eq!(said, "failed");
        let first = "copied everything except 1001 entries: t/5/5000: permission denied; \
                     t/5/5001: permission denied; ";
        assert!(reason.starts_with(first) && reason.ends_with("; and 996 more"), "{reason}");
        let failed = result["nodes"].as_array().expect("a list").iter();
        let all: Vec<_> = failed.map(|it| it["left_out"].as_array().map_or(0, Vec::len)).collect();
        assert_eq!(all, [0, 1001], "all of them are in the result");
        assert_eq!(paths(&scratch.root("local2")).len(), 5007);
    }
    fs::set_permissions(&closed, Permissions::from_mode(0o700)).expect("it may have it");
    scratch.assert_nothing_left();
}

#[test]
fn a_directory_without_write_permission_is_opened_only_if_it_is_the_trees() {
    let scratch = Scratch::new("tree-own-closed");
    for path in ["t/x", "t/d/y", "closed/x", "closed/d/y"] {
        write(&scratch, path, path);
    }
    let mode =
        |path: &Path| fs::metadata(path).expect("the file exists").permissions().mode() & 0o7777;
    let close = |path: &Path| {
        fs::set_permissions(path, Permissions::from_mode(0o555)).expect("it is ours");
    };
    let root = scratch.root("local1");
    for name in ["source", "same", "above"] {
        fs::create_dir_all(root.join(name)).expect("it can be made");
        close(&root.join(name));
    }
    ["closed/d", "closed"].iter().for_each(|path| close(&scratch.path(path)));
    let garland = garland_in(&scratch);
    let roots = scratch.path("roots").display().to_string();
    let copy = |words: &[&str]| {
        let words = [&["cp", "--local-root", &roots, "--json"], words].concat();
        let output = without_rights(&garland.command(&words)).output().expect("it can be started");
        let shown = String::from_utf8_lossy(&output.stderr).into_owned();
        let result: serde_json::Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{words:?}: {error}: {shown}"));
        let (word, reason) = verdict(&result, "local1");
        (word.to_owned(), reason.to_owned())
    };
    let ok = ("ok".to_owned(), String::new());
    // What rsync -a does, and rsync -r.
    assert_eq!(copy(&["-r", "t/", "local1:/source"]), ok);
    assert_eq!(mode(&root.join("source")), 0o755);
    assert_eq!(copy(&["-r", "--no-perms", "t/", "local1:/same"]), ok);
    assert_eq!(mode(&root.join("same")), 0o555);
    // The source's own directories are closed, too, and stay so.
    for option in ["--checksum", "--no-fsync", "--verify"] {
        fs::write(scratch.path("closed/x"), option).expect("the file may be written");
        assert_eq!(copy(&["-r", option, "closed/", "local1:/made"]), ok, "{option}");
        assert_eq!(fs::read_to_string(root.join("made/x")).expect("the file exists"), option);
        assert_eq!((mode(&root.join("made")), mode(&root.join("made/d"))), (0o555, 0o555));
    }
    // A directory above is not opened for a tree or a file, however often it is tried.
    for _ in 0..2 {
        let said = copy(&["-r", "t", "local1:/above"]);
        let wanted = "copied everything except 1 entry: t: permission denied";
        assert_eq!(said, ("failed".to_owned(), wanted.to_owned()));
        let said = copy(&["t/x", "local1:/above/"]);
        let wanted = "cannot create /above/x: permission denied";
        assert_eq!(said, ("failed".to_owned(), wanted.to_owned()));
        assert_eq!(mode(&root.join("above")), 0o555);
        assert_eq!(paths(&root.join("above")), Vec::<String>::new());
    }
    // So that they can be removed.
    let made = ["same", "above", "made", "made/d"].map(|path| root.join(path));
    for path in made.into_iter().chain(["closed", "closed/d"].map(|path| scratch.path(path))) {
        fs::set_permissions(path, Permissions::from_mode(0o700)).expect("it is ours");
    }
    scratch.assert_nothing_left();
}

#[test]
fn devices_are_skipped_and_said() {
    let scratch = Scratch::new("tree-devices");
    let words = ["--json", "-r", "--exclude", "*/", "/dev/", "local1:/d"];
    let result = garland_in(&scratch).cp(&words).with_code(0).json();
    let left = left_out(&result);
    assert!(left.contains(&"/dev/null: a device".to_owned()), "{left:?}");
    assert!(!scratch.root("local1").join("d/null").exists());
}

#[test]
fn names_that_a_file_system_takes_for_one_are_told_and_replace_nothing() {
    let scratch = Scratch::new("tree-folds");
    let mut names = vec!["t"];
    for (path, bytes) in [
        ("t/LOUD", "loud"),
        ("t/README", "loud"),
        ("t/ReadMe", "quiet"),
        ("t/loud", "quiet"),
        ("t/rest", "rest"),
    ] {
        write(&scratch, path, bytes);
        names.push(path);
    }
    // The modes that all files have there.
    for name in names {
        let mode = Permissions::from_mode(0o777);
        fs::set_permissions(scratch.path(name), mode).expect("it is ours");
    }
    let root = scratch.root("local1");
    let disk = scratch.path("disk");
    fs::create_dir_all(&root).expect("it can be made");
    fs::File::create(&disk).and_then(|disk| disk.set_len(8 << 20)).expect("there is room");
    let made = Command::new("mkntfs").args(["-F", "-Q", "-q"]).arg(&disk).output();
    assert!(made.as_ref().is_ok_and(|made| made.status.success()), "{made:?}");
    // Mounted in a view of its own of the file system, and unmounted there: its server would last.
    let script = format!(
        "lowntfs-3g -o ignore_case '{disk}' '{at}' > /dev/null 2>&1; \"$0\" \"$@\" || code=$?; \
         cp -r '{at}/t' '{found}'; umount '{at}'; exit ${{code:-0}}",
        disk = disk.display(),
        at = root.display(),
        found = scratch.path("found").display(),
    );
    let roots = scratch.path("roots").display().to_string();
    let words = ["cp", "--local-root", &roots, "--json", "-r", "t", "local[1-2]:/"];
    let plain = garland_in(&scratch).command(&words);
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &script]).arg(plain.get_program()).args(plain.get_args());
    let set = plain.get_envs().filter_map(|(name, value)| Some((name, value?)));
    command.env_clear().envs(set).current_dir(scratch.folder());
    let result = Running::start(command).end().with_code(1).json();
    let (word, reason) = verdict(&result, "local1");
    // It lists all names in lower case.
    let wanted = "copied everything except 2 entries: t/ReadMe: the file system ignores case, and \
                  readme exists there; t/loud: the file system takes it for another name that \
                  exists there";
    assert_eq!((word, reason), ("failed", wanted));
    assert_eq!(verdict(&result, "local2"), ("ok", ""));
    assert_eq!(paths(&scratch.path("found")), ["loud", "readme", "rest"]);
    for name in ["loud", "readme"] {
        let bytes = fs::read(scratch.path("found").join(name)).expect("the file exists");
        assert_eq!(bytes, b"loud", "{name}");
    }
    scratch.assert_nothing_left();
}
