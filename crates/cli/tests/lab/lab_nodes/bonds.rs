//! Copies over bonded NICs, in all three meanings, with one lane and with two.

use garland_testkit::Scratch;

use crate::lab_nodes::stage::{Stage, rate};

/// What TCP gets through one wire of 40 Mbit/s, in bytes per second: slow enough that a machine
/// which does other things emulates it, too.
const ONE: f64 = 4e7 / 8.0 * 1448.0 / 1538.0;

/// A bond that gives what it should does so in one of so many copies.
const COPIES: usize = 4;

/// A copy's limit must be so many wires' worth, and its rate within these bounds of one wire's.
struct Expected {
    selector: &'static str,
    lanes: &'static str,
    limit: f64,
    least: f64,
    most: f64,
}

#[test]
fn a_copy_gets_what_its_bond_gives() {
    // A hash may put both lanes on one wire; they get one wire's rate at least.
    let cases = [
        Expected { selector: "packet", lanes: "1", limit: 2.0, least: 1.02, most: 2.0 },
        Expected { selector: "packet", lanes: "2", limit: 2.0, least: 1.02, most: 2.0 },
        Expected { selector: "flow", lanes: "1", limit: 1.0, least: 0.5, most: 1.0 },
        Expected { selector: "flow", lanes: "2", limit: 2.0, least: 0.5, most: 2.0 },
        Expected { selector: "subflow", lanes: "1", limit: 2.0, least: 1.02, most: 2.0 },
        Expected { selector: "subflow", lanes: "2", limit: 2.0, least: 1.02, most: 2.0 },
    ];
    for selector in ["packet", "flow", "subflow"] {
        let scratch = Scratch::new(&format!("bond-{selector}"));
        let stage = Stage::new(
            &scratch,
            &format!(
                "version = 1\n[topology]\nshape = \"bonded\"\nnodes = 2\nrate = \"40mbit\"\n\
                 segments = \"switch\"\nselector = \"{selector}\"\n"
            ),
        );
        for case in cases.iter().filter(|case| case.selector == selector) {
            // Other programs use this machine, too: they take from a copy and never give.
            let mut got: Vec<f64> = Vec::new();
            while got.len() < COPIES && got.last().is_none_or(|got| *got < case.least) {
                let result = stage.copies(16 << 20, "lab:n[1-2]", &["--rails", case.lanes]);
                let limit = result["limit"]["rate"].as_f64().unwrap() / ONE;
                assert!((limit / case.limit - 1.0).abs() < 0.01, "limit {limit}: {result}");
                got.push(rate(&result) / ONE);
            }
            let what = format!("{selector}, {} lanes: {got:.2?} of one wire", case.lanes);
            println!("{what}");
            assert!(got.iter().all(|got| *got < case.most * 1.02), "{what}");
            assert!(got.iter().any(|got| *got >= case.least), "{what}");
        }
    }
}
