//! Several mounts of the same nodes.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;

use garland_testkit::{Scratch, random_bytes};

use crate::mount::stage::Stage;

#[test]
fn whoever_opens_after_another_has_closed_sees_what_that_one_wrote() {
    let scratch = Scratch::new("mount-two");
    let stage = Stage::new(&scratch, 1);
    let other = stage.mount("o", &[]);
    let sides = [stage.path("local1/x"), scratch.path("o/local1/x")];
    for round in 0..40 {
        let writes = &sides[round % 2];
        let reads = &sides[(round + 1) % 2];
        let bytes = random_bytes(50_000, round as u64);
        fs::write(writes, &bytes).unwrap();
        assert!(fs::read(reads).unwrap() == bytes, "round {round}");
    }
    let _ = stage.garland.run(&["mount", "-u", "o"]).with_code(0);
    let _ = other.end().with_code(0);
    stage.end();
}

#[test]
fn writers_on_two_machines_keep_what_is_theirs() {
    const SLOT: usize = 5000;
    let scratch = Scratch::new("mount-slots");
    let stage = Stage::new(&scratch, 1);
    let other = stage.mount("o", &[]);
    let sides = [stage.path("local1"), scratch.path("o/local1")];
    fs::write(sides[0].join("slots"), []).unwrap();
    std::thread::scope(|scope| {
        for (place, side) in sides.iter().enumerate() {
            scope.spawn(move || {
                let slots = OpenOptions::new().write(true).open(side.join("slots")).unwrap();
                let name = side.join("log");
                let mut log = OpenOptions::new().append(true).create(true).open(name).unwrap();
                for round in 0..100 {
                    let at = (2 * round + place) * SLOT;
                    slots.write_all_at(&[place as u8 + 1; SLOT], at as u64).unwrap();
                    log.write_all(format!("{place} {round:03}\n").as_bytes()).unwrap();
                }
            });
        }
    });
    let slots = fs::read(stage.at_node("local1/slots")).unwrap();
    assert_eq!(slots.len(), 200 * SLOT);
    for (place, slot) in slots.chunks(SLOT).enumerate() {
        assert!(slot.iter().all(|&byte| byte == (place % 2) as u8 + 1), "slot {place}");
    }
    let log = fs::read_to_string(stage.at_node("local1/log")).unwrap();
    let mut lines: Vec<&str> = log.lines().collect();
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines.len(), 200, "appends from two sides overwrote each other");
    let _ = stage.garland.run(&["mount", "-u", "o"]).with_code(0);
    let _ = other.end().with_code(0);
    stage.end();
}
