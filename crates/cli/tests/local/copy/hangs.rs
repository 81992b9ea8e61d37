//! Disks and file servers that never answer: whoever is in a call to them can't even be killed.

use std::time::Duration;

use garland_sys::clock;
use garland_testkit::{HangingDisk, HangsIn, Scratch, random_bytes, soon, until};
use serde_json::Value;

use crate::copy::{assert_copied, garland_in, locals, source, verdict};

/// The nodes but some.
fn without(nodes: usize, hung: &[&str]) -> impl Iterator<Item = String> {
    let hung: Vec<String> = hung.iter().map(|&name| name.to_owned()).collect();
    locals(nodes).filter(move |name| !hung.contains(name))
}

/// A folder `d` at each of so many nodes; of some it is a disk that hangs like this.
fn folders(scratch: &Scratch, nodes: usize, hung: &[(&str, HangsIn)]) -> Vec<HangingDisk> {
    let mut disks = Vec::new();
    for node in locals(nodes) {
        let folder = scratch.root(&node).join("d");
        match hung.iter().find(|(name, _)| **name == node) {
            Some((_, hangs)) => disks.push(HangingDisk::mount(&folder, *hangs)),
            None => std::fs::create_dir_all(folder).expect("it can be made"),
        }
    }
    disks
}

#[test]
fn a_disk_that_never_returns_is_named_and_holds_nobody_up() {
    let scratch = Scratch::new("hung-disk");
    let from = source(&scratch, 48 << 20);
    let disks = folders(&scratch, 3, &[("local2", HangsIn::Write(20 << 20))]);
    let garland = garland_in(&scratch);
    let copy = garland.start_cp(&[
        "--json",
        "--whole",
        "--stuck-after",
        "10s",
        "source.bin",
        "local[1-3]:/d/y",
    ]);
    copy.await_err("stuck   local2: writing /d/y: no progress for ");
    // The others don't wait until it has failed.
    until("the file at the others", || {
        without(3, &["local2"]).all(|node| scratch.root(&node).join("d/y").exists())
    });
    let result = copy.end().with_code(1).json();
    let (word, reason) = verdict(&result, "local2");
    assert_eq!(word, "failed");
    assert!(reason.starts_with("writing /d/y: no progress for 10 s"), "{reason}");
    for node in without(3, &["local2"]) {
        assert_eq!(verdict(&result, &node).0, "ok");
    }
    assert_copied(&scratch, without(3, &["local2"]), "d/y", &from);
    drop(disks);
    scratch.assert_nobody_left();
}

#[test]
fn whatever_call_hangs_its_node_alone_fails() {
    let scratch = Scratch::new("hung-calls");
    let from = source(&scratch, 1 << 20);
    let hung = [
        ("local2", HangsIn::Create, "opening"),
        ("local3", HangsIn::Write(0), "writing"),
        ("local4", HangsIn::Fsync, "finishing"),
        ("local5", HangsIn::Rename, "finishing"),
    ];
    let disks = folders(&scratch, 6, &hung.map(|(name, hangs, _)| (name, hangs)));
    let said = garland_in(&scratch).cp(&[
        "--json",
        "--whole",
        "--stuck-after",
        "5s",
        "source.bin",
        "local[1-6]:/d/y",
    ]);
    let result = said.with_code(1).json();
    for (name, _, operation) in hung {
        let (word, reason) = verdict(&result, name);
        let wanted = format!("{operation} /d/y: no progress for 5 s");
        // Who hangs while it commits may have the file.
        let verdict = if operation == "finishing" { "unknown" } else { "failed" };
        assert!(word == verdict && reason.starts_with(&wanted), "{name} {word}: {reason}");
    }
    assert_copied(&scratch, without(6, &hung.map(|(name, ..)| name)), "d/y", &from);
    drop(disks);
    scratch.assert_nobody_left();
}

#[test]
fn a_tree_does_not_wait_for_a_disk_that_never_returns() {
    let scratch = Scratch::new("hung-tree");
    let from = source(&scratch, 30 << 20);
    std::fs::create_dir(scratch.path("tree")).expect("it can be made");
    std::fs::copy(&from, scratch.path("tree/one")).expect("it can be copied");
    let disks = folders(&scratch, 3, &[("local1", HangsIn::Write(1 << 20))]);
    let said = garland_in(&scratch).cp(&[
        "--json",
        "-r",
        "--whole",
        "--stuck-after",
        "8s",
        "tree",
        "local[1-3]:/d",
    ]);
    let result = said.with_code(1).json();
    let (word, reason) = verdict(&result, "local1");
    assert!(word == "failed" && reason.starts_with("writing /d: no progress"), "{word}: {reason}");
    assert_copied(&scratch, without(3, &["local1"]), "d/tree/one", &from);
    drop(disks);
    scratch.assert_nobody_left();
}

#[test]
fn a_source_that_never_answers_ends_the_copy() {
    let scratch = Scratch::new("hung-source");
    let here_disk = HangingDisk::mount(&scratch.path("server"), HangsIn::Read(8 << 20));
    here_disk.put("f", random_bytes(40 << 20, 1));
    let there_disk = HangingDisk::mount(&scratch.root("local1").join("d"), HangsIn::Read(8 << 20));
    there_disk.put("f", random_bytes(40 << 20, 2));
    let garland = garland_in(&scratch);
    let stuck = |from, to| garland.start_cp(&["--json", "--stuck-after", "5s", from, to]);
    let copies = [stuck("server/f", "local[2-3]:/x"), stuck("local1:/d/f", "back")];
    // What hangs in the kernel can't end before its disk answers; but it has said all by then.
    let whole = |said: &str| serde_json::from_str::<Value>(said).is_ok();
    let said = copies.each_ref().map(|copy| copy.await_out("its result", whole));
    let results = said.map(|said| serde_json::from_str(&said).expect("it is an object"));
    let reasons = [verdict(&results[0], "local2").1, verdict(&results[1], "local1").1];
    let here = "on this machine: reading server/f: no progress for 5 s";
    assert!(reasons[0].starts_with(here), "{reasons:?}");
    assert!(reasons[1].starts_with("reading /d/f: no progress for 5 s"), "{reasons:?}");
    drop((here_disk, there_disk));
    copies.into_iter().for_each(|copy| drop(copy.end().with_code(3)));
    scratch.assert_nobody_left();
}

#[test]
fn an_interrupt_does_not_wait_for_a_disk_that_never_returns() {
    soon("from Ctrl-C to the end", Duration::from_secs(2), || {
        let scratch = Scratch::new("hung-interrupt");
        let from = source(&scratch, 48 << 20);
        let disks = folders(&scratch, 3, &[("local2", HangsIn::Write(4 << 20))]);
        let garland = garland_in(&scratch);
        let copy = garland.start_cp(&["--json", "--whole", "source.bin", "local[1-3]:/d/y"]);
        until("a call that hangs", || disks.iter().all(|disk| disk.hanging() > 0));
        let others = || without(3, &["local2"]);
        until("the file at the others", || {
            others().all(|node| scratch.root(&node).join("d/y").exists())
        });
        let began = clock::now_ns();
        copy.process().interrupt();
        let result = copy.end().with_code(130).json();
        let waited = Duration::from_nanos(clock::now_ns() - began);
        assert_eq!(verdict(&result, "local2").0, "failed");
        assert_copied(&scratch, others(), "d/y", &from);
        drop(disks);
        scratch.assert_nobody_left();
        waited
    });
}

#[test]
fn a_scan_whose_disk_never_answers_is_named_and_holds_nobody_up() {
    let scratch = Scratch::new("hung-scan");
    let disks = folders(&scratch, 2, &[("local2", HangsIn::List)]);
    std::fs::write(scratch.root("local1").join("d/f"), "content").expect("it can be written");
    let garland = garland_in(&scratch);
    let copy = garland.start_cp(&["--json", "-r", "local[1-2]:/d", "back"]);
    let whole = |said: &str| serde_json::from_str::<Value>(said).is_ok();
    let said = copy.await_out("its result", whole);
    let result = serde_json::from_str(&said).expect("it is an object");
    let (word, reason) = verdict(&result, "local2");
    let wanted = "looking for the files: no progress for 30 s";
    assert!(word == "failed" && reason == wanted, "{word}: {reason}");
    let copied = std::fs::read(scratch.path("back/local1/d/f")).expect("it was copied");
    assert_eq!(copied, b"content");
    drop(disks);
    let _ = copy.end().with_code(1);
    scratch.assert_nobody_left();
}
