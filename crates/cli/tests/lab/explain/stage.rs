//! A lab of the test's own, copies in it, and what `explain` says of them.

use std::ops::Deref;

use garland_testkit::{Garland, Scratch, TestLab, random_file};
use serde_json::Value;

/// A head and three nodes on a switch.
pub struct Stage<'a>(TestLab<'a>);

impl<'a> Stage<'a> {
    /// Builds the lab; `more` is added to its topology.
    #[track_caller]
    pub fn new(scratch: &'a Scratch, more: &str) -> Self {
        let garland = Garland::new(env!("CARGO_BIN_EXE_garland"), scratch);
        let topology = "version = 1\n[topology]\nshape = \"switch\"\nnodes = \"n[0-3]\"\n\
                        rate = \"400mbit\"\n";
        Self(TestLab::with_topology(garland, scratch, &format!("{topology}{more}")))
    }

    /// Runs a command on a node.
    #[track_caller]
    pub fn on(&self, node: &str, command: &[&str]) {
        let _ = self.garland.run(&[&["lab", "exec", node, "--"], command].concat()).with_code(0);
    }

    /// Copies a new file of so many MiB to all nodes, and asks where the time went.
    #[track_caller]
    pub fn explained(&self, mebibytes: u64, more: &[&str]) -> Value {
        self.explained_of("lab:n[1-3]:/x", mebibytes, more)
    }

    /// Copies a new file of so many MiB to these nodes, and asks where the time went.
    #[track_caller]
    pub fn explained_of(&self, destination: &str, mebibytes: u64, more: &[&str]) -> Value {
        let source = self.scratch.path("source");
        random_file(&source, mebibytes << 20, mebibytes);
        let source = source.display().to_string();
        // Always the same bytes: whole, since the nodes have them from the copy before. A slow node
        // is to hold the others up, not to be fed beside them.
        let words =
            [&["cp", "--quiet", "--whole", "--on-slow", "wait", &source, destination], more];
        let _ = self.garland.run(&words.concat()).with_code(0);
        let explained = json(&self.garland.run(&["explain", "--json"]).with_code(0).out);
        assert_sums(&explained);
        explained
    }

    /// Explains copies until one is as it should be, five at most: this machine does
    /// other things, too. In a soak once must do.
    #[track_caller]
    pub fn explained_until(
        &self,
        to: &str,
        mebibytes: u64,
        more: &[&str],
        is_right: impl Fn(&Value) -> bool,
    ) -> Value {
        let again = if std::env::var_os("GARLAND_SOAK").is_some() { 0 } else { 4 };
        let mut explained = self.explained_of(to, mebibytes, more);
        for _ in 0..again {
            if is_right(&explained) {
                break;
            }
            explained = self.explained_of(to, mebibytes, more);
        }
        explained
    }
}

impl<'a> Deref for Stage<'a> {
    type Target = TestLab<'a>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

#[track_caller]
pub fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The rows sum to the copy's whole time.
#[track_caller]
pub fn assert_sums(explained: &Value) {
    let rows = explained["rows"].as_array().unwrap().iter();
    let sum: u64 = rows.map(|row| row["ns"].as_u64().unwrap()).sum();
    assert_eq!(Some(sum), explained["wall_ns"].as_u64(), "{explained:#}");
}

/// The share of the time that has no cause.
pub fn without_cause(explained: &Value) -> f64 {
    let rows = explained["rows"].as_array().unwrap().iter();
    let rows = rows.filter(|row| row["cause"] == "unattributed");
    rows.map(|row| row["share"].as_f64().unwrap()).fold(0.0, |sum, share| sum + share)
}

/// Cause and place of the first fault: `sink disk n2`, `wire n2 to n3`; `none` where there is none.
pub fn first_fault(explained: &Value) -> String {
    faults(explained).into_iter().next().unwrap_or_else(|| "none".to_owned())
}

/// Causes and places of all faults.
pub fn faults(explained: &Value) -> Vec<String> {
    let words = |fault: &Value| {
        let name = |field: &str| fault[field].as_str().map(|name| name.trim_start_matches("lab:"));
        let words = [fault["cause"].as_str(), name("node"), name("to").map(|_| "to"), name("to")];
        words.into_iter().flatten().collect::<Vec<_>>().join(" ")
    };
    explained["faults"].as_array().unwrap().iter().map(words).collect()
}
