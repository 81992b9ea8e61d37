//! Sources of every awkward length.

use garland_testkit::{Scratch, random_file};

use crate::{assert_copied, garland, locals};

const BLOCK: u64 = 64 << 10;

#[track_caller]
fn copies(name: &str, length: u64, more: &[&str]) {
    let scratch = Scratch::new(name);
    let from = scratch.path("s");
    random_file(&from, length, 3);
    let arguments = [&["--block-size", "64KiB"], more, &["s", "local[1-3]:/x"]].concat();
    let said = garland(&scratch).cp(&arguments).with_code(0);
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
