//! `--delete`: what a folder has and the source hasn't goes, and nothing else does.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use garland_sys::fuse;
use garland_testkit::{Scratch, Wire};
use rustix::fs::{FileType, Mode};

use crate::trees::compare::assert_equal;
use crate::trees::{garland_in, paths, verdict, write};

/// A source, and something else where it is to go.
fn both(scratch: &Scratch, to: &str) {
    for path in ["a", "d/b", "d/e/c", "kept/x.o", "cache/1"] {
        write(scratch, &format!("from/{path}"), path);
        write(scratch, &format!("{to}/{path}"), "something else");
    }
    let more = [
        "more",
        "d/more/deep/er",
        "d/e/x.o",
        "gone/x.o",
        "gone/cache/2",
        "gone/y",
        "cache/more",
        "build/z",
        "d/build/z",
        "was a folder/q",
    ];
    more.iter().for_each(|path| write(scratch, &format!("{to}/{path}"), "more"));
    // Some file systems would take it for another one.
    write(scratch, "from/dot", "dot");
    write(scratch, &format!("{to}/dot"), "something else");
    write(scratch, &format!("{to}/dot."), "more");
    // It keeps its mode if something in it stays.
    fs::set_permissions(scratch.path(to).join("gone"), Permissions::from_mode(0o555)).unwrap();
    fs::create_dir_all(scratch.path("outside/inner")).unwrap();
    write(scratch, "outside/inner/file", "nobody's");
    for (name, target) in [("in", "d"), ("out", "../../../outside"), ("nowhere", "x")] {
        symlink(target, scratch.path(to).join(name)).unwrap();
    }
}

/// Whether there is something, be it a link that leads nowhere.
fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// Whether a line is of a directory that is copied. Of these, rsync names those whose seconds
/// differ.
fn is_of_directory(line: &str) -> bool {
    line.starts_with("copy ") && line.ends_with('/')
}

/// The lines of what would be copied and removed, sorted and without directories that are copied.
fn named_by_garland(scratch: &Scratch, words: &[&str]) -> Vec<String> {
    let shown = garland_in(scratch).cp(&[&["-avnq", "--delete"], words].concat()).with_code(0);
    let mut lines: Vec<String> = shown.out.lines().map(str::to_owned).collect();
    let sum = lines.pop().unwrap();
    let of = |word: &str| lines.iter().filter(|line| line.starts_with(word)).count();
    assert_eq!(sum, format!("changes {} to copy, {} to remove", of("copy "), of("remove ")));
    lines.retain(|line| !is_of_directory(line));
    lines.sort();
    lines
}

/// What rsync names, in our words.
fn named_by_rsync(words: &[&str]) -> Vec<String> {
    let mut rsync = Command::new("rsync");
    let output =
        rsync.args(["-an", "--delete", "--out-format=%i %n"]).args(words).output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    // Of a directory that is not empty it says that it cannot remove it.
    let lines = text.lines().filter(|line| !line.starts_with("cannot delete "));
    let lines = lines.map(|line| line.split_once(' ').unwrap());
    let own = |(item, name): (&str, &str)| {
        let word = if item.starts_with("*deleting") { "remove " } else { "copy   " };
        format!("{word} {}", name.trim_start())
    };
    let mut lines: Vec<String> = lines.map(own).collect();
    lines.retain(|line| !is_of_directory(line));
    lines.sort();
    lines
}

#[test]
fn sockets_and_pipes_on_either_side_keep_nothing_else() {
    let scratch = Scratch::new("tree-delete-special");
    let garland = garland_in(&scratch);
    write(&scratch, "from/file", "file");
    write(&scratch, "from/sub/file", "file");
    let pipe = |path: &str| {
        let path = scratch.path(path);
        rustix::fs::mknodat(rustix::fs::CWD, path, FileType::Fifo, Mode::RWXU, 0).unwrap();
    };
    let socket = |path: &str| drop(UnixListener::bind(scratch.path(path)).unwrap());
    pipe("from/pipe");
    socket("from/sub/socket");
    let into = ["roots/local1/d", "by-rsync"];
    for there in into {
        for path in ["old", "sub/old", "sub/socket", "gone/x"] {
            write(&scratch, &format!("{there}/{path}"), "old");
        }
        pipe(&format!("{there}/old-pipe"));
        pipe(&format!("{there}/pipe"));
        socket(&format!("{there}/sub/old-socket"));
        socket(&format!("{there}/gone/socket"));
    }
    let from = scratch.path("from").display().to_string() + "/";
    let mut rsync = Command::new("rsync");
    rsync.args(["-r", "--delete", &from]).arg(scratch.path("by-rsync"));
    assert!(rsync.status().unwrap().success());
    let shown = garland.cp(&["-nvr", "--delete", "from/", "local1:/d"]).with_code(0).out;
    for gone in ["gone/", "gone/socket", "gone/x", "old", "old-pipe", "sub/old", "sub/old-socket"] {
        assert!(shown.contains(&format!("remove  {gone}\n")), "{gone}: {shown}");
    }
    assert!(!shown.contains("copy    pipe"), "{shown}");
    for unchanged in [0, 3] {
        let result = garland.cp(&["--json", "-r", "--delete", "from/", "local1:/d"]);
        let result = result.with_code(0).json();
        assert_eq!(result["tree"]["deletion_skipped"], 0);
        assert_eq!(result["tree"]["unchanged"], unchanged, "{result}");
        let wanted = ["file", "pipe", "sub/", "sub/file", "sub/socket"];
        for there in into {
            assert_eq!(paths(&scratch.path(there)), wanted, "{there}");
        }
    }
}

#[test]
fn what_rsync_would_delete_is_removed_and_nothing_else() {
    let scratch = Scratch::new("tree-delete");
    let garland = garland_in(&scratch);
    let sets: [&[&str]; 3] = [
        &[],
        &["--exclude", "*.o", "--exclude", "cache/", "--exclude", "/build"],
        &["--exclude", "/gone/**", "--exclude", "more"],
    ];
    for (number, excludes) in sets.into_iter().enumerate() {
        let to = format!("roots/local1/{number}");
        let by = format!("by-rsync/roots/{number}");
        both(&scratch, &to);
        both(&scratch, &by);
        // What is excluded stays as it is, and was not made in the same second.
        let mut touch = Command::new("find");
        touch.args([scratch.path(&to), scratch.path(&by)]).args(["-depth", "-exec", "touch"]);
        assert!(touch.args(["-h", "-d", "2001-02-03", "{}", "+"]).status().unwrap().success());
        let from = scratch.path("from/");
        let into = scratch.path(&by);
        let mut rsync = Command::new("rsync");
        rsync.args(["-a", "--checksum", "--delete"]).args(excludes);
        let from = format!("{}/", from.display());
        let target = format!("local1:/{number}");
        assert_eq!(
            named_by_garland(&scratch, &[excludes, &["from/", &target]].concat()),
            named_by_rsync(&[excludes, &[&from, &into.display().to_string()]].concat())
        );
        let status = rsync.arg(from).arg(&into).status().unwrap();
        assert!(status.success());
        let words = [&["--json", "-r", "--delete"], excludes, &["from/", &target]].concat();
        let result = garland.cp(&words).with_code(0).json();
        assert_eq!(result["tree"]["deletion_skipped"], 0);
        assert!(result["nodes"][0]["removed"].as_u64().unwrap() > 5, "{result}");
        // What stays besides has the times at which either tool has removed something of it.
        for path in paths(&into).iter().filter(|path| !is_there(&scratch.path("from").join(path))) {
            let both = [into.join(path), scratch.path(&to).join(path)];
            let touch = Command::new("touch").args(["-h", "-d", "2001-02-03"]).args(both).status();
            assert!(touch.unwrap().success());
        }
        assert_equal(&into, &scratch.path(&to));
        assert_eq!(paths(&scratch.path("outside")), ["inner/", "inner/file"]);
        fs::remove_dir_all(&into).unwrap();
    }
    // Nothing is left to remove, and nothing is.
    let words = ["--json", "-r", "--delete", "from/", "local1:/0"];
    let result = garland.cp(&words).with_code(0).json();
    assert_eq!(result["nodes"][0]["removed"], 0);
    scratch.assert_nothing_left();
}

#[test]
fn what_is_bound_below_the_destination_stays_and_is_named() {
    let scratch = Scratch::new("tree-delete-bound");
    write(&scratch, "s/a", "a");
    for path in ["s/mnt/", "s/gone/mnt/", "home/"] {
        fs::create_dir_all(scratch.root("local1").join(path)).unwrap();
    }
    write(&scratch, "roots/local1/home/doc", "precious");
    write(&scratch, "roots/local1/s/gone/x", "x");
    let root = scratch.root("local1").display().to_string();
    let mounts = ["s/mnt", "s/gone/mnt"];
    let mounts = mounts.map(|to| format!("mount --bind '{root}/home' '{root}/{to}'"));
    let wire = Wire::quick().and(&mounts.join(" && "));
    let garland = garland_in(&scratch).over(wire);
    let result = garland.cp(&["--json", "-a", "--delete", "s", "local1:/"]).with_code(3).json();
    let (word, reason) = verdict(&result, "local1");
    // The names of a directory have no order.
    assert_eq!(word, "failed", "{reason}");
    for path in ["s/mnt", "s/gone/mnt"] {
        let told = format!("{path}: not removed: something is mounted there");
        assert!(reason.contains(&told), "{reason}");
    }
    let wanted = ["home/", "home/doc", "s/", "s/a", "s/gone/", "s/gone/mnt/", "s/mnt/"];
    assert_eq!(paths(&scratch.root("local1")), wanted);
    scratch.assert_nothing_left();
}

#[test]
fn with_x_nothing_goes_from_a_directory_on_which_something_is_mounted() {
    let scratch = Scratch::new("tree-delete-mounted");
    for path in ["s/a", "s/mnt/b", "s/bound/b", "s/plain/b"] {
        write(&scratch, path, "a");
    }
    for path in ["s/mnt/", "s/bound/", "s/plain/", "home/"] {
        fs::create_dir_all(scratch.root("local1").join(path)).unwrap();
    }
    write(&scratch, "roots/local1/home/doc", "precious");
    write(&scratch, "roots/local1/s/plain/old", "old");
    let root = scratch.root("local1").display().to_string();
    let mounts = format!(
        "mount -t tmpfs none '{root}/s/mnt' && mkdir '{root}/s/mnt/sub' && \
         echo x > '{root}/s/mnt/sub/doc' && mount --bind '{root}/home' '{root}/s/bound'"
    );
    let garland = garland_in(&scratch).over(Wire::quick().and(&mounts));
    let words = ["-a", "-x", "--delete", "-n", "-v", "s", "local1:/"];
    let told = garland.cp(&words).with_code(0).out;
    assert!(told.contains("s/plain/old"), "{told}");
    assert!(!told.contains("doc"), "{told}");
    let words = ["--json", "-a", "-x", "--delete", "s", "local1:/"];
    let result = garland.cp(&words).with_code(0).json();
    assert_eq!(result["nodes"][0]["removed"], 1, "the old one in the plain directory");
    let left = paths(&scratch.root("local1"));
    assert!(left.contains(&"home/doc".to_owned()), "{left:?}");
    // As rsync, it goes without the option.
    let result = garland.cp(&["--json", "-a", "--delete", "s", "local1:/"]).with_code(0).json();
    assert_eq!(result["nodes"][0]["removed"], 3, "{}", result["nodes"][0]);
    scratch.assert_nothing_left();
}

#[test]
fn with_x_a_copied_directory_that_is_a_mount_itself_is_swept() {
    let scratch = Scratch::new("tree-delete-own-mount");
    for path in ["s/a", "s/mnt/b"] {
        write(&scratch, path, "a");
    }
    let root = scratch.root("local1");
    fs::create_dir_all(root.join("s")).unwrap();
    let root = root.display();
    let mounts = format!(
        "mount -t tmpfs none '{root}/s' && mkdir '{root}/s/mnt' && echo x > '{root}/s/old' && \
         mount -t tmpfs none '{root}/s/mnt' && echo x > '{root}/s/mnt/doc'"
    );
    let garland = garland_in(&scratch).over(Wire::quick().and(&mounts));
    for (source, to) in [("s", "local1:/"), ("s/", "local1:/s")] {
        let said = garland.cp(&["-a", "-x", "--delete", "-n", "-v", source, to]).with_code(0).out;
        assert!(said.contains("old") && !said.contains("doc"), "{said}");
        let words = ["--json", "-a", "-x", "--delete", source, to];
        let result = garland.cp(&words).with_code(0).json();
        assert_eq!(result["nodes"][0]["removed"], 1, "{source}");
    }
    scratch.assert_nothing_left();
}

#[test]
fn only_what_was_asked_for_is_swept() {
    let scratch = Scratch::new("tree-delete-bounds");
    both(&scratch, "roots/local1");
    let garland = garland_in(&scratch);
    let all = paths(&scratch.root("local1"));
    // Without the word nothing goes; a folder by its name is swept itself, and not what it is in.
    let _ = garland.cp(&["-r", "from/", "local1:/"]).with_code(0);
    assert_eq!(paths(&scratch.root("local1")), all);
    let said = garland.cp(&["-r", "--delete", "from/d", "local1:/"]).with_code(0).out;
    assert!(said.contains("\nremoved local1: 6 names\n"), "{said}");
    let left = paths(&scratch.root("local1"));
    let gone: Vec<&String> = all.iter().filter(|path| !left.contains(path)).collect();
    let wanted = ["d/build/", "d/build/z", "d/e/x.o", "d/more/", "d/more/deep/", "d/more/deep/er"];
    assert_eq!(gone, wanted);
    let said = garland.cp(&["-r", "--delete", "--dry-run", "from/d", "local1:/"]).with_code(0).out;
    assert!(
        said.contains("\ndelete  files on the nodes that these directories here do not have"),
        "{said}"
    );
    for words in [
        &["--delete", "from/a", "local1:/"][..],
        &["-r", "--delete", "from/a", "local1:/"],
        &["-r", "--delete", "from/a", "from/d", "local1:/"],
        &["-r", "--delete", "local1:/d", "here"],
    ] {
        let _ = garland.cp(words).with_code(2);
    }
    assert_eq!(paths(&scratch.root("local1")), left);
    scratch.assert_nothing_left();
}

#[test]
fn a_folder_of_which_something_stayed_behind_is_left_as_it_is() {
    let scratch = Scratch::new("tree-delete-incomplete");
    both(&scratch, "roots/local1/from");
    // Nobody serves this mount any more: not even root can look at it.
    let dead = scratch.path("from/d/dead");
    fs::create_dir(&dead).unwrap();
    drop(fuse::mount(&dead).unwrap());
    // On the node there is a link where a folder should be: it isn't followed, nor replaced.
    let there = scratch.root("local1").join("from");
    fs::remove_dir_all(there.join("kept")).unwrap();
    symlink("../../../outside", there.join("kept")).unwrap();
    let said = garland_in(&scratch).cp(&["-r", "--delete", "from", "local1:/"]);
    fuse::unmount(&dead, true).unwrap();
    let said = said.with_code(3);
    let line = "\nkept    from/d/: nothing was removed, since one of its entries was not copied\n";
    assert!(said.out.contains(line), "{}", said.out);
    let is_there = |path: &str| there.join(path).symlink_metadata().is_ok();
    let stays = ["d/more/deep/er", "d/build/z", "more", "gone/y", "kept"];
    assert!(stays.iter().all(|path| is_there(path)), "{:?}", paths(&there));
    let goes = ["d/e/x.o", "cache/more"];
    assert!(!goes.iter().any(|path| is_there(path)), "{:?}", paths(&there));
    assert_eq!(paths(&scratch.path("outside")), ["inner/", "inner/file"]);
    scratch.assert_nothing_left();
}

#[test]
fn several_nodes_each_remove_what_is_theirs() {
    let scratch = Scratch::new("tree-delete-nodes");
    both(&scratch, "roots/local1/x");
    write(&scratch, "roots/local2/x/only", "here");
    let words = ["--json", "-r", "--delete", "from/", "local[1-3]:/x"];
    let result = garland_in(&scratch).cp(&words).with_code(0).json();
    let removed = |node: usize| result["nodes"][node]["removed"].as_u64().unwrap();
    assert!(removed(0) > 10 && removed(1) == 1 && removed(2) == 0, "{result}");
    for node in ["local1", "local2", "local3"] {
        assert_eq!(verdict(&result, node), ("ok", ""));
        assert_equal(&scratch.path("from"), Path::new(&scratch.root(node).join("x")));
    }
    scratch.assert_nothing_left();
}

#[test]
fn a_dry_run_names_what_changes_on_which_nodes_and_changes_nothing() {
    let scratch = Scratch::new("tree-named");
    let garland = garland_in(&scratch);
    for path in ["from/a", "from/d/b", "from/d/c"] {
        write(&scratch, path, path);
    }
    let words = ["-r", "from", "local[1-3]:/"];
    let _ = garland.cp(&words[..]).with_code(0);
    fs::remove_dir_all(scratch.root("local2").join("from/d")).unwrap();
    write(&scratch, "roots/local1/from/d/old", "old");
    write(&scratch, "roots/local3/from/d/old", "old");
    write(&scratch, "from/d/c", "something else");
    let would = |words: &[&str]| {
        let words = [&["-avn", "--delete"], words, &["from", "local[1-3]:/"]].concat();
        garland.cp(&words).with_code(0)
    };
    // Names are in the order of the tree; a directory has another time once something in it
    // changes.
    let text = "\
copy    from/  (local2)
copy    from/d/
copy    from/d/b  (local2)
copy    from/d/c
remove  from/d/old  (local[1,3])
changes 4 to copy, 1 to remove
";
    let shown = would(&[]).out;
    assert!(shown.ends_with(text) && shown.contains("tree    3 files"), "{shown}");
    assert_eq!(would(&["-q"]).out, text);
    let json = would(&["--json"]).json();
    assert_eq!(json["schema"], "garland.changes/1");
    assert_eq!(json["changes"].as_array().unwrap().len(), 5, "{json}");
    let removed =
        serde_json::json!({"change": "remove", "path": "from/d/old", "nodes": "local[1,3]"});
    assert_eq!(json["changes"][4], removed);
    assert_eq!((&json["plan"]["version"], &json["failed"]), (&1.into(), &serde_json::json!([])));
    assert!(scratch.root("local1").join("from/d/old").exists());
    // The last copy, which could be resumed, is the first one.
    let runs = garland.run(&["runs", "--json"]).with_code(0).json();
    let kinds: Vec<&str> =
        runs["runs"].as_array().unwrap().iter().filter_map(|run| run["kind"].as_str()).collect();
    assert_eq!(kinds, ["cp", "dry-run", "dry-run", "dry-run"]);
    // The copy names the same.
    let words = ["-av", "--delete", "from", "local[1-3]:/"];
    let shown = garland.cp(&words[..]).with_code(0).out;
    assert!(shown.starts_with(text), "{shown}");
    assert_eq!(would(&["-q"]).out, "changes 0 to copy, 0 to remove\n");
    // Where there is nothing yet, all of it is new.
    let words = ["-anvq", "from/", "local[1-3]:/other"];
    let shown = garland.cp(&words[..]).with_code(0).out;
    assert_eq!(
        shown,
        "copy    a\ncopy    d/\ncopy    d/b\ncopy    d/c\nchanges 4 to copy, 0 to remove\n"
    );
    scratch.assert_nothing_left();
}

#[test]
fn a_dry_run_tells_which_nodes_it_could_not_ask() {
    let scratch = Scratch::new("tree-unasked");
    write(&scratch, "from/a", "a");
    // No agent can have a file as its directory.
    write(&scratch, "roots/local2", "");
    let output = garland_in(&scratch).cp(&["-avn", "from", "local[1-2]:/there"]).with_code(1);
    let text = "copy    from/\ncopy    from/a\nchanges 2 to copy, 0 to remove\nfailed  local2: ";
    assert!(output.out.contains(text), "{}", output.out);
    let output = garland_in(&scratch).cp(&["-avn", "from", "local2:/there"]).with_code(3);
    let is_told = output.out.contains("failed  local2: ") && !output.out.contains("changes");
    assert!(is_told, "{}", output.out);
    for option in ["--whole", "--checksum", "--verify"] {
        for words in
            [["-avn", option, "from", "local1:/there"], ["-av", option, "from", "local1:/there"]]
        {
            let output = garland_in(&scratch).cp(&words).with_code(2);
            assert!(
                output.err.contains("-v names what differs by size and time"),
                "{}",
                output.err
            );
        }
        // A file has no entries to name.
        let _ = garland_in(&scratch).cp(&["-av", option, "from/a", "local1:/there"]).with_code(0);
    }
}
