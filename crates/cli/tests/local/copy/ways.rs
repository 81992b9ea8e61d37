//! The ways that bytes can take, and what becomes of mode and time.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;

use garland_testkit::{Running, Scratch};

use crate::copy::{assert_copied, garland_in, locals, names_in, source, verdict};

#[track_caller]
fn copies_by(name: &str, more: &[&str]) {
    let scratch = Scratch::new(name);
    let from = source(&scratch, 9_000_001);
    let arguments = [more, &["source.bin", "local[1-4]:/x"]].concat();
    let said = garland_in(&scratch).cp(&arguments).with_code(0);
    assert!(said.out.contains("ok      local[1-4]\n"), "{}", said.out);
    assert_copied(&scratch, locals(4), "x", &from);
    scratch.assert_nothing_left();
}

#[test]
fn clear() {
    copies_by("clear", &["--no-encrypt"]);
}

#[test]
fn sealed() {
    copies_by("sealed", &[]);
}

#[test]
fn without_fsync() {
    copies_by("no-fsync", &["--no-fsync"]);
}

#[test]
fn over_five_lanes_sealed() {
    copies_by("lanes", &["--rails", "5"]);
}

#[test]
fn over_two_lanes_clear() {
    copies_by("lanes-clear", &["--rails", "2", "--no-encrypt"]);
}

#[test]
fn in_a_given_order() {
    copies_by("order", &["--order", "local4,local2,local[1,3]"]);
}

#[test]
fn with_another_congestion_control() {
    copies_by("congestion", &["--congestion", "reno"]);
}

#[test]
fn with_one_that_the_kernel_has_not() {
    copies_by("no-congestion", &["--congestion", "nosuch"]);
}

#[test]
fn preserve_keeps_mode_and_time_without_set_id_bits() {
    let scratch = Scratch::new("preserve");
    let from = source(&scratch, 5);
    std::fs::set_permissions(&from, PermissionsExt::from_mode(0o6751)).expect("it is ours");
    let time = "2005-02-03T04:05:06.789012345";
    let touched = Command::new("touch").args(["-d", time]).arg(&from).status();
    assert!(touched.expect("touch is there").success());
    let _ = garland_in(&scratch).cp(&["-p", "source.bin", "local[1-2]:/x"]).with_code(0);
    let wanted = from.metadata().expect("the file exists");
    for node in locals(2) {
        let got = scratch.root(&node).join("x").metadata().expect("it was copied");
        assert_eq!((got.mtime(), got.mtime_nsec()), (wanted.mtime(), wanted.mtime_nsec()));
        assert_eq!(format!("{:o}", got.mode() & 0o7777), "751");
    }
}

#[test]
fn without_preserve_the_umask_counts_and_the_file_is_new() {
    let scratch = Scratch::new("umask");
    let from = source(&scratch, 5);
    std::fs::set_permissions(&from, PermissionsExt::from_mode(0o6777)).expect("it is ours");
    let touched = Command::new("touch").args(["-d", "2005-02-03"]).arg(&from).status();
    assert!(touched.expect("touch is there").success());
    let garland = garland_in(&scratch);
    let inner = garland.command(&["cp", "--local-root", "roots", "source.bin", "local1:/x"]);
    let mut command = Command::new("sh");
    command.args(["-c", "umask 027 && exec \"$0\" \"$@\""]).arg(inner.get_program());
    command.args(inner.get_args()).current_dir(scratch.folder());
    command.env("GARLAND_STATE", scratch.state());
    let _ = Running::start(command).end().with_code(0);
    let old = from.metadata();
    let new = scratch.root("local1").join("x").metadata();
    let old = old.expect("the file exists");
    let new = new.expect("it was copied");
    assert_eq!(format!("{:o}", new.mode() & 0o7777), "750");
    assert!(new.mtime() > old.mtime());
}

#[test]
fn a_null_sink_checks_and_drops() {
    let scratch = Scratch::new("null");
    let _ = source(&scratch, 3_000_000);
    let arguments = ["--json", "source.bin", "local[1-3]:/dev/null"];
    let result = garland_in(&scratch).cp(&arguments).with_code(0).json();
    for node in locals(3) {
        assert_eq!(verdict(&result, &node), ("ok", ""));
        assert_eq!(names_in(&scratch, &node, ""), Vec::<String>::new());
    }
    scratch.assert_nothing_left();
}

#[test]
fn standard_output_of_one_node_gives_the_bytes() {
    let scratch = Scratch::new("output");
    let from = source(&scratch, 3_000_001);
    let wanted = std::fs::read(from).expect("the file exists");
    for rails in ["1", "2", "3"] {
        let arguments = ["-q", "--rails", rails, "source.bin", "local1:-"];
        let said = garland_in(&scratch).cp(&arguments).with_code(0);
        let length = said.bytes.len();
        assert!(said.bytes.starts_with(&wanted), "{length} bytes over {rails} rails differ");
    }
    scratch.assert_nothing_left();
}
