//! Input that can't be: an error that names operation, object, node, reason and a hint, and nothing
//! done.

use garland_testkit::{RunOutput, Scratch, Wire};

use crate::copy::{garland_in, names_in, source, verdict};

#[track_caller]
fn refused(name: &str, code: i32, arguments: &[&str]) -> RunOutput {
    let scratch = Scratch::new(name);
    let _ = source(&scratch, 10);
    std::fs::create_dir(scratch.path("folder")).expect("it can be made");
    let cluster = "version = 1\nnodes = \"n[1-3]\"\n[groups]\ngpu = \"n[1-2]\"\n";
    std::fs::write(scratch.path("c.toml"), cluster).expect("it can be written");
    let mut said = garland_in(&scratch).cp(arguments).with_code(code);
    // An option of these tests, which the commands in hints have, too.
    let of_tests = format!(" --local-root={}", scratch.path("roots").display());
    said.err = said.err.replace(&of_tests, "");
    scratch.assert_nothing_left();
    said
}

#[test]
fn a_missing_source() {
    let said = refused("missing", 3, &["nosuch", "local[1-2]:/x"]);
    insta::assert_snapshot!(said.err, @"error: cannot open nosuch: no such file or directory");
}

#[test]
fn a_folder_as_source() {
    let said = refused("folder", 3, &["folder", "local[1-2]:/x"]);
    insta::assert_snapshot!(said.err, @r"
    error: cannot copy folder: it is a directory
    hint: directories are copied with -r
    ");
}

#[test]
fn a_device_as_source() {
    let said = refused("device", 3, &["/dev/zero", "local[1-2]:/x"]);
    insta::assert_snapshot!(said.err, @r"
    error: cannot copy /dev/zero: it is a device or a pipe, not a regular file
    hint: to copy its bytes as a stream, give '|cat /dev/zero' as the source
    ");
}

#[test]
fn a_file_without_length_as_source() {
    let said = refused("proc", 3, &["/proc/cpuinfo", "local1:/x"]);
    insta::assert_snapshot!(said.err, @r"
    error: cannot copy /proc/cpuinfo: it has content although its length is 0, like files in /proc
    hint: to copy its bytes as a stream, give '|cat /proc/cpuinfo' as the source
    ");
}

#[test]
fn a_name_that_is_too_long_is_found_before_the_copy() {
    let scratch = Scratch::new("too-long");
    let _ = source(&scratch, 100_000);
    let path = format!("/{}", "n".repeat(256));
    let arguments = ["--json", "source.bin", &format!("local[1-2]:{path}")];
    let result = garland_in(&scratch).cp(&arguments).with_code(3).json();
    let reason = format!("cannot create {path}: file name too long");
    assert_eq!(verdict(&result, "local1"), ("failed", reason.as_str()));
    scratch.assert_nothing_left();
}

#[test]
fn a_node_that_only_ssh_may_know_is_told() {
    let words = ["--cluster", "c.toml", "--dry-run", "source.bin", "n[2-4]:/x"];
    let said = refused("unlisted", 0, &words);
    assert!(said.out.contains("n2, n3, n4"), "{}", said.out);
    insta::assert_snapshot!(said.err, @"note: n4 is not in c.toml, and reached as ssh knows the name");
}

#[test]
fn an_unknown_group() {
    let said = refused("group", 2, &["--cluster", "c.toml", "source.bin", "@gpus:/x"]);
    insta::assert_snapshot!(said.err, @r"
    error: node list `@gpus`, column 1: no group is named gpus
    @gpus
    ^^^^^
    hint: did you mean @gpu, a group of c.toml?
    ");
    let said = refused("far-group", 2, &["--cluster", "c.toml", "source.bin", "@others:/x"]);
    assert!(said.err.contains("\nhint: the groups of c.toml: @"), "{}", said.err);
    let said = refused("no-group", 2, &["source.bin", "@gpus:/x"]);
    insta::assert_snapshot!(said.err, @r"
    error: node list `@gpus`, column 1: cannot read @gpus: groups are defined in the cluster file, but there is no cluster file
    @gpus
    ^^^^^
    hint: a cluster file is ./cluster.toml, ~/.config/garland/cluster.toml, or that of --cluster; `garland man cluster.toml` describes it
    ");
}

#[test]
fn a_broken_node_list() {
    let said = refused("list", 2, &["source.bin", "local[3-1]:/x"]);
    insta::assert_snapshot!(said.err, @r"
    error: node list `local[3-1]`, column 7: the range 3-1 is reversed: write 1-3
    local[3-1]
          ^^^
    ");
    let said = refused("list-open", 2, &["source.bin", "local[1-3:/x"]);
    insta::assert_snapshot!(said.err, @r"
    error: `local[1-3:/x` has a `[` without a `]`
    hint: a destination is NODES:PATH, such as 'n[01-20]:/path'
    ");
}

#[test]
fn a_cluster_file_that_is_wrong_says_where() {
    let scratch = Scratch::new("cluster");
    let _ = source(&scratch, 10);
    let text = "version = 1\n\n[[nodes]]\nnames = \"n[1-3]\"\nrakc = \"r1\"\n";
    std::fs::write(scratch.path("c.toml"), text).expect("it can be written");
    let arguments = ["--cluster", "c.toml", "source.bin", "n1:/x"];
    let said = garland_in(&scratch).cp(&arguments).with_code(2);
    insta::assert_snapshot!(said.err, @"error: c.toml:5:1: unknown key `rakc` in [[nodes]] (did you mean rack?); allowed: names, address, rails, rack, listen, port");
}

#[test]
fn a_destination_that_is_none() {
    let said = |name: &str, end: &str| refused(name, 2, &["source.bin", end]).err;
    insta::assert_snapshot!(said("to-local", "/tmp/x"), @r"
    error: `/tmp/x` is a path on this machine
    hint: a destination is NODES:PATH, such as 'n[01-20]:/path'
    ");
    insta::assert_snapshot!(said("to-here", "./local1:/x"), @r"
    error: `./local1:/x` is a path on this machine
    hint: a destination is NODES:PATH, such as 'n[01-20]:/path'
    ");
    insta::assert_snapshot!(said("to-folder", "folder/x"), @r"
    error: `folder/x` is a path on this machine
    hint: a destination is NODES:PATH, such as 'n[01-20]:/path'
    ");
    insta::assert_snapshot!(said("to-node", "local1"), @r"
    error: `local1` is a path on this machine
    hint: a destination is NODES:PATH, such as 'n[01-20]:/path'; did you mean 'local1:/path'?
    ");
    insta::assert_snapshot!(said("to-nodes", "local[1-3]/data/x"), @r"
    error: `local[1-3]/data/x` is a path on this machine
    hint: a destination is NODES:PATH, such as 'n[01-20]:/path'; did you mean 'local[1-3]:/data/x'?
    ");
    insta::assert_snapshot!(said("to-lab", "lab:n1/x"), @r"
    error: `lab:n1/x` has no path after the nodes
    hint: a destination is NODES:PATH, such as 'n[01-20]:/path'; did you mean 'lab:n1:/x'?
    ");
    insta::assert_snapshot!(said("to-no-node", ":/x"), @r"
    error: `:/x` has no nodes before the colon: write NODES:PATH
    hint: a destination is NODES:PATH, such as 'n[01-20]:/path'; did you mean 'n1:/x', or 'local1:/x' on this machine?
    ");
    insta::assert_snapshot!(said("to-nothing", ""), @r"
    error: the path is empty
    hint: a destination is NODES:PATH, such as 'n[01-20]:/path'
    ");
    insta::assert_snapshot!(said("to-pipe", "-"), @r"
    error: standard output is not a destination
    hint: garland cp FILE n1:- writes to standard output what n1 received
    ");
    insta::assert_snapshot!(said("to-pipes", "local[1-2]:-"), @r"
    error: 2 nodes cannot write to one standard output
    hint: name one node
    ");
    insta::assert_snapshot!(said("to-home", "local1:~/x"), @r"
    error: `~` is not expanded on nodes
    hint: a relative path begins in the home directory: 'local1:x'; for a directory named ~ write 'local1:./~/x'
    ");
    insta::assert_snapshot!(said("to-homes", "local1:~"), @r"
    error: `~` is not expanded on nodes
    hint: a relative path begins in the home directory: 'local1:./'; for a directory named ~ write 'local1:./~'
    ");
}

#[test]
fn a_source_that_is_on_nodes() {
    let said = |name: &str, end: &str| refused(name, 2, &[end, "local1:/x"]).err;
    insta::assert_snapshot!(said("from-node", "n1:/x"), @r"
    error: cannot copy from nodes to nodes: one end of a copy must be a path of this machine
    hint: copy to this machine first: garland cp n1:/x gathered/ && garland cp -r gathered/ local1:/x
    hint: to name a file of this machine, write ./n1:/x or ./local1:/x
    ");
}

#[test]
fn lanes_blocks_and_orders_that_cannot_be() {
    let said = refused("rails", 2, &["--rails", "0", "source.bin", "local1:/x"]);
    insta::assert_snapshot!(said.err, @"error: the plan has 0 lanes: it must have 1 to 64");
    let said = refused("block", 2, &["--block-size", "1GiB", "source.bin", "local1:/x"]);
    insta::assert_snapshot!(said.err, @"error: the block size is 1073741824 bytes: use 4096 to 4194304");
    let said = refused("block", 2, &["--block-size", "99TiB", "source.bin", "local1:/x"]);
    insta::assert_snapshot!(said.err, @"error: the block size is 108851651149824 bytes: use 4096 to 4194304");
    let said = refused("order", 2, &["--order", "local1", "source.bin", "local[1-2]:/x"]);
    insta::assert_snapshot!(said.err, @"error: the given order contains local2 0 times: it must contain each destination node once");
}

#[test]
fn a_folder_where_the_file_should_be_fails_that_node_alone() {
    let scratch = Scratch::new("is-folder");
    let _ = source(&scratch, 100_000);
    for node in ["local1", "local3"] {
        std::fs::create_dir_all(scratch.root(node).join("d")).expect("it can be made");
    }
    std::fs::create_dir_all(scratch.root("local2").join("d/source.bin")).expect("it can be made");
    let said = garland_in(&scratch).cp(&["--json", "source.bin", "local[1-3]:/d"]).with_code(1);
    let result = said.json();
    assert_eq!(verdict(&result, "local1"), ("ok", ""));
    assert_eq!(verdict(&result, "local3"), ("ok", ""));
    let reason = "cannot replace /d/source.bin: it is a directory";
    assert_eq!(verdict(&result, "local2"), ("failed", reason));
    scratch.assert_nothing_left();
}

#[test]
fn a_missing_folder_fails_that_node_alone() {
    let scratch = Scratch::new("no-folder");
    let _ = source(&scratch, 10);
    std::fs::create_dir_all(scratch.root("local1").join("d")).expect("it can be made");
    let said = garland_in(&scratch).cp(&["--json", "source.bin", "local[1-2]:/d/x"]).with_code(1);
    let result = said.json();
    assert_eq!(verdict(&result, "local1"), ("ok", ""));
    let reason = "cannot open the directory /d: no such file or directory; a copy to /d/ makes it";
    assert_eq!(verdict(&result, "local2"), ("failed", reason));
    assert_eq!(names_in(&scratch, "local1", "d"), ["x"]);
    scratch.assert_nothing_left();
}

#[test]
fn a_missing_folder_that_cannot_be_made_is_not_promised() {
    let scratch = Scratch::new("no-folder-made");
    let _ = source(&scratch, 10);
    let root = scratch.root("local1");
    std::fs::create_dir_all(root.join("d")).expect("it can be made");
    let wire = Wire::quick().and(&format!("mount -t tmpfs -o ro none '{}/d'", root.display()));
    let garland = garland_in(&scratch).over(wire);
    let result = garland.cp(&["--json", "source.bin", "local1:/d/e/f/x"]).with_code(3).json();
    let reason = "cannot open the directory /d/e/f: no such file or directory, and it cannot be \
                  made in /d: read-only file system";
    assert_eq!(verdict(&result, "local1"), ("failed", reason));
    scratch.assert_nothing_left();
}

#[test]
fn a_read_only_destination_fails_that_node_alone() {
    let scratch = Scratch::new("read-only");
    let _ = source(&scratch, 100_000);
    let root = scratch.root("local2");
    std::fs::create_dir_all(&root).expect("it can be made");
    let wire = Wire::quick().and(&format!("mount -t tmpfs -o ro none '{}'", root.display()));
    let garland = garland_in(&scratch).over(wire);
    let result = garland.cp(&["--json", "source.bin", "local[1-3]:/x"]).with_code(1).json();
    assert_eq!(verdict(&result, "local1"), ("ok", ""));
    let reason = "cannot create /x: read-only file system";
    assert_eq!(verdict(&result, "local2"), ("failed", reason));
    assert_eq!(verdict(&result, "local3"), ("ok", ""));
    scratch.assert_nothing_left();
}

#[test]
fn with_no_node_left_nothing_is_done() {
    let scratch = Scratch::new("nobody");
    let _ = source(&scratch, 10);
    let said = garland_in(&scratch).cp(&["source.bin", "local[1-3]:/nosuch/x"]).with_code(3);
    let failed = "failed  local[1-3]: cannot open the directory /nosuch: no such file or directory; \
        a copy to /nosuch/ makes it\n";
    assert!(said.out.contains(failed), "{}", said.out);
    scratch.assert_nothing_left();
}

#[test]
fn a_destination_is_no_pattern() {
    let said = refused("cp-pattern", 2, &["source.bin", "local1:/x/*"]);
    let why = "cannot copy to local1:/x/*: a destination is no pattern";
    assert!(said.err.contains(why), "{}", said.err);
    assert!(said.err.contains("into each node's directory: 'local1:/x/'"), "{}", said.err);
}
