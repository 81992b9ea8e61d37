//! Clocks that are wrong are told, and change no answer.

use garland_testkit::Scratch;

use crate::explain::stage::{Stage, first_fault};

#[test]
fn a_clock_that_is_far_off_and_drifts_is_found() {
    let scratch = Scratch::in_memory("explain-clock");
    let stage = Stage::new(&scratch, "");
    let explained = stage.explained(64, &["--inject", "clock:n2:49s,400ppm"]);
    assert_eq!(first_fault(&explained), "clock n2", "{explained:#}");
    let clocks = explained["clocks"].as_array().unwrap();
    let clock = clocks.iter().find(|clock| clock["node"] == "lab:n2").unwrap();
    let ahead = clock["ahead_ns"].as_i64().unwrap();
    assert!((ahead - 49_000_000_000).abs() < 200_000_000, "{clock}");
    let rates = clock["rate_ppm"].as_array().unwrap();
    assert!(rates[0].as_f64().unwrap() < 420.0 && rates[1].as_f64().unwrap() > 380.0, "{clock}");
    let explained = stage.explained(64, &["--inject", "clock:n3:0s,90ms@500ms"]);
    let clocks = explained["clocks"].as_array().unwrap();
    let clock = clocks.iter().find(|clock| clock["node"] == "lab:n3").unwrap();
    let by = clock["steps"][0]["by_ns"].as_i64().unwrap_or_else(|| panic!("{clock}"));
    assert!((by - 90_000_000).abs() < 5_000_000, "{clock}");
}
