//! Wires with a delay: round trips take twice as long as it, between any pair.

use garland_testkit::{Scratch, TestLab};

use crate::garland_in;

#[test]
fn a_round_trip_takes_twice_the_delay() {
    let scratch = Scratch::new("wires-delay");
    let words = ["--nodes", "3", "--rate", "50mbit", "--delay", "20ms"];
    let lab = TestLab::up(garland_in(&scratch), &scratch, &words);
    let _ = lab.garland.run(&["up", "lab:n[1-3]"]).with_code(0);
    let result = lab.garland.run(&["wires", "--json", "lab:n[1-3]"]).with_code(0).json();
    let directions = result["directions"].as_array().unwrap();
    let mut trips: Vec<u64> =
        directions.iter().filter_map(|direction| direction["round_trip_ns"][0].as_u64()).collect();
    trips.sort_unstable();
    assert!(trips.len() >= 3, "{result}");
    // No trip is shorter, and the shortest ones have waited for no processor.
    assert!(trips.iter().all(|trip| *trip >= 40_000_000), "{trips:?}");
    assert!(trips[0] < 44_000_000, "{trips:?}");
}
