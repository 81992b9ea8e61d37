//! The lab, the sources, and the nodes' directories, which are in memory.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use garland_sys::clock;
use garland_testkit::{Garland, HangingDisk, Process, Scratch, TestLab};

use crate::contents::Sources;
use crate::round::{Kind, NODES, Round};

/// The rate of every wire.
const RATE: &str = "200mbit";

/// `--stuck-after` of rounds in which a disk hangs, in seconds.
pub const STUCK_S: u64 = 5;

/// The sizes of disks on which the file finds no room, and some: in MiB.
const SMALL_MIB: u32 = 20;
const LARGE_MIB: u32 = 120;

/// The name of a node of the lab; 0 is the head.
pub fn node_name(node: u32) -> String {
    format!("n{node}")
}

/// A lab and what is copied in it.
pub struct Stage<'a> {
    base: TestLab<'a>,
    /// What is copied.
    pub sources: Sources,
    roots: PathBuf,
}

impl<'a> Stage<'a> {
    /// Builds the lab and makes the sources.
    pub fn new(scratch: &'a Scratch) -> Self {
        let garland = Garland::new(env!("CARGO_BIN_EXE_garland"), scratch);
        let roots = scratch.path("nodes");
        mount_memory(&roots, 8000);
        let nodes = NODES.to_string();
        let roots_word = roots.to_string_lossy().into_owned();
        let words = ["--nodes", &nodes, "--rate", RATE, "--roots", &roots_word];
        let base = TestLab::up(garland, scratch, &words);
        let stage = Self { base, sources: Sources::make(scratch), roots };
        stage.clear();
        stage
    }

    /// All nodes as a list.
    pub fn list(&self) -> String {
        format!("lab:n[1-{NODES}]")
    }

    /// The numbers of all nodes.
    pub fn nodes(&self) -> impl Iterator<Item = u32> + use<> {
        1..=NODES
    }

    /// The destination directory of a node.
    pub fn folder(&self, node: u32) -> PathBuf {
        self.root(&node_name(node)).join("d")
    }

    /// Unmounts the nodes' disks, and removes the files of the last round.
    pub fn clear(&self) {
        for node in self.nodes() {
            let root = self.root(&node_name(node));
            unmount(&root.join("d"));
            for entry in fs::read_dir(&root).into_iter().flatten().flatten() {
                remove(&entry.path());
            }
            fs::create_dir_all(root.join("d")).expect("it was removed");
        }
        for name in ["all", "out", "back", "m"] {
            remove(&self.scratch.path(name));
        }
    }

    /// Mounts the disks that have faults in this round.
    pub fn disks(&self, round: &Round) -> Vec<(u32, HangingDisk)> {
        let mut disks = Vec::new();
        for node in self.nodes() {
            let folder = self.folder(node);
            let hangs = match round.disk(node) {
                Some(Kind::HangingDisk(hangs)) => hangs,
                Some(Kind::SlowDisk(ms)) => {
                    garland_testkit::HangsIn::Never { a_mib: Duration::from_millis(ms) }
                }
                Some(Kind::SmallDisk) => {
                    mount_memory(&folder, SMALL_MIB);
                    continue;
                }
                Some(Kind::FillingDisk) => {
                    mount_memory(&folder, LARGE_MIB);
                    continue;
                }
                _ => continue,
            };
            disks.push((node, HangingDisk::mount(&folder, hangs)));
        }
        disks
    }

    /// Fills the disk of a node, and returns what that was.
    pub fn fill(&self, name: &str) -> String {
        let filler = self.root(name).join("d/filler");
        let zeros = fs::File::open("/dev/zero")
            .and_then(|mut zeros| std::io::copy(&mut zeros, &mut fs::File::create(&filler)?));
        let length = fs::metadata(&filler).map_or(0, |stat| stat.len());
        format!(
            "{length} bytes: {}",
            zeros.map_or_else(|error| error.to_string(), |_| String::new())
        )
    }

    /// Has nftables of a node obey.
    pub fn nft(&self, name: &str, rules: &str) {
        let mut command = self.lab.command(name, "nft").expect("it is a node of the lab");
        let status = command.arg(rules).stdin(Stdio::null()).status().expect("nft is installed");
        assert!(status.success(), "nft refuses on {name}: {rules}");
    }

    /// All processes of the test: those with its directory in their environment or arguments, and
    /// all that the lab has on nodes.
    pub fn processes(&self) -> Vec<Process> {
        let mut found = self.scratch.processes();
        for node in 0..=NODES {
            let there = self.lab.processes(&node_name(node)).expect("the lab is up");
            found.extend(there.into_iter().map(|pid| Process { pid, command: command_of(pid) }));
        }
        let mut seen = BTreeSet::new();
        found.retain(|process| !process.command.is_empty() && seen.insert(process.pid));
        found
    }

    /// The ids of all processes of the test.
    pub fn ids(&self) -> BTreeSet<u32> {
        self.processes().into_iter().map(|process| process.pid).collect()
    }

    /// Waits until no process is left but those of `before`; returns the others that are left after
    /// `limit`.
    pub fn await_quiet(&self, before: &BTreeSet<u32>, limit: Duration) -> Vec<Process> {
        let end = clock::now_ns() + limit.as_nanos() as u64;
        loop {
            let mut left = self.processes();
            left.retain(|process| !before.contains(&process.pid));
            if left.is_empty() || clock::now_ns() > end {
                return left;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Mounts below the scratch directory, without that of the nodes' directories.
    pub fn mounts(&self) -> Vec<PathBuf> {
        let table = fs::read_to_string("/proc/self/mountinfo").expect("/proc is mounted");
        let places = table.lines().filter_map(|line| line.split(' ').nth(4)).map(PathBuf::from);
        let ours = |place: &PathBuf| place.starts_with(self.scratch.folder());
        places.filter(|place| ours(place) && *place != self.roots).collect()
    }

    /// Ends the lab; nothing may be left of it.
    pub fn end(self) {
        self.clear();
        self.down();
        self.scratch.assert_nobody_left();
        unmount(&self.roots);
        assert_eq!(self.mounts(), Vec::<PathBuf>::new(), "mounts are left");
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
        self.scratch
            .processes()
            .iter()
            .filter(|it| it.command.contains("mount"))
            .for_each(Process::kill);
    }
}

/// Mounts a file system of `mib` MiB in memory.
fn mount_memory(dir: &Path, mib: u32) {
    fs::create_dir_all(dir).expect("a directory can be made");
    let size = format!("size={mib}m");
    let mut mount = Command::new("mount");
    let status = mount.args(["-t", "tmpfs", "-o", &size, "none"]).arg(dir).status();
    assert!(status.expect("mount is installed").success(), "mounting on {}", dir.display());
}

/// Unmounts a file system, if there is one.
pub fn unmount(dir: &Path) {
    // It is no mount in most rounds.
    let _ = rustix::mount::unmount(dir, rustix::mount::UnmountFlags::DETACH);
}

/// Removes a file or directory, if it is there.
pub fn remove(path: &Path) {
    let removed = match fs::symlink_metadata(path) {
        Ok(stat) if stat.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(_) => Ok(()),
    };
    removed.unwrap_or_else(|error| panic!("removing {}: {error}", path.display()));
}

/// The program and arguments of a process; empty if it has ended.
fn command_of(pid: u32) -> String {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&words).replace('\0', " ").trim_end().to_owned()
}
