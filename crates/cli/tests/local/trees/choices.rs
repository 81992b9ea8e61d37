//! Options of rsync that say what is removed, compared and set, and the list of what was not
//! copied.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use garland_testkit::Scratch;

use crate::trees::{garland_in, paths, write};

#[test]
fn an_empty_source_and_a_limit_keep_what_nodes_have() {
    let scratch = Scratch::new("tree-max-delete");
    fs::create_dir(scratch.path("d")).expect("it can be made");
    ["a", "b", "c"]
        .iter()
        .for_each(|name| write(&scratch, &format!("roots/local1/x/{name}"), name));
    let there = || paths(&scratch.root("local1").join("x")).len();
    let garland = garland_in(&scratch);
    let refused = garland.cp(&["-a", "--delete", "d/", "local[1-2]:/x"]).with_code(3).err;
    let told = "error: cannot copy d/ with --delete: nothing in it can be copied, and all that nodes \
                have there would be removed\nhint: check that it is mounted and readable; --max-delete N";
    assert!(refused.starts_with(told), "{refused}");
    assert_eq!(there(), 3);
    let words = ["-a", "--delete", "--max-delete", "2", "d/", "local[1-2]:/x"];
    let said = garland.cp(&words).with_code(1).out;
    assert!(said.contains(": not removed: --max-delete 2 is reached"), "{said}");
    assert_eq!(there(), 1);
    let _ = garland.cp(&words).with_code(0);
    assert_eq!(there(), 0);
    scratch.assert_nothing_left();
}

#[test]
fn what_a_copy_does_not_set_is_not_copied_again_for_it() {
    let scratch = Scratch::new("tree-unset");
    write(&scratch, "d/f", "f");
    let f = scratch.path("d/f");
    let touch = |path: &Path, time: &str| {
        let touched = Command::new("touch").args(["-d", time]).arg(path).status();
        assert!(touched.expect("it runs").success());
    };
    touch(&f, "2001-02-03 04:05:06.5");
    fs::set_permissions(&f, fs::Permissions::from_mode(0o666)).expect("it is ours");
    let garland = garland_in(&scratch);
    let changes = |options: &[&str]| {
        let words = [&["-avn"], options, &["d", "local1:/"]].concat();
        let said = garland.cp(&words).with_code(0).out;
        said.lines().filter(|line| line.starts_with("copy ")).count()
    };
    let _ = garland.cp(&["-a", "--no-perms", "--no-times", "d", "local1:/"]).with_code(0);
    let there = scratch.root("local1").join("d/f");
    let stat = fs::metadata(&there).expect("the file exists");
    assert_ne!((stat.mode() & 0o7777, stat.mtime()), (0o666, 981_173_106));
    // By its time it is known whether it is the same file.
    assert_eq!(changes(&["--no-perms", "--no-times"]), 1);
    touch(&there, "2001-02-03 04:05:08");
    assert_eq!(changes(&["--no-perms", "--no-times", "--modify-window=2"]), 0);
    assert_eq!(changes(&["--no-perms", "--no-times", "--modify-window=1"]), 1);
    let _ = garland.cp(&["-a", "--modify-window=2", "d", "local1:/"]).with_code(0);
    assert_eq!(fs::metadata(&there).expect("the file exists").mode() & 0o7777, 0o666);
    // From nodes, too.
    let _ = garland.cp(&["-a", "-x", "--no-times", "local1:/d", "."]).with_code(0);
    assert_eq!(fs::metadata(&f).expect("the file exists").mode() & 0o7777, 0o666);
    scratch.assert_nothing_left();
}

#[test]
fn what_was_not_copied_is_listed_as_files_from_reads_it() {
    let scratch = Scratch::new("tree-failed-to");
    for name in ["d/a", "d/e/b", "d/e/c"] {
        write(&scratch, name, name);
    }
    // A directory in the place of a file is not replaced.
    fs::create_dir_all(scratch.root("local2").join("d/e/b")).expect("it can be made");
    let garland = garland_in(&scratch);
    let copy = ["-a", "--failed-to", "list", "d", "local[1-2]:/"];
    let _ = garland.cp(&copy).with_code(1);
    assert_eq!(fs::read_to_string(scratch.path("list")).expect("a list"), "e/b\n");
    fs::remove_dir(scratch.root("local2").join("d/e/b")).expect("it is empty");
    let again = ["-a", "--files-from", "list", "--failed-to", "list", "d", "local[1-2]:/d"];
    let _ = garland.cp(&again).with_code(2);
    let again = ["-a", "--files-from", "list", "--failed-to", "rest", "d", "local[1-2]:/d"];
    let _ = garland.cp(&again).with_code(0);
    let copied = fs::read(scratch.root("local2").join("d/e/b")).expect("the file exists");
    assert_eq!(copied, b"d/e/b");
    assert_eq!(fs::read(scratch.path("rest")).expect("a list"), b"");
    // A list that cannot be written takes nothing of the result.
    fs::create_dir_all(scratch.root("local2").join("x/d/e/b")).expect("it can be made");
    let full = garland.cp(&["-a", "--failed-to", "/dev/full", "d", "local[1-2]:/x"]).with_code(1);
    let said = (full.out, full.err);
    assert!(said.0.contains("ok      local1") && said.1.contains("/dev/full"), "{said:?}");
    // A dry run leaves the list alone.
    let _ = garland.cp(&["-a", "-n", "-v", "--failed-to", "list", "d", "local1:/"]).with_code(0);
    let said = garland.cp(&["-a", "--failed-to", "/dev/stdout", "d", "local1:/"]).with_code(2);
    assert!(said.err.contains("standard output has the result"), "{}", said.err);
    assert_eq!(said.out, "");
    assert_eq!(fs::read(scratch.path("list")).expect("a list"), b"e/b\n");
    let said = garland.cp(&["-a", "--failed-to", "list", "d", "d/e", "local1:/"]).with_code(2);
    assert!(said.err.contains("--failed-to accepts only one SOURCE, not 2\n"), "{}", said.err);
    scratch.assert_nothing_left();
}

#[test]
fn what_a_list_names_is_copied_or_listed_by_its_own_path() {
    let scratch = Scratch::new("tree-listed");
    for name in ["m/own/o", "m/own/p"] {
        write(&scratch, name, name);
    }
    symlink("own", scratch.path("m/ln")).expect("it can be made");
    write(&scratch, "l", "ln/o\nown/o/x\nown/p\nnope/a\n");
    let garland = garland_in(&scratch);
    let there = || paths(&scratch.root("local1").join("m"));
    let listed = |name: &str| fs::read_to_string(scratch.path(name)).expect("a list");
    let copy = ["-a", "--files-from", "l", "--failed-to", "g", "m", "local1:/m"];
    let said = garland.cp(&copy).with_code(1).out;
    assert!(said.contains("m/ln/o: cannot reach it through m/ln: it is a symbolic link"), "{said}");
    assert_eq!(listed("g"), "ln/o\nnope/a\nown/o/x\n");
    assert_eq!(there(), ["own/", "own/p"]);
    // What was not asked for is not copied by the next copy, either.
    write(&scratch, "m/nope/a", "a");
    write(&scratch, "m/nope/unwanted", "unwanted");
    let again = ["-a", "--files-from", "g", "--failed-to", "h", "m", "local1:/m"];
    let _ = garland.cp(&again).with_code(1);
    assert_eq!(listed("h"), "ln/o\nown/o/x\n");
    assert_eq!(there(), ["nope/", "nope/a", "own/", "own/p"]);
    scratch.assert_nothing_left();
}

#[test]
fn a_list_of_what_was_not_copied_is_never_that_of_another_copy_nor_in_its_source() {
    let scratch = Scratch::new("tree-old-list");
    write(&scratch, "d/a", "a");
    fs::create_dir(scratch.path("empty")).expect("it can be made");
    let garland = garland_in(&scratch);
    for words in [&["none"][..], &["--files-from", "none", "d"], &["--delete", "empty"]] {
        write(&scratch, "list", "");
        let words = [&["-a", "--failed-to", "list"], words, &["local1:/"]].concat();
        let _ = garland.cp(&words).with_code(3);
        assert_eq!(fs::read(scratch.path("list")).expect("a list"), b".\n", "{words:?}");
    }
    for list in ["d/a", "d/new"] {
        let refused = garland.cp(&["-a", "--failed-to", list, "d", "local1:/"]).with_code(2).err;
        let told =
            format!("error: cannot write the list of --failed-to to {list}: it is in SOURCE");
        assert!(refused.starts_with(&told), "{refused}");
    }
    assert_eq!(fs::read(scratch.path("d/a")).expect("the file exists"), b"a");
    assert_eq!(paths(&scratch.path("d")), ["a"]);
    // The list is read before it could be written.
    write(&scratch, "list", "a\n");
    let words = ["-a", "--files-from", "-", "--failed-to", "list", "d", "local1:/"];
    let list = File::open(scratch.path("list")).expect("the file exists");
    let _ = garland.start_cp_reading(&words, list).end().with_code(2);
    assert_eq!(fs::read(scratch.path("list")).expect("a list"), b"a\n");
    scratch.assert_nothing_left();
}

#[test]
fn a_dry_run_ends_as_the_copy_would() {
    let scratch = Scratch::new("tree-dry-missing");
    write(&scratch, "d/a", "a");
    write(&scratch, "list", "a\nnone\n");
    let garland = garland_in(&scratch);
    for words in [&["-n"][..], &["-nv"], &["--json", "-n"], &["--json", "-nv"], &[]] {
        let words = [words, &["-r", "--files-from", "list", "d", "local1:/"]].concat();
        let said = garland.cp(&words).with_code(1);
        let has_table = words[0] != "--json";
        assert_eq!(said.out.contains("missed  d/none: "), has_table, "{words:?}: {}", said.out);
    }
}
