//! Whether a suggested plan takes as long as was predicted: `cargo xtask truth suggest`.
//!
//! `GARLAND_TRUTH_COPIES` is the number of random networks, `GARLAND_TRUTH_SEED` their seed. Without
//! it, one network is judged whose trunk a copy as listed would cross five times.

use garland_testkit::{Chance, Garland, Scratch, TestLab, random_file, random_network};
use serde_json::Value;

use crate::scene::{idle_since, processors};
use crate::{SEED, TRIES, number};

/// The largest difference between prediction and copy, relative to the copy.
const NEAR: f64 = 0.1;

/// The fraction of idle processors below which a copy that took longer says nothing.
const IDLE: f64 = 0.05;

/// The time that a copy should take, in seconds.
const LONG_S: f64 = 3.0;

/// The largest file, in bytes.
const LARGEST: u64 = 64 << 20;

const TRUNK: &str = "version = 1\n[topology]\nshape = \"leaf-spine\"\nnodes = 7\nleaves = 2\n\
    spines = 1\nrate = \"100mbit\"\nuplink = \"40mbit\"\n";

/// A suggestion, and the copy that followed it.
struct Compared {
    predicted: f64,
    measured: f64,
    /// The fraction of the time in which the processors of this machine were idle.
    idle: f64,
    options: String,
}

impl Compared {
    fn error(&self) -> f64 {
        (self.predicted / self.measured - 1.0).abs()
    }
}

/// Asks for a plan for `nodes` of a lab, and makes the copy with default options.
fn compared(topology: &str, order: impl FnOnce(&mut Vec<String>)) -> Compared {
    let scratch = Scratch::in_memory("truth-suggest");
    let garland = Garland::new(env!("CARGO_BIN_EXE_garland"), &scratch);
    let lab = TestLab::of(garland, &scratch, topology);
    let mut nodes: Vec<String> =
        lab.lab.spec().node_names().skip(1).map(|name| format!("lab:{name}")).collect();
    order(&mut nodes);
    let nodes = nodes.join(",");
    let suggest = |bytes: u64| {
        let words = ["plan", "suggest", &bytes.to_string(), &nodes, "--json"];
        lab.garland.run(&words).with_code(0).json()
    };
    let seconds = |told: &Value| told["plans"][0]["seconds"].as_f64().expect("a number");
    let enough = (8 << 20) as f64 / seconds(&suggest(8 << 20)) * LONG_S;
    let bytes = (enough as u64).min(LARGEST);
    let told = suggest(bytes);
    random_file(&scratch.path("x"), bytes, bytes);
    // Agents that are there already: the copy is predicted, not their start.
    let _ = lab.garland.run(&["up", &nodes]).with_code(0);
    let words = ["cp", "--json", "--no-fsync", "x", &format!("{nodes}:/x")];
    let before = processors();
    let copied = lab.garland.run(&words).with_code(0).json();
    let idle = idle_since(before);
    let _ = lab.garland.run(&["down", &nodes]);
    lab.down();
    let phases = copied["phases"].as_array().expect("a copy has phases").iter();
    let moved = phases.filter(|it| {
        ["first byte", "stream", "drain"].contains(&it["name"].as_str().unwrap_or(""))
    });
    let ns: u64 = moved.map(|phase| phase["ns"].as_u64().expect("a time")).sum();
    let options = told["options"].as_str().unwrap_or_default().to_owned();
    Compared { predicted: seconds(&told), measured: ns as f64 / 1e9, idle, options }
}

#[test]
fn suggested_plans_take_as_long_as_was_predicted() {
    let Some(copies) = number("GARLAND_TRUTH_COPIES") else { return one() };
    let seed = number("GARLAND_TRUTH_SEED").unwrap_or(SEED);
    let (mut near, mut void) = (0, 0);
    for copy in 1..=copies {
        let mut chance = Chance::new(seed, copy);
        let text = random_network(&mut chance);
        let compared = compared(&text, |nodes| chance.shuffle(nodes));
        let Compared { predicted, measured, idle, options } = &compared;
        let shape = text.lines().nth(2).unwrap_or_default();
        println!(
            "{copy}: {shape}: predicted {predicted:.3} s, measured {measured:.3} s, {:.0} % idle, {options}",
            idle * 100.0
        );
        let is_near = compared.error() <= NEAR;
        near += u64::from(is_near);
        void += u64::from(!is_near && compared.idle < IDLE);
    }
    println!(
        "{near} of {copies} copies took as long as was predicted, within 10 %; {void} others are void"
    );
}

/// This machine does other things, too, so one of a few tries decides, if it allows any judgement.
fn one() {
    let alternate = |nodes: &mut Vec<String>| {
        let far = nodes.split_off(3);
        *nodes = far.into_iter().zip(nodes.drain(..)).flat_map(<[_; 2]>::from).collect();
    };
    let misses: Vec<Compared> = (0..TRIES)
        .map(|_| compared(TRUNK, alternate))
        .take_while(|compared| compared.error() > NEAR)
        .collect();
    let errors: Vec<f64> = misses.iter().map(Compared::error).collect();
    let is_void = misses.iter().all(|compared| compared.idle < IDLE);
    assert!(misses.len() < TRIES as usize || is_void, "{errors:?}");
}
