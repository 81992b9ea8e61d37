//! The nine faults that were found in dolly 0.63's source, one test each, so that its successor
//! never has them. Two of them, the unauthenticated overwrite and the unversioned wire format, are
//! in `stranger.rs`; they carry the same names.

use garland_testkit::{Scratch, Wire, random_bytes};

use crate::copy::{assert_copied, await_middle, garland_in, locals, names_in, source, verdict};

#[test]
fn dolly_1_an_error_on_one_node_ends_that_node_only() {
    let scratch = Scratch::new("dolly1");
    let from = source(&scratch, 5_000_000);
    std::fs::create_dir_all(scratch.root("local3").join("x/source.bin")).expect("it can be made");
    let result =
        garland_in(&scratch).cp(&["--json", "source.bin", "local[1-5]:/x"]).with_code(1).json();
    let others = || locals(5).filter(|node| node != "local3");
    assert_eq!(verdict(&result, "local3").0, "failed");
    assert!(others().all(|node| verdict(&result, &node).0 == "ok"), "{result}");
    assert_copied(&scratch, others(), "x", &from);
    scratch.assert_nothing_left();
}

#[test]
fn dolly_2_a_stall_in_mid_transfer_never_hangs() {
    let scratch = Scratch::new("dolly2");
    let from = source(&scratch, 16 << 20);
    let garland = garland_in(&scratch).over(Wire::slow(200));
    let copy = garland.start_cp(&["--json", "source.bin", "local[1-3]:/x"]);
    await_middle(&scratch, "local3", &from, 0);
    garland.agent("local2").stop();
    let result = copy.end().with_code(1).json();
    assert_eq!(verdict(&result, "local2").0, "dead");
    assert_copied(&scratch, ["local1", "local3"].map(str::to_owned).into_iter(), "x", &from);
    scratch.assert_nobody_left();
}

#[test]
fn dolly_3_success_is_every_node_s_word_and_not_the_last_one_s() {
    let scratch = Scratch::new("dolly3");
    let _ = source(&scratch, 5_000_000);
    let root = scratch.root("local1");
    std::fs::create_dir_all(&root).expect("it can be made");
    // A disk that takes the beginning and fails in the middle, out of its owner's sight.
    let wire =
        Wire::slow(400).and(&format!("mount -t tmpfs -o size=8m none '{0}'", root.display()));
    let fill = format!("dd if=/dev/zero of='{}/other' bs=1M count=7 2>/dev/null", root.display());
    let garland = garland_in(&scratch).over(wire.and(&fill));
    let result = garland.cp(&["--json", "source.bin", "local[1-3]:/x"]).with_code(1).json();
    assert_eq!(verdict(&result, "local1").0, "failed");
    assert_eq!(verdict(&result, "local2"), ("ok", ""));
    assert_eq!(verdict(&result, "local3"), ("ok", ""));
    scratch.assert_nothing_left();
}

#[test]
fn dolly_4_a_shorter_new_file_leaves_no_tail_of_the_old_one() {
    let scratch = Scratch::new("dolly4");
    let from = source(&scratch, 1000);
    for node in locals(3) {
        std::fs::create_dir_all(scratch.root(&node)).expect("it can be made");
        let old = random_bytes(3_000_000, 9);
        std::fs::write(scratch.root(&node).join("x"), old).expect("it can be written");
    }
    let _ = garland_in(&scratch).cp(&["source.bin", "local[1-3]:/x"]).with_code(0);
    assert_copied(&scratch, locals(3), "x", &from);
    scratch.assert_nothing_left();
}

#[test]
fn dolly_5_every_lane_is_told_of_its_own_end() {
    for (blocks, lanes) in [("0", "3"), ("1", "3"), ("7", "3"), ("9", "3"), ("10", "4")] {
        let scratch = Scratch::new("dolly5");
        let count: u64 = blocks.parse().expect("it is a number");
        let from = source(&scratch, count * 4096);
        let arguments = ["--block-size", "4KiB", "--rails", lanes, "source.bin", "local[1-3]:/x"];
        let _ = garland_in(&scratch).cp(&arguments).with_code(0);
        assert_copied(&scratch, locals(3), "x", &from);
        scratch.assert_nothing_left();
    }
}

#[test]
fn dolly_8_the_dummy_sink_that_the_help_names_is_there() {
    let scratch = Scratch::new("dolly8");
    let _ = source(&scratch, 1_000_000);
    let garland = garland_in(&scratch);
    assert!(garland.run(&["cp", "--help"]).with_code(0).out.contains("/dev/null"));
    let said = garland.cp(&["source.bin", "local[1-2]:/dev/null"]).with_code(0);
    assert!(said.out.contains("ok      local[1-2]\n"), "{}", said.out);
    assert_eq!(names_in(&scratch, "local1", ""), Vec::<String>::new());
    scratch.assert_nothing_left();
}

#[test]
fn dolly_9_lanes_move_by_themselves_and_none_waits_for_the_others() {
    // Dolly sends to its networks in turn from one thread, so one that stops stops all. Here a
    // receiver that dies in the middle of several lanes is spliced out of each of them.
    let scratch = Scratch::new("dolly9");
    let from = source(&scratch, 16 << 20);
    let garland = garland_in(&scratch).over(Wire::slow(200));
    let arguments = ["--json", "--rails", "3", "source.bin", "local[1-3]:/x"];
    let copy = garland.start_cp(&arguments);
    await_middle(&scratch, "local3", &from, 0);
    garland.agent("local2").kill();
    let result = copy.end().with_code(1).json();
    assert_eq!(verdict(&result, "local2").0, "dead");
    assert_copied(&scratch, ["local1", "local3"].map(str::to_owned).into_iter(), "x", &from);
    scratch.assert_nobody_left();
}
