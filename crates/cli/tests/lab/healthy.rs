//! Healthy copies of all kinds, at many rates, with processors that bind and wires that pass
//! bursts: no node is called slow, detached, or even tried on the side. `GARLAND_SOAK_HEALTHY` is
//! the number of copies, `cargo xtask soak healthy` makes two hundred.

use std::fs::File;
use std::os::unix::fs::FileExt;

use garland_testkit::{Chance, Garland, Scratch, TestLab, env_number, random_bytes, random_file};
use serde_json::Value;

/// The copies of a usual run of the tests.
const FEW: u64 = 5;

/// The seconds that the bytes of a copy take on its wires, and the most bytes.
const SECONDS: u64 = 3;
const MOST_BYTES: u64 = 192 << 20;

/// The length of files with holes.
const SPARSE_BYTES: u64 = 64 << 30;

/// Rates of the wires in Mbit/s; 0 means unshaped.
const RATES: [u64; 8] = [10, 25, 50, 100, 200, 500, 1000, 0];

/// A copy that nothing is done to.
#[derive(Debug)]
struct Healthy {
    nodes: u64,
    mbit: u64,
    bytes: u64,
    kind: Kind,
    more: &'static [&'static str],
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    File,
    /// A file of holes with a few bytes here and there.
    Sparse,
    Tree,
    Stripes,
    Gather,
}

impl Healthy {
    fn draw(seed: u64) -> Self {
        let mut chance = Chance::new(seed, 0);
        let mbit = chance.pick(&RATES);
        let most = if mbit == 0 { MOST_BYTES } else { mbit * 125_000 * SECONDS };
        let kinds = [Kind::File, Kind::File, Kind::Sparse, Kind::Tree, Kind::Stripes, Kind::Gather];
        let kind = chance.pick(&kinds);
        let shapes: [&[&str]; 5] = [
            &["--shape=chain"],
            &["--shape=chain", "--no-encrypt"],
            &["--shape=tree"],
            &["--shape=twins"],
            &[],
        ];
        let more = match kind {
            Kind::File | Kind::Sparse | Kind::Tree => chance.pick(&shapes),
            Kind::Stripes | Kind::Gather => &[],
        };
        Self { nodes: 2 + chance.below(9), mbit, bytes: most.min(MOST_BYTES), kind, more }
    }

    /// Makes the copy, and returns its result.
    fn run(&self, scratch: &Scratch, lab: &TestLab<'_>) -> Value {
        let list = format!("lab:n[1-{}]", self.nodes);
        let nodes = list.as_str();
        let to = format!("{list}:/x");
        let copy = |words: &[&str]| {
            let words = [&["cp", "--json", "--whole"], words, self.more].concat();
            lab.garland.run(&words).with_code(0).json()
        };
        match self.kind {
            Kind::File => {
                random_file(&scratch.path("file"), self.bytes, 1);
                copy(&["file", &to])
            }
            Kind::Sparse => {
                let file = File::create_new(scratch.path("file")).expect("it can be made");
                file.set_len(SPARSE_BYTES).expect("it can be long");
                let mut chance = Chance::new(self.bytes, 1);
                for at in 0..self.bytes >> 22 {
                    let place = chance.below(SPARSE_BYTES >> 22) << 22;
                    file.write_all_at(&random_bytes(4096, at), place).expect("there is room");
                }
                copy(&["file", &to])
            }
            Kind::Stripes => {
                random_file(&scratch.path("file"), self.bytes, 1);
                copy(&["--stripe", "file", &to])
            }
            Kind::Tree => {
                std::fs::create_dir_all(scratch.path("tree")).expect("a directory can be made");
                (0..8).for_each(|at| {
                    random_file(&scratch.path(format!("tree/{at}")), self.bytes / 8, at);
                });
                copy(&["-r", "tree", &to])
            }
            Kind::Gather => {
                for at in 1..=self.nodes {
                    random_file(
                        &lab.root(&format!("n{at}")).join("x"),
                        self.bytes / self.nodes,
                        at,
                    );
                }
                copy(&[&format!("{nodes}:/x"), "gathered/"])
            }
        }
    }
}

#[test]
fn a_healthy_copy_tries_no_node_on_the_side() {
    let copies = env_number("GARLAND_SOAK_HEALTHY").unwrap_or(FEW);
    let seed = env_number("GARLAND_SOAK").unwrap_or(1);
    let mut accused = Vec::new();
    for at in 0..copies {
        let seed = seed.wrapping_mul(1_000_003) + at;
        let healthy = Healthy::draw(seed);
        let scratch = Scratch::in_memory("healthy");
        let garland = Garland::new(env!("CARGO_BIN_EXE_garland"), &scratch);
        let mut words = vec!["--nodes".to_owned(), healthy.nodes.to_string()];
        if healthy.mbit > 0 {
            words.extend(["--rate".to_owned(), format!("{}mbit", healthy.mbit)]);
        }
        let lab = TestLab::up(garland, &scratch, &words);
        std::fs::create_dir_all(scratch.path("gathered")).expect("a directory can be made");
        let result = healthy.run(&scratch, &lab);
        lab.down();
        let nodes = result["nodes"].as_array().expect("a result has nodes");
        let is_accused = |node: &&Value| {
            node["tried"] == true || node["detached"] == true || node["slow"].is_object()
        };
        let who: Vec<String> = nodes.iter().filter(is_accused).map(Value::to_string).collect();
        let took = result["elapsed_ns"].as_f64().expect("a copy takes time") / 1e9;
        println!("{at}: {took:.2} s, accused {}: {healthy:?}", who.len());
        if !who.is_empty() {
            accused.push(format!("seed {seed}: {healthy:?}: {}", who.join("\n  ")));
        }
    }
    assert!(accused.is_empty(), "{} of {copies}:\n{}", accused.len(), accused.join("\n"));
}
