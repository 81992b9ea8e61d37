//! Experiments over several topologies: what they print, and when they fail.

use garland_testkit::{Garland, Scratch};
use serde_json::Value;

mod copies;
mod farms;
mod measures;
mod stripes;

/// One topology of the experiment's own, beside it in a file.
const STAR: &str = "\
version = 1
[topology]
shape = \"star\"
nodes = \"srv,n[1-3]\"
rate = \"50mbit\"
";

/// Runs the experiment `text` once, ungraded; what it printed as JSON.
fn run(scratch: &Scratch, text: &str) -> Value {
    run_as(scratch, text, &["--quick"]).with_code(0)
}

/// Returns the only repetition of a result.
fn only(result: &Value) -> &Value {
    let all = result["repetitions"].as_array().expect("repetitions");
    assert_eq!(all.len(), 1, "{result}");
    assert_eq!((&result["grades"], &result["broken"]), (&Value::Null, &Value::Null), "{result}");
    &all[0]
}

/// An experiment that has ended.
struct Ended {
    /// The command's exit code.
    code: i32,
    /// What it printed as JSON.
    result: Value,
}

impl Ended {
    /// Returns what was printed, if the exit code was this one.
    #[track_caller]
    fn with_code(self, code: i32) -> Value {
        assert_eq!(self.code, code, "{}", self.result);
        self.result
    }
}

/// Runs the experiment `text` with more arguments.
fn run_as(scratch: &Scratch, text: &str, more: &[&str]) -> Ended {
    std::fs::write(scratch.path("star.toml"), STAR).expect("it can be written");
    std::fs::write(scratch.path("try.toml"), text).expect("it can be written");
    let path = scratch.path("try.toml").display().to_string();
    let garland = Garland::new(env!("CARGO_BIN_EXE_garland"), scratch);
    let said = garland.run(&[&["scenario", "run", &path, "--json"], more].concat());
    scratch.assert_nothing_left();
    let result = serde_json::from_str(&said.out);
    let result = result.unwrap_or_else(|error| panic!("{error}: {} {}", said.out, said.err));
    Ended { code: said.code, result }
}

/// What was predicted of it, and what came of that, if both are told of this many things.
fn predictions(result: &Value, count: usize) -> Vec<[f64; 2]> {
    let all = result["predictions"].as_array().unwrap();
    let number = |one: &Value, key: &str| {
        one[key]
            .as_f64()
            .filter(|number| *number > 0.0)
            .unwrap_or_else(|| panic!("no {key}: {one}"))
    };
    let both = |one: &Value| [number(one, "predicted"), number(one, "emulated")];
    assert_eq!(all.len(), count, "{result}");
    // What this machine had no time to emulate does not count.
    let void = all.iter().filter(|one| one["void"] == true).count();
    let agreement = &result["agreement"];
    if void == count {
        assert!(agreement.is_null(), "{agreement}");
    } else {
        assert_eq!(
            (&agreement["count"], &agreement["void"]),
            (&(count - void).into(), &void.into())
        );
        assert!(number(agreement, "worst") >= number(agreement, "median"));
    }
    all.iter().map(both).collect()
}
