//! Whether a suggested plan takes as long as was predicted: `cargo xtask truth suggest`.
//!
//! `GARLAND_TRUTH_COPIES` is the number of random networks, `GARLAND_TRUTH_SEED` their seed, and
//! `GARLAND_TRUTH_RUN` the only one that is tried. Without the number, one network is judged whose
//! trunk a copy as listed would cross five times.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use garland_core::units::Nanos;
use garland_testkit::{Chance, Garland, Scratch, TestLab, env_number, random_file, random_network};

use crate::scene::{idle_since, processors};
use crate::{SEED, TRIES, program};

/// The largest difference between prediction and copy, relative to the copy.
const NEAR: f64 = 0.1;

/// The fraction of idle processors below which a copy that took longer says nothing.
const IDLE: f64 = 0.05;

/// The time that a copy should take, in seconds.
const LONG_S: f64 = 3.0;

/// The file of the first prediction, and the largest one, in bytes.
const SMALL: u64 = 8 << 20;
const LARGEST: u64 = 128 << 20;

const TRUNK: &str = "version = 1\n[topology]\nshape = \"leaf-spine\"\nnodes = 7\nleaves = 2\n\
    spines = 1\nrate = \"100mbit\"\nuplink = \"40mbit\"\n";

/// A kind of options that change what a byte costs.
#[derive(Clone, Copy, Debug)]
enum Handled {
    Usual,
    Plain,
    /// Links of so many Mbit/s.
    Limited(u64),
    /// Compressed like this, of a source like a log.
    Packed(&'static str),
}

/// A prediction, and the copy that followed it.
struct Compared {
    predicted: f64,
    measured: f64,
    /// The fraction of the time in which the processors of this machine were idle.
    idle: f64,
    options: String,
    handled: Handled,
    /// What `explain` says of the copy.
    explained: String,
}

impl Handled {
    fn draw(chance: &mut Chance) -> Self {
        match chance.below(6) {
            0 | 1 => Self::Usual,
            2 => Self::Plain,
            3 => Self::Limited(10 + chance.below(90)),
            _ => Self::Packed(chance.pick(&["lz4", "zstd", "auto"])),
        }
    }

    /// Returns the options of the copy.
    fn words(self) -> Vec<String> {
        match self {
            Self::Usual => Vec::new(),
            Self::Plain => vec!["--no-encrypt".to_owned()],
            Self::Limited(mbit) => vec!["--bwlimit".to_owned(), format!("{mbit}mbit")],
            Self::Packed(kind) => vec!["--compress".to_owned(), kind.to_owned()],
        }
    }

    /// Makes a source of so many bytes.
    fn source(self, path: &Path, bytes: u64) {
        let Self::Packed(_) = self else { return random_file(path, bytes, bytes) };
        let mut chance = Chance::new(bytes, 0);
        let mut text = String::new();
        while (text.len() as u64) < bytes {
            let node = chance.below(1000);
            let ms = chance.below(1 << 40);
            let _ = writeln!(text, "node{node} has done its work and took {ms} ms");
        }
        fs::write(path, &text.as_bytes()[..bytes as usize]).expect("there is room");
    }
}

/// Returns the seconds that `cp --dry-run` says a copy takes.
fn said(text: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix("order: ")).expect("a reason");
    let after = line.strip_prefix("as listed; ").or_else(|| Some(line.split_once("lab, ")?.1));
    let after = after.unwrap_or_else(|| panic!("no time: {line}"));
    let end = after.find([';', 'b']).unwrap_or(after.len());
    let time: Nanos = after[..end].trim().parse().unwrap_or_else(|_| panic!("no time: {line}"));
    time.as_secs_f64()
}

impl Compared {
    fn error(&self) -> f64 {
        (self.predicted / self.measured - 1.0).abs()
    }
}

/// Returns the options that `plan suggest` prints for a copy, which must be the one that `cp`
/// makes: it is predicted to take `predicted` seconds. What compression saves only `cp` knows,
/// which has the source.
fn suggested(
    lab: &TestLab<'_>,
    nodes: &str,
    bytes: u64,
    handled: Handled,
    predicted: f64,
) -> String {
    if matches!(handled, Handled::Packed(_)) {
        return String::new();
    }
    let words = ["plan", "suggest", &bytes.to_string(), nodes, "--json"];
    let words: Vec<String> = words.map(str::to_owned).into_iter().chain(handled.words()).collect();
    let told = lab.garland.run(&words).with_code(0).json();
    let seconds = told["plans"][0]["seconds"].as_f64().expect("a number");
    assert!((predicted / seconds - 1.0).abs() < 0.01, "cp says {predicted} s, {told}");
    told["options"].as_str().unwrap_or_default().to_owned()
}

/// Asks for a plan for `nodes` of a lab, and makes the copy with these options; the plan is not
/// among them.
fn compared(topology: &str, handled: Handled, order: impl FnOnce(&mut Vec<String>)) -> Compared {
    let scratch = Scratch::in_memory("truth-suggest");
    let garland = Garland::new(program(), &scratch);
    let lab = TestLab::with_topology(garland, &scratch, topology);
    let mut nodes: Vec<String> =
        lab.lab.spec().node_names().skip(1).map(|name| format!("lab:{name}")).collect();
    order(&mut nodes);
    let nodes = nodes.join(",");
    let to = format!("{nodes}:/x");
    let with = |first: &[&str]| -> Vec<String> {
        let first = first.iter().map(|&word| word.to_owned());
        first.chain(handled.words()).chain(["x".to_owned(), to.clone()]).collect()
    };
    let predict = |bytes: u64| {
        handled.source(&scratch.path("x"), bytes);
        said(&lab.garland.run(&with(&["cp", "--dry-run"])).with_code(0).out)
    };
    let enough = SMALL as f64 / predict(SMALL) * LONG_S;
    let bytes = (enough as u64).min(LARGEST);
    let predicted = predict(bytes);
    let options = suggested(&lab, &nodes, bytes, handled, predicted);
    // Agents that are there already: the copy is predicted, not their start.
    let _ = lab.garland.run(&["up", &nodes]).with_code(0);
    let words = with(&["cp", "--json", "--no-fsync"]);
    let before = processors();
    let copied = lab.garland.run(&words).with_code(0).json();
    let idle = idle_since(before);
    let explained = lab.garland.run(&["explain"]).out;
    let _ = lab.garland.run(&["down", &nodes]);
    lab.down();
    let phases = copied["phases"].as_array().expect("a copy has phases").iter();
    let moved = phases.filter(|it| {
        ["first byte", "stream", "drain"].contains(&it["name"].as_str().unwrap_or(""))
    });
    let ns: u64 = moved.map(|phase| phase["ns"].as_u64().expect("a time")).sum();
    Compared { predicted, measured: ns as f64 / 1e9, idle, options, handled, explained }
}

#[test]
fn suggested_plans_take_as_long_as_was_predicted() {
    let Some(copies) = env_number("GARLAND_TRUTH_COPIES") else { return one() };
    let seed = env_number("GARLAND_TRUTH_SEED").unwrap_or(SEED);
    let mut near = 0;
    let mut void = 0;
    let only = env_number("GARLAND_TRUTH_RUN");
    for copy in (1..=copies).filter(|copy| only.is_none_or(|only| only == *copy)) {
        let mut chance = Chance::new(seed, copy);
        let text = random_network(&mut chance);
        // By numbers of their own, so that networks and orders stay those of the seed.
        let handled = Handled::draw(&mut Chance::new(!seed, copy));
        let outcome = compared(&text, handled, |nodes| chance.shuffle(nodes));
        let Compared { predicted, measured, idle, options, handled, explained } = &outcome;
        let shape = text.lines().nth(2).unwrap_or_default();
        println!(
            "{copy}: {shape}: predicted {predicted:.3} s, measured {measured:.3} s, {:.0} % idle, {handled:?}, {options}",
            idle * 100.0
        );
        let is_near = outcome.error() <= NEAR;
        if !is_near {
            println!("{text}\n{explained}");
        }
        near += u64::from(is_near);
        void += u64::from(!is_near && outcome.idle < IDLE);
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
        .map(|_| compared(TRUNK, Handled::Usual, alternate))
        .take_while(|compared| compared.error() > NEAR)
        .collect();
    let errors: Vec<f64> = misses.iter().map(Compared::error).collect();
    let is_void = misses.iter().all(|compared| compared.idle < IDLE);
    assert!(misses.len() < TRIES as usize || is_void, "{errors:?}");
}
