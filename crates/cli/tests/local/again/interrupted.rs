//! Copies that go on where one before them was interrupted.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

use garland_testkit::{Scratch, Wire, random_file};

use crate::again::{assert_same, at, await_middle, bytes_sent, garland_in, source};

const LENGTH: u64 = 64 << 20;
const NODES: [&str; 3] = ["local1", "local2", "local3"];
const WORDS: [&str; 3] = ["--json", "source.bin", "local[1-3]:/x"];

/// Bytes that are certainly there when those behind them are: what is ahead of the writer may be
/// written first.
const WRITTEN: u64 = 16 << 20;
const MIDDLE: u64 = 40 << 20;

#[test]
fn an_interrupted_copy_is_gone_on_with() {
    let scratch = Scratch::new("again-interrupt");
    let _ = source(&scratch, LENGTH);
    let slow = garland_in(&scratch).over(Wire::slow(600));
    let copy = slow.start_cp(&WORDS);
    await_middle(&scratch, "local3", MIDDLE);
    copy.process().interrupt();
    let _ = copy.end().with_code(130);
    assert_eq!(scratch.partial_files().len(), 3, "{:?}", scratch.partial_files());
    assert!(NODES.iter().all(|node| !at(&scratch, node).exists()));
    let said = garland_in(&scratch)
        .run(&["cp", "--resume", "last", "--quiet", "--stripe"])
        .with_code(2)
        .err;
    assert!(said.contains("--stripe has no effect with --resume"), "{said}");
    let result =
        garland_in(&scratch).run(&["cp", "--resume", "last", "--json"]).with_code(0).json();
    for node in NODES {
        let sent = bytes_sent(&result, node);
        assert!(0 < sent && sent <= LENGTH - WRITTEN, "{node} was sent {sent} bytes");
    }
    assert_same(&scratch, &NODES);
    scratch.assert_nothing_left();
}

#[test]
fn what_cannot_be_resumed_is_refused() {
    let scratch = Scratch::new("again-refused");
    let refused = |words: &[&str]| {
        garland_in(&scratch).run(&[&["cp", "--resume", "last"], words].concat()).with_code(2).err
    };
    assert!(refused(&[]).contains("no run has a copy that can be resumed"));
    assert!(refused(&["x", "local1:/x"]).contains("takes no SOURCE"));
    let nothing = std::process::Stdio::null();
    let _ = garland_in(&scratch).start_cp_reading(&["-", "local1:/x"], nothing).end().with_code(0);
    assert!(refused(&[]).contains("its source was a stream"));
    let _ = source(&scratch, LENGTH);
    let slow = garland_in(&scratch).over(Wire::slow(600));
    let copy = slow.start_cp(&WORDS);
    await_middle(&scratch, "local3", WRITTEN);
    assert!(refused(&[]).contains("is still running"));
    copy.process().interrupt();
    let _ = copy.end().with_code(130);
}

#[test]
fn a_run_of_another_user_runs_nothing_here() {
    let scratch = Scratch::new("again-foreign");
    let _ = source(&scratch, 1000);
    let text = "version = 1\nnodes = \"n1\"\n[ssh]\noptions = [\"-oProxyCommand=touch ran\"]\n";
    fs::write(scratch.path("theirs.toml"), text).expect("it can be written");
    let words = ["--cluster", "theirs.toml", "cp", "source.bin", "n1:/x"];
    let _ = garland_in(&scratch).run(&words).with_code(3);
    let forget = || fs::remove_file(scratch.path("ran"));
    forget().expect("the copy's own command ran it");
    let run = garland_in(&scratch).runs().pop().expect("the run of the copy");
    let asked = run.to_str().expect("a path of text");
    let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
    let refused = |why: &str| {
        let said = garland_in(&scratch).run(&["cp", "--resume", asked]).with_code(2);
        assert!(said.err.contains("is not used: ") && said.err.contains(why), "{}", said.err);
        assert!(!scratch.path("ran").exists(), "{}", said.err);
    };
    // What another user may have written is what another user has written.
    for (path, mode) in [(run.clone(), 0o757), (run.join("command.json"), 0o646)] {
        let former = fs::metadata(&path).expect("the file exists").permissions();
        set(&path, mode).expect("it is this user's");
        refused(&format!("(mode {mode:04o})"));
        fs::set_permissions(&path, former).expect("it is this user's");
    }
    // Only root can give a file to another user.
    if chown(&run, Some(65534), None).is_ok() {
        refused("it belongs to user 65534");
        // It may be read.
        let _ = garland_in(&scratch).run(&["runs", "show", asked]).with_code(0);
        chown(&run, Some(0), None).expect("this is root");
    }
    let _ = garland_in(&scratch).run(&["cp", "--resume", asked]).with_code(3);
    forget().expect("one's own run is gone on with");
    scratch.assert_nothing_left();
}

#[test]
fn what_killed_agents_and_a_killed_head_leave_is_gone_on_with() {
    let scratch = Scratch::new("again-killed");
    let _ = source(&scratch, LENGTH);
    let slow = garland_in(&scratch).over(Wire::slow(600));
    let copy = slow.start_cp(&WORDS);
    await_middle(&scratch, "local3", MIDDLE);
    slow.agent("local2").kill();
    let result = copy.end().with_code(1).json();
    assert_eq!(scratch.partial_files().len(), 1, "{:?}", scratch.partial_files());
    drop(result);
    let again = garland_in(&scratch);
    let result = again.cp(&WORDS).with_code(0).json();
    assert_eq!(["local1", "local3"].map(|node| bytes_sent(&result, node)), [0, 0]);
    let late = bytes_sent(&result, "local2");
    assert!(0 < late && late <= LENGTH - WRITTEN, "{late} bytes");
    assert_same(&scratch, &NODES);
    // Now the head itself.
    NODES.iter().for_each(|node| fs::remove_file(at(&scratch, node)).unwrap());
    let copy = slow.start_cp(&WORDS);
    await_middle(&scratch, "local3", MIDDLE);
    copy.process().kill();
    let _ = copy.end().with_code(128 + 9);
    // At once: some agents still wait for a connection from their head, and hold their files.
    let result = again.run(&["cp", "--resume", "last", "--json"]).with_code(0).json();
    for node in NODES {
        assert!(bytes_sent(&result, node) <= LENGTH - WRITTEN, "{result}");
    }
    assert_same(&scratch, &NODES);
    scratch.assert_nothing_left();
}

#[test]
fn what_is_left_of_another_source_is_told_and_goes() {
    let scratch = Scratch::new("again-other");
    let from = source(&scratch, LENGTH);
    let slow = garland_in(&scratch).over(Wire::slow(600));
    let interrupted = |middle| {
        let copy = slow.start_cp(&WORDS);
        await_middle(&scratch, "local3", middle);
        copy.process().interrupt();
        let _ = copy.end().with_code(130);
        assert_eq!(scratch.partial_files().len(), 3, "one a node");
    };
    interrupted(MIDDLE);
    // The same length and time, and nothing else.
    let time = fs::metadata(&from).unwrap().modified().unwrap();
    random_file(&from, LENGTH, 12);
    fs::File::options().write(true).open(&from).unwrap().set_modified(time).unwrap();
    interrupted(WRITTEN);
    random_file(&from, LENGTH, 13);
    let said = garland_in(&scratch).cp(&WORDS[1..]).with_code(0).out;
    let left = "\nleft    local[1-3]: the partial file of an interrupted copy could not be used, and was removed\n";
    assert!(said.contains(left), "{said}");
    assert!(!said.contains("already"), "{said}");
    assert_same(&scratch, &NODES);
    scratch.assert_nothing_left();
}
