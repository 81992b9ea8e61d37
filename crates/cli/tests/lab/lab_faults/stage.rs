//! A lab of the test's own with a source, and the proof that nothing of either is left.

use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use garland_testkit::{Garland, Process, Running, Scratch, TestLab, random_file, until};
use rustix::fs::{FlockOperation, flock};
use serde_json::Value;

use crate::lab_faults::scale::Scale;

/// A lab and a source to copy in it.
pub struct Stage<'a> {
    base: TestLab<'a>,
    /// The source.
    pub source: PathBuf,
    /// The size of lab and source.
    pub scale: Scale,
    roots: PathBuf,
}

/// Memory that an agent keeps to besides its program's pages, in bytes: 64 MiB less the 11 MiB that
/// the optimised program takes. The program that is tested is twice as large.
const OWN_MEMORY: u64 = 53 << 20;

impl<'a> Stage<'a> {
    /// Builds the lab, starts agents that stay, and makes the source.
    #[track_caller]
    pub fn new(scratch: &'a Scratch) -> Self {
        Self::for_copies(scratch, 1)
    }

    /// A lab for a test that leaves `copies` files on every node.
    #[track_caller]
    pub fn for_copies(scratch: &'a Scratch, copies: u64) -> Self {
        Self::build(scratch, Scale::wanted(copies), "").with_agents()
    }

    /// A lab of few nodes for a test that leaves `copies` files on each, whose disks write `rate`.
    #[track_caller]
    pub fn of_slow_disks(scratch: &'a Scratch, copies: u64, rate: &str) -> Self {
        let nodes = 3;
        let scale = Scale { nodes, ..Scale::wanted(copies) };
        let disks = format!("[[topology.node]]\nnames = \"n[1-{nodes}]\"\ndisk = \"{rate}\"\n");
        Self::build(scratch, scale, &disks).with_agents()
    }

    /// Builds the lab and makes the source.
    #[track_caller]
    pub fn without_agents(scratch: &'a Scratch) -> Self {
        Self::build(scratch, Scale::wanted(1), "")
    }

    #[track_caller]
    fn with_agents(self) -> Self {
        let _ = self.garland.run(&["up", &self.list()]).with_code(0);
        self
    }

    /// `disks` is what the topology says of the nodes besides their wires.
    fn build(scratch: &'a Scratch, scale: Scale, disks: &str) -> Self {
        let garland = Garland::new(env!("CARGO_BIN_EXE_garland"), scratch);
        let roots = scale.roots(scratch);
        fs::create_dir_all(&roots).unwrap_or_else(|e| panic!("making {}: {e}", roots.display()));
        let Scale { nodes, mbit, .. } = scale;
        let topology = scratch.path("lab.toml");
        let text = format!(
            "version = 1\n[topology]\nshape = \"switch\"\nnodes = {nodes}\nrate = \"{mbit}mbit\"\n{disks}"
        );
        fs::write(&topology, text).expect("a topology file can be written");
        let lab = TestLab::up(garland, scratch, &[&topology, Path::new("--roots"), &roots]);
        let source = scratch.path("source.bin");
        random_file(&source, scale.length, 1);
        Self { base: lab, source, scale, roots }
    }

    /// All nodes as a list.
    pub fn list(&self) -> String {
        format!("lab:n[1-{}]", self.scale.nodes)
    }

    /// All nodes' names in the lab.
    pub fn nodes(&self) -> impl Iterator<Item = String> + use<> {
        (1..=self.scale.nodes).map(|number| format!("n{number}"))
    }

    /// Starts a copy to all nodes, under `/x`, with `more` arguments.
    pub fn start(&self, more: &[&str]) -> Running {
        let target = format!("{}:/x", self.list());
        self.garland.start(&[&["cp", "--json", "--whole", "source.bin", &target], more].concat())
    }

    /// Copies to all nodes; nothing is done to it and it must succeed. The seconds it took.
    #[track_caller]
    pub fn copy_in_peace(&self) -> f64 {
        let said = self.start(&[]).end().with_code(0);
        self.assert_whole(self.nodes());
        seconds(&said.json())
    }

    /// Waits until the first block has reached every node, and `ms` milliseconds more.
    #[track_caller]
    pub fn await_moment(&self, ms: u64) {
        for node in self.nodes() {
            until(&format!("a block at {node}"), || {
                let partial = names(&self.root(&node)).into_iter();
                let mut partial = partial.filter(|name| name.ends_with(".garland-part"));
                partial.any(|name| starts(&self.root(&node).join(name)))
            });
        }
        std::thread::sleep(Duration::from_millis(ms));
    }

    /// The agents of a copy have kept to their memory; they stay, and their program's pages with
    /// them.
    #[track_caller]
    pub fn assert_memory(&self, result: &Value) {
        for node in result["nodes"].as_array().expect("a result has nodes") {
            let peak = node["memory"].as_u64().expect("an agent reports its memory");
            let name = node["name"].as_str().and_then(|name| name.strip_prefix("lab:"));
            let agents = self.agent(name.expect("it is a lab's"));
            let program: u64 = agents.iter().map(Process::memory_of_files).sum();
            assert!(program > 0 && peak <= program + OWN_MEMORY, "program {program}: {node}");
        }
    }

    /// The agent of a node.
    pub fn agent(&self, node: &str) -> Vec<Process> {
        let pids = self.lab.processes(node).expect("the lab is up");
        pids.into_iter().map(|pid| Process { pid, command: "garland agent".to_owned() }).collect()
    }

    /// Each of `nodes` has the source's bytes under the final name, which are removed then, and
    /// else only what interrupted copies leave.
    #[track_caller]
    pub fn assert_whole(&self, nodes: impl Iterator<Item = String>) {
        for node in nodes {
            let mut left = names(&self.root(&node));
            left.retain(|name| !name.ends_with(".garland-part"));
            assert_eq!(left, ["x"], "in the folder of {node}");
            let path = self.root(&node).join("x");
            let same = Command::new("cmp").arg(&self.source).arg(&path).status();
            assert!(same.expect("cmp can be started").success(), "{node} has other bytes");
            fs::remove_file(&path).expect("it was there");
        }
    }

    /// None of `nodes` has anything under the final name, and one partial file at most, once the
    /// agents have cleaned up; that is removed, so that the next copy is as long as the others.
    #[track_caller]
    pub fn await_empty(&self, nodes: impl Iterator<Item = String>) {
        for node in nodes {
            let left = || names(&self.root(&node));
            let is_left = |name: &String| {
                let file = fs::File::open(self.root(&node).join(name));
                let lock = FlockOperation::NonBlockingLockExclusive;
                name.ends_with(".garland-part") && file.is_ok_and(|it| flock(&it, lock).is_ok())
            };
            until(&format!("the folder of {node}, which has {:?}", left()), || {
                left().len() <= 1 && left().iter().all(is_left)
            });
            for name in left() {
                fs::remove_file(self.root(&node).join(name)).expect("it was there");
            }
        }
    }

    /// Ends everything, and looks that nothing is left of it.
    #[track_caller]
    pub fn end(self) {
        self.down();
        self.scratch.assert_nobody_left();
        assert_eq!(names(&self.roots), Vec::<String>::new(), "folders of nodes are left");
    }
}

impl<'a> Deref for Stage<'a> {
    type Target = TestLab<'a>;

    fn deref(&self) -> &Self::Target {
        &self.base
    }
}

impl Drop for Stage<'_> {
    fn drop(&mut self) {
        self.base.end();
        let _ = fs::remove_dir_all(&self.roots);
    }
}

/// How long the command took, in seconds.
pub fn seconds(result: &Value) -> f64 {
    result["elapsed_ns"].as_u64().expect("a result has its time") as f64 / 1e9
}

/// The verdict of the lab's node `node` and its reason.
#[track_caller]
pub fn verdict<'a>(result: &'a Value, node: &str) -> (&'a str, &'a str) {
    garland_testkit::verdict(result, &format!("lab:{node}"))
}

/// The names in a folder, sorted.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Whether a file's first bytes have been written: sources have no zeros there for long.
fn starts(path: &Path) -> bool {
    let mut first = [0; 64];
    let file = fs::File::open(path);
    let read = file.and_then(|mut file| std::io::Read::read_exact(&mut file, &mut first));
    read.is_ok() && first.iter().any(|&byte| byte != 0)
}
