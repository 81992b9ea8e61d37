//! What can't be done, and how it is said.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use garland_testkit::{Scratch, random_file, until};

use crate::garland_in;
use crate::mount::stage::{Stage, shell};

#[test]
fn a_node_without_agent_is_a_host_that_is_down_and_keeps_nobody_waiting() {
    let scratch = Scratch::new("mount-down");
    let stage = Stage::new(&scratch, 2);
    let _ = stage.garland.run(&["down", "local2"]).with_code(0);
    until("an error of the node that is down", || {
        fs::read_dir(stage.path("local2")).is_err_and(|error| error.raw_os_error() == Some(112))
    });
    let names = shell(&stage.path(""), "ls; ls -ld local2; cat 1/../.garland-status");
    assert!(names.starts_with("here\nhome\nlocal1\nlocal2\n"), "{names}");
    assert!(names.contains("no standing agent"), "{names}");
    fs::write(stage.path("local1/x"), "x").expect("the other one is there");
    stage.up();
    until("the node", || fs::write(stage.path("local2/x"), "x").is_ok());
    stage.end();
}

#[test]
fn names_and_paths_that_are_too_long_are_refused_and_nothing_breaks() {
    let scratch = Scratch::new("mount-long");
    let stage = Stage::new(&scratch, 1);
    let long = "x".repeat(256);
    let error = fs::write(stage.path("local1").join(&long), "").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidFilename);
    fs::write(stage.path("local1").join(&long[1..]), "").expect("255 bytes are fine");
    let deep = "n=$(printf 'y%.0s' {1..250}); d=0
        while mkdir $n 2>/dev/null && cd $n; do d=$((d+1)); [ $d -lt 40 ]; done; echo $d";
    assert_eq!(shell(&stage.path("local1"), deep), "16\n", "a path has 4096 bytes at most");
    fs::write(stage.path("local1/after"), "x").expect("it goes on");
    for bad in ["nosuch", "0", "3", "here/nosuch"] {
        assert!(fs::metadata(stage.path(bad)).is_err(), "{bad}");
    }
    assert!(fs::write(stage.path("new"), "").is_err(), "the mount's own folder");
    assert!(fs::create_dir(stage.path("new")).is_err(), "the mount's own folder");
    fs::remove_dir_all(stage.at_node("local1")).unwrap();
    stage.end();
}

#[test]
fn no_path_leads_out_of_the_agents_root() {
    let scratch = Scratch::new("mount-out");
    let stage = Stage::new(&scratch, 1);
    fs::write(scratch.path("secret"), "s").unwrap();
    fs::create_dir(stage.at_node("local1/d")).unwrap();
    // What looks like a folder when it is looked up is a link out when it is used.
    let held = File::open(stage.path("local1/d")).unwrap();
    fs::remove_dir(stage.at_node("local1/d")).unwrap();
    symlink(scratch.folder(), stage.at_node("local1/d")).unwrap();
    let through = format!("/proc/self/fd/{}/secret", std::os::fd::AsRawFd::as_raw_fd(&held));
    assert!(fs::read(through).is_err());
    // A link itself leads where it leads on the machine that reads it.
    until("the link", || {
        fs::read_link(stage.path("local1/d")).is_ok_and(|text| text == scratch.folder())
    });
    drop(held);
    stage.end();
}

#[test]
fn a_full_disk_is_told_to_whoever_writes_or_closes() {
    let scratch = Scratch::new("mount-full");
    let stage = Stage::new(&scratch, 1);
    let small = stage.at_node("local1/small");
    fs::create_dir(&small).unwrap();
    let mut tmpfs = Command::new("mount");
    tmpfs.args(["-t", "tmpfs", "-o", "size=2m", "none"]).arg(&small);
    let mounted = tmpfs.status().expect("mount can be started");
    assert!(mounted.success(), "these tests mount file systems, which needs root");
    random_file(&scratch.path("source"), 8 << 20, 1);
    let said = Command::new("cp")
        .args([scratch.path("source"), stage.path("local1/small/x")])
        .output()
        .expect("cp can be started");
    assert!(!said.status.success());
    let err = String::from_utf8_lossy(&said.stderr);
    assert!(err.contains("No space left on device"), "{err}");
    let mut file = OpenOptions::new().append(true).open(stage.path("local1/small/x")).unwrap();
    let written = file.write_all(&[1; 100_000]).and_then(|()| file.sync_all());
    assert_eq!(written.unwrap_err().kind(), ErrorKind::StorageFull);
    drop(file);
    fs::remove_file(stage.path("local1/small/x")).expect("it can be removed");
    // The node closes the removed file a moment later, and has room then.
    until("room for another file", || {
        let file = File::create(stage.path("local1/small/y"));
        file.and_then(|mut y| y.write_all(b"fits").and_then(|()| y.sync_all())).is_ok()
    });
    assert_eq!(fs::read_to_string(small.join("y")).unwrap(), "fits");
    let unmounted = Command::new("umount").arg("-l").arg(&small).status();
    assert!(unmounted.expect("umount can be started").success());
    stage.end();
}

#[test]
fn a_file_that_is_cut_under_its_reader_ends_there() {
    let scratch = Scratch::new("mount-cut");
    let stage = Stage::new(&scratch, 1);
    random_file(&stage.at_node("local1/x"), 20 << 20, 1);
    let mut file = File::open(stage.path("local1/x")).unwrap();
    let mut start = vec![0; 5 << 20];
    file.read_exact(&mut start).unwrap();
    let there = OpenOptions::new().write(true).open(stage.at_node("local1/x")).unwrap();
    there.set_len(6 << 20).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(2200));
    let mut rest = Vec::new();
    file.read_to_end(&mut rest).unwrap();
    assert_eq!(rest.len(), 1 << 20);
    assert!(fs::read(stage.at_node("local1/x")).unwrap() == [start, rest].concat());
    drop(file);
    stage.end();
}

#[test]
fn what_cannot_be_mounted_is_said_with_what_to_do() {
    let scratch = Scratch::new("mount-usage");
    let garland = garland_in(&scratch);
    let said = garland.run(&["mount", "local1", "./nowhere"]).with_code(3);
    assert!(said.err.contains("nowhere"), "the nodes may come first: {}", said.err);
    let said = garland.run(&["mount", "nowhere", "local1"]).with_code(3);
    assert!(said.err.contains("nowhere: no such file or directory"), "{}", said.err);
    fs::write(scratch.path("file"), "").unwrap();
    let said = garland.run(&["mount", "file", "local1"]).with_code(3);
    assert!(said.err.contains("it is not a directory"), "{}", said.err);
    fs::create_dir(scratch.path("m")).unwrap();
    let said = garland.run(&["mount", "m"]).with_code(2);
    assert!(said.err.contains("garland up NODES"), "{}", said.err);
    let said = garland.run(&["mount", "-u", "m"]).with_code(3);
    let wanted = "/m: nothing is mounted there\nhint: garland mount --status lists the mounts\n";
    assert!(said.err.contains("cannot unmount") && said.err.ends_with(wanted), "{}", said.err);
    let said = garland.run(&["mount", "-u", "nowhere"]).with_code(3);
    assert!(said.err.ends_with("/nowhere: no such file or directory\n"), "{}", said.err);
    let said = garland.run(&["mount", "m", "local[1-2]"]).with_code(0);
    let _ = garland.run(&["mount", "-u", "m"]).with_code(0);
    let wanted = "note    local[1-2]: no standing agent; accesses fail until there is one: \
                  garland up 'local[1-2]'\n";
    assert_eq!(said.err, wanted);
    let said = garland.run(&["mount", "--status"]).with_code(0);
    assert!(said.out.contains("nothing is mounted"), "{}", said.out);
    let stage = Stage::new(&scratch, 1);
    let said = stage.garland.run(&["mount", "m", "local1"]).with_code(3);
    assert!(said.err.contains("another file system is mounted there already"), "{}", said.err);
    assert!(Path::new(&stage.path("local1")).is_dir());
    stage.end();
}
