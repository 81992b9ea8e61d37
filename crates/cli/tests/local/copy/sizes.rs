//! Sources of every awkward length.

use garland_testkit::{Running, Scratch, Wire, random_file, source, until};

use crate::copy::{assert_copied, garland_in, locals};

const BLOCK: u64 = 64 << 10;

#[track_caller]
fn copies(name: &str, length: u64, more: &[&str]) {
    let scratch = Scratch::new(name);
    let from = scratch.path("s");
    random_file(&from, length, 3);
    let arguments = [&["--block-size", "64KiB"], more, &["s", "local[1-3]:/x"]].concat();
    let said = garland_in(&scratch).cp(&arguments).with_code(0);
    assert!(said.out.contains("ok      local[1-3]\n"), "{}", said.out);
    assert_copied(&scratch, locals(3), "x", &from);
    scratch.assert_nothing_left();
}

#[test]
fn nothing() {
    copies("nothing", 0, &[]);
}

#[test]
fn nothing_over_several_lanes_unsealed() {
    copies("nothing-lanes", 0, &["--rails", "3", "--no-encrypt"]);
}

#[test]
fn one_byte() {
    copies("one", 1, &[]);
}

#[test]
fn one_byte_over_more_lanes_than_blocks() {
    copies("one-lanes", 1, &["--rails", "4"]);
}

#[test]
fn one_byte_less_than_a_block() {
    copies("less", BLOCK - 1, &[]);
}

#[test]
fn exactly_one_block() {
    copies("block", BLOCK, &[]);
}

#[test]
fn one_byte_more_than_a_block() {
    copies("more", BLOCK + 1, &[]);
}

#[test]
fn many_blocks_to_the_byte() {
    copies("many", 100 * BLOCK, &[]);
}

#[test]
fn many_blocks_and_one_byte_less() {
    copies("many-less", 100 * BLOCK - 1, &["--no-encrypt"]);
}

#[test]
fn many_blocks_and_one_byte_more() {
    copies("many-more", 100 * BLOCK + 1, &["--no-encrypt"]);
}

#[test]
fn a_long_file_has_several_writers_where_there_are_processors_for_them() {
    const LENGTH: u64 = (70 << 20) + 4321;
    let scratch = Scratch::new("writers");
    let from = source(&scratch, LENGTH);
    let ways: [&[&str]; 3] = [&[], &["--no-encrypt", "--rails", "2"], &["--compress", "zstd"]];
    for more in ways {
        let garland = garland_in(&scratch).over(Wire::slow(800));
        let roots = scratch.path("roots");
        let roots = roots.to_str().expect("a path in UTF-8");
        let words = ["cp", "--whole", "--local-root", roots, "source.bin", "local[1-2]:/x"];
        let mut command = garland.command(&[&words, more].concat());
        command.env("GARLAND_PROCESSORS", "16");
        let copy = Running::start(command);
        let agent = garland.agent("local2");
        let tasks = format!("/proc/{}/task", agent.pid);
        until("four writers", || {
            let threads = std::fs::read_dir(&tasks).into_iter().flatten().flatten();
            let names = threads.map(|thread| std::fs::read_to_string(thread.path().join("comm")));
            names.filter(|name| name.as_ref().is_ok_and(|name| name == "writer\n")).count() == 4
        });
        let _ = copy.end().with_code(0);
        assert_copied(&scratch, locals(2), "x", &from);
        scratch.assert_nothing_left();
    }
}

#[test]
fn a_fast_network_card_gets_lanes_that_keep_up_with_it() {
    let ways: [(u64, &[&str], usize); 4] = [
        (400, &[], 2),
        (400, &["--rails", "1"], 1),
        (400, &["--bwlimit", "10GB/s"], 1),
        (10, &[], 1),
    ];
    for (gbits, more, lanes) in ways {
        let scratch = Scratch::new("fast-card");
        let from = scratch.path("source.bin");
        // Each of two lanes has at least 128 MiB: a hole, which takes no time.
        let file = std::fs::File::create(&from).expect("it can be made");
        file.set_len(300 << 20).expect("it has room");
        let garland = garland_in(&scratch);
        let roots = scratch.path("roots");
        let roots = roots.to_str().expect("a path in UTF-8");
        let words = ["cp", "--local-root", roots, "source.bin", "local[1-2]:/x"];
        let mut command = garland.command(&[&words, more].concat());
        command.env("GARLAND_PROCESSORS", "16");
        command.env("GARLAND_NIC_RATE", (gbits * 1_000_000_000).to_string());
        let _ = Running::start(command).end().with_code(0);
        assert_copied(&scratch, locals(2), "x", &from);
        let plan = garland.runs()[0].join("plan.json");
        let plan = std::fs::read_to_string(plan).expect("it was kept");
        let plan: serde_json::Value = serde_json::from_str(&plan).expect("it is JSON");
        let found = plan["lanes"].as_array().expect("a list").len();
        assert_eq!(found, lanes, "{gbits} Gbit/s, {more:?}");
        scratch.assert_nothing_left();
    }
}
