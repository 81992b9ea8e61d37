//! A lab of twelve nodes on a switch, and the proof that nothing of it is left.

use std::ops::Deref;

use garland_testkit::{Scratch, TestLab};
use serde_json::Value;

use crate::garland_in;

/// All of the lab's nodes.
pub const ALL: &str = "lab:n[1-12]";

/// A lab at a rate that the emulator keeps beside other work.
pub struct Stage<'a>(TestLab<'a>);

impl<'a> Stage<'a> {
    /// Builds the lab and starts agents that stay.
    #[track_caller]
    pub fn new(scratch: &'a Scratch) -> Self {
        let words = ["--nodes", "12", "--rate", "50mbit"];
        Self::with_agents(TestLab::up(garland_in(scratch), scratch, &words), ALL)
    }

    /// A lab of the topology `shape`, the text of a topology file's `[topology]`.
    #[track_caller]
    pub fn of_shape(scratch: &'a Scratch, shape: &str, nodes: &str) -> Self {
        let topology = format!("version = 1\n[topology]\n{shape}\n");
        Self::with_agents(TestLab::with_topology(garland_in(scratch), scratch, &topology), nodes)
    }

    #[track_caller]
    fn with_agents(lab: TestLab<'a>, nodes: &str) -> Self {
        let _ = lab.garland.run(&["up", nodes]).with_code(0);
        Self(lab)
    }

    /// Measures all of it, which has no fault.
    #[track_caller]
    pub fn measure(&self) -> Value {
        self.garland.run(&["wires", "--json", ALL]).with_code(0).json()
    }

    /// Measures these nodes until all of `wanted` is named, three times at most: what else this
    /// machine does may hide a fault. Nothing else may be named at any time. In a soak once must
    /// do.
    #[track_caller]
    pub fn finds(&self, nodes: &str, wanted: &[Wanted<'_>]) -> Value {
        let again = if std::env::var_os("GARLAND_SOAK").is_some() { 0 } else { 2 };
        let mut wanted: Vec<Fault> = wanted
            .iter()
            .map(|(part, nodes)| {
                let nodes = nodes.iter().map(|node| format!("lab:{node}"));
                ((*part).to_owned(), nodes.collect())
            })
            .collect();
        wanted.sort();
        for turn in 0.. {
            let said = self.garland.run(&["wires", "--json", nodes]);
            let result = said.json();
            let found = faults(&result);
            assert!(found.iter().all(|one| wanted.contains(one)), "{:#}", result["faults"]);
            assert_eq!(said.code, if found.is_empty() { 0 } else { 4 }, "{}", said.err);
            if found == wanted {
                return result;
            }
            assert!(turn < again, "not all of {wanted:?}: {:#}", result["faults"]);
        }
        unreachable!("the last turn decides")
    }

    /// Takes the lab down, and asserts that nothing of it is left.
    #[track_caller]
    pub fn end(self) {
        self.down();
        self.scratch.assert_nothing_left();
    }
}

impl<'a> Deref for Stage<'a> {
    type Target = TestLab<'a>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

/// The kind of a part that should be named, and its nodes in the lab.
pub type Wanted<'a> = (&'a str, &'a [&'a str]);

/// A part's kind and its nodes.
type Fault = (String, Vec<String>);

/// What is named, sorted.
pub fn faults(result: &Value) -> Vec<Fault> {
    let faults = result["faults"].as_array().expect("a result has faults");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let nodes = |fault: &Value| fault["nodes"].as_array().into_iter().flatten().map(text).collect();
    let mut faults: Vec<Fault> =
        faults.iter().map(|fault| (text(&fault["part"]), nodes(fault))).collect();
    faults.sort();
    faults
}

/// The fault of this kind.
#[track_caller]
pub fn fault<'a>(result: &'a Value, part: &str) -> &'a Value {
    let mut all = result["faults"].as_array().into_iter().flatten();
    all.find(|fault| fault["part"] == part).expect("it is named")
}
