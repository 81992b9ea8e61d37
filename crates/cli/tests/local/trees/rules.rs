//! Which sources go where, and what is left out of them: as rsync does it.

use std::fs::File;
use std::process::Command;
use std::time::SystemTime;

use garland_testkit::{Running, Scratch};

use crate::trees::compare::assert_equal;
use crate::trees::{garland_in, paths, write};

fn make(scratch: &Scratch) {
    for path in ["a/x", "a/in/y.o", "a/in/build/z", "b/x2", "b/in/w", "one", "build/v", "cache/c"] {
        write(scratch, path, path);
    }
    std::fs::create_dir(scratch.path("a/empty")).expect("it can be made");
}

/// What rsync and we make of the same words, which end in the sources.
#[track_caller]
fn as_rsync(scratch: &Scratch, words: &[&str]) {
    let target = scratch.path("rsync");
    let _ = std::fs::remove_dir_all(&target);
    let mut rsync = Command::new("rsync");
    let rsync = rsync.arg("-a").args(words).arg(&target).current_dir(scratch.folder()).status();
    let rsync = rsync.expect("rsync is there");
    assert!(rsync.success(), "{words:?}");
    let _ = std::fs::remove_dir_all(scratch.root("local1"));
    let words = [&["-r"], words, &["local1:/new/t"]].concat();
    let _ = garland_in(scratch).cp(&words).with_code(0);
    let got = scratch.root("local1").join("new/t");
    assert_eq!(paths(&got), paths(&target), "{words:?}");
    let content = |word: &str| word.ends_with('/') || word.ends_with("/.");
    if !words.windows(2).any(|pair| !pair[0].starts_with("--") && content(pair[1])) {
        // Nobody says what this folder is to have, and rsync's was made a moment earlier.
        for folder in [&got, &target] {
            let folder = File::open(folder).expect("the directory exists");
            folder.set_modified(SystemTime::UNIX_EPOCH).expect("it may have it");
        }
    }
    assert_equal(&target, &got);
}

#[test]
fn a_slash_behind_a_folder_means_what_is_in_it() {
    let scratch = Scratch::new("tree-slash");
    make(&scratch);
    for words in [&["a"][..], &["a/"], &["a/."], &["a", "b"], &["a/", "b", "one"]] {
        as_rsync(&scratch, words);
    }
    let whole = scratch.path("a").display().to_string();
    as_rsync(&scratch, &[&whole]);
    as_rsync(&scratch, &[&format!("{whole}/")]);
}

#[test]
fn folders_of_several_sources_become_one() {
    let scratch = Scratch::new("tree-merge");
    make(&scratch);
    write(&scratch, "b/x", b"the later one");
    let _ = garland_in(&scratch).cp(&["-r", "a/", "b/", "local1:/"]).with_code(0);
    let root = scratch.root("local1");
    let wanted = ["empty/", "in/", "in/build/", "in/build/z", "in/w", "in/y.o", "x", "x2"];
    assert_eq!(paths(&root), wanted);
    assert_eq!(std::fs::read(root.join("x")).expect("the file exists"), b"the later one");
}

#[test]
fn patterns_leave_out_what_they_leave_out_of_rsync() {
    let scratch = Scratch::new("tree-exclude");
    make(&scratch);
    let patterns: [&[&str]; 8] = [
        &["*.o"],
        &["build"],
        &["/build"],
        &["build/"],
        &["/a/in"],
        &["in/build"],
        &["**/z"],
        &["x*", "[xyz]"],
    ];
    for patterns in patterns {
        let excludes = patterns.iter().flat_map(|pattern| ["--exclude", pattern]);
        let words: Vec<&str> = excludes.chain(["a", "b", "build", "cache"]).collect();
        as_rsync(&scratch, &words);
    }
    as_rsync(&scratch, &["--exclude", "/in", "a/"]);
    // The first pattern that matches decides, wherever it stands.
    let all = ["a", "b", "build", "cache"];
    write(&scratch, "patterns", b"# kept\n+ y.o\n\n; skipped\n*.o\r\n- build/\n");
    let lists: [&[&str]; 5] = [
        &["--include", "y.o", "--exclude", "*.o"],
        &["--exclude", "*.o", "--include", "y.o"],
        &["--include", "in/", "--exclude", "in", "--exclude=w", "--include=**/w"],
        &["--exclude-from", "patterns"],
        &["--exclude=y.*", "--exclude-from=patterns", "--include=y.o"],
    ];
    for list in lists {
        as_rsync(&scratch, &[list, &all].concat());
    }
}

#[test]
fn the_paths_of_a_list_are_copied_as_by_rsync() {
    let scratch = Scratch::new("tree-list");
    make(&scratch);
    write(&scratch, "lines", b"# some\na/in/y.o\n\n/b/x2\n./one\n; more\nb/x2\n");
    for words in [["--files-from=lines", "."], ["--files-from=lines", "./"]] {
        as_rsync(&scratch, &words);
    }
    // A directory with everything in it, from names with NUL between them, as find prints them.
    write(&scratch, "names", b"a/in\0cache\0a/in/y.o\0");
    let words = ["-r", "--files-from", "names", ".", "local2:/"];
    let _ = garland_in(&scratch).cp(&words).with_code(0);
    let wanted = ["a/", "a/in/", "a/in/build/", "a/in/build/z", "a/in/y.o", "cache/", "cache/c"];
    assert_eq!(paths(&scratch.root("local2")), wanted);
    let mut command = garland_in(&scratch).command(&[
        "cp",
        "-r",
        "--files-from=-",
        "--local-root=roots",
        ".",
        "local4:/",
    ]);
    command.stdin(File::open(scratch.path("names")).unwrap());
    assert!(command.output().unwrap().status.success());
    assert_eq!(paths(&scratch.root("local4")), wanted);
    let said = garland_in(&scratch).run(&["cp", "--resume", "last"]).with_code(2);
    assert!(said.err.contains("from standard input or a pipe\nhint: start"), "{}", said.err);
    write(&scratch, "missing", b"nosuch\none\n");
    let words = ["-r", "--files-from", "missing", ".", "local3:/"];
    let said = garland_in(&scratch).cp(&words).with_code(1);
    assert!(said.out.contains("missed  ./nosuch: "), "{}", said.out);
    assert_eq!(paths(&scratch.root("local3")), ["one"]);
    write(&scratch, "outside", b"one\n../one\n");
    write(&scratch, "all", b".\n");
    let refused: [(&[&str], &str); 8] = [
        (&["-r", "--files-from=all", "."], "all:1: `.` stands for everything\nhint: start the"),
        (
            &["-r", "--files-from=-", "--exclude-from=-", "."],
            "cannot read --files-from -: --exclude-from - takes all of that input",
        ),
        (&["-r", "--failed-to=-", "."], "--failed-to needs the name of a file, not `-`"),
        (&["--save-plan=-", "one"], "--save-plan needs the name of a file, not `-`"),
        (&["-r", "--files-from=outside", "."], "outside:2: ../one: paths are relative to SOURCE"),
        (
            &["-r", "--files-from=lines", "a", "b"],
            "--files-from accepts only one SOURCE, a directory, not 2",
        ),
        (&["-r", "--files-from=lines", "--delete", "."], "cannot be used with"),
        (&["--files-from=lines", "one"], "required"),
    ];
    for (words, wanted) in refused {
        let said = garland_in(&scratch).cp(&[words, &["local3:/"]].concat()).with_code(2);
        assert!(said.err.contains(wanted), "{words:?}: {}", said.err);
    }
    assert!(!scratch.path("-").exists());
}

#[test]
fn no_copy_is_resumed_without_the_list_that_it_read_from_a_pipe() {
    let scratch = Scratch::new("tree-list-once");
    for name in ["new/a", "patterns", "roots/local1/new/kept"] {
        write(&scratch, name, b"kept\n");
    }
    for (patterns, from) in
        [("-", "< patterns"), ("/dev/stdin", "< patterns"), ("/dev/fd/5", "5< patterns")]
    {
        let line = format!("exec \"$0\" \"$@\" --exclude-from {patterns} new local1:/ {from}");
        let words = ["cp", "-r", "--delete", "--local-root", "roots"];
        let _ = Running::start(garland_in(&scratch).by_shell(&line, &words)).end().with_code(0);
        let said = garland_in(&scratch).run(&["cp", "--resume", "last"]).with_code(2);
        assert!(said.err.contains("a list of paths or patterns from"), "{patterns}: {}", said.err);
        assert_eq!(paths(&scratch.root("local1")), ["new/", "new/a", "new/kept"]);
    }
    // The same file is another one for another command.
    let line = "exec \"$0\" \"$@\" < patterns";
    let words = ["cp", "--local-root", "roots", "/dev/stdin", "local1:/x"];
    let _ = Running::start(garland_in(&scratch).by_shell(line, &words)).end().with_code(0);
    let said = garland_in(&scratch).run(&["cp", "--resume", "last"]).with_code(2);
    assert!(said.err.contains("its source was a stream"), "{}", said.err);
}

#[test]
fn one_plain_file_is_copied_alike_with_and_without_the_word() {
    let scratch = Scratch::new("tree-one");
    make(&scratch);
    let _ = garland_in(&scratch).cp(&["-r", "one", "local1:/name"]).with_code(0);
    assert_eq!(paths(&scratch.root("local1")), ["name"]);
}

#[test]
fn several_plain_files_need_no_word() {
    let scratch = Scratch::new("tree-files");
    write(&scratch, "one", b"1");
    write(&scratch, "two", b"22");
    std::os::unix::fs::symlink("two", scratch.path("link")).expect("a link");
    let garland = garland_in(&scratch);
    let result = garland.cp(&["--json", "one", "two", "local[1-2]:/new/in/"]).with_code(0).json();
    assert_eq!(result["tree"]["files"], 2);
    for node in ["local1", "local2"] {
        let there = scratch.root(node).join("new/in");
        assert_eq!(std::fs::read(there.join("one")).expect("the file exists"), b"1");
        assert_eq!(std::fs::read(there.join("two")).expect("the file exists"), b"22");
    }
    let said = garland.cp(&["one", "link", "local1:/new/in/"]).with_code(2);
    let wanted = "cannot copy link without -r among other sources: it is a symbolic link";
    assert!(said.err.contains(wanted), "{}", said.err);
    let said = garland.cp(&["one", "nosuch", "local1:/new/in/"]).with_code(3);
    assert!(said.err.contains("cannot open nosuch: no such file or directory"), "{}", said.err);
}

#[test]
fn a_destination_without_a_path_is_where_relative_paths_begin() {
    let scratch = Scratch::new("tree-home");
    write(&scratch, "one", b"1");
    let _ = garland_in(&scratch).cp(&["one", "local[1-2]:"]).with_code(0);
    for node in ["local1", "local2"] {
        assert_eq!(paths(&scratch.root(node)), ["one"]);
    }
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_done() {
    let scratch = Scratch::new("tree-refused");
    make(&scratch);
    write(&scratch, "b/in/a/x", b"");
    let garland = garland_in(&scratch);
    let cases: [(&[&str], i32, &str); 13] = [
        (&["a", "local1:/"], 3, "hint: directories are copied with -r"),
        (&["a", "b", "local1:/"], 2, "cannot copy a without -r among other sources: it is a dir"),
        (&["one", "b", "local1:/"], 2, "cannot copy b without -r among other sources: it is a dir"),
        (&["--digest", "one", "one", "local1:/"], 2, "cannot print the digests of several files"),
        (&["one", "two", "--exclude", "x", "local1:/"], 2, "required arguments were not provided"),
        (&["--stripe", "one", "one", "local[1-2]:/"], 2, "cannot copy several sources (2) as one"),
        (&["-r", "a", "b/in/a", "local1:/"], 2, "two sources are named a"),
        (&["-r", "nosuch", "local1:/"], 3, "cannot open nosuch: no such file or directory"),
        (&["-r", "one/", "local1:/"], 3, "cannot open one/: not a directory"),
        (&["-r", "/dev/zero", "local1:/"], 3, "cannot copy /dev/zero: it is a device, not a file"),
        (&["-r", "--exclude", "a[", "a", "local1:/"], 2, "--exclude a[: the bracket at byte 2"),
        (
            &["-r", "a", "local1:-"],
            2,
            "a tree can be copied only to a directory, not to standard output",
        ),
        (&["-r", "--stripe", "a", "local[1-2]:/"], 2, "cannot be used with"),
    ];
    for (words, code, wanted) in cases {
        let said = garland.cp(words).with_code(code);
        assert!(said.err.contains(wanted), "{words:?}: {}", said.err);
    }
    assert_eq!(paths(&scratch.root("local1")), Vec::<String>::new());
}
