//! A lab that a test starts by running `garland lab up`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use garland_lab::{Lab, StateDir};
use garland_sys::process;
use parking_lot::{Mutex, MutexGuard};

use crate::garland::Garland;
use crate::scratch::Scratch;

/// Locked while a lab is up. Labs share the CPUs of this machine, so the load of one lab would
/// change the rates of another.
static ALONE: Mutex<()> = Mutex::new(());

/// A running lab, whose name is `lab`. It is stopped when this value is dropped, even if the test
/// fails.
#[derive(Debug)]
pub struct TestLab<'a> {
    /// The scratch directory that contains the lab's state.
    pub scratch: &'a Scratch,
    /// The binary that started the lab.
    pub garland: Garland<'a>,
    /// The lab, opened by its name.
    pub lab: Lab,
    _alone: MutexGuard<'static, ()>,
}

impl<'a> TestLab<'a> {
    /// Waits until no other lab of this test program is up, and runs `garland lab up ARGUMENTS`.
    ///
    /// # Panics
    /// When the test does not run as root, or the lab cannot be started.
    #[track_caller]
    pub fn up<A: AsRef<OsStr>>(
        garland: Garland<'a>,
        scratch: &'a Scratch,
        arguments: &[A],
    ) -> Self {
        let only = Self::alone();
        assert_eq!(process::user_id(), 0, "labs make network namespaces, which needs root");
        let words = ["lab", "up"].map(OsStr::new).into_iter();
        let words: Vec<&OsStr> = words.chain(arguments.iter().map(AsRef::as_ref)).collect();
        let _ = garland.run(&words).with_code(0);
        let lab = Lab::open(&Self::state(scratch), "lab").expect("it has just been started");
        Self { scratch, garland, lab, _alone: only }
    }

    /// Starts a lab with the topology in `topology`, which is the text of a topology file.
    ///
    /// # Panics
    /// As [`TestLab::up`] does.
    #[track_caller]
    pub fn with_topology(garland: Garland<'a>, scratch: &'a Scratch, topology: &str) -> Self {
        let file = scratch.path("lab.toml");
        std::fs::write(&file, topology).expect("a topology file can be written");
        Self::up(garland, scratch, &[file])
    }

    /// Waits until no other lab of this test program is up. No other lab can be started until the
    /// returned guard is dropped.
    pub fn alone() -> MutexGuard<'static, ()> {
        ALONE.lock()
    }

    /// Returns the directory in which the binary in `scratch` keeps the state of its labs.
    #[must_use]
    pub fn state(scratch: &Scratch) -> StateDir {
        StateDir(scratch.state().join(process::host_name()).join("lab"))
    }

    /// Returns the directory that contains the files of a node.
    ///
    /// # Panics
    /// When the lab has no such node.
    #[must_use]
    #[track_caller]
    pub fn root(&self, node: &str) -> PathBuf {
        self.lab.root(node).expect("it is a node of the lab")
    }

    /// Asserts that the file `name` of each of `nodes` has the bytes of `source`.
    ///
    /// # Panics
    /// When a file is missing or differs.
    #[track_caller]
    pub fn assert_has(&self, nodes: &[&str], name: &str, source: impl AsRef<Path>) {
        let wanted = std::fs::read(source).expect("the source is there");
        for node in nodes {
            let path = self.root(node).join(name);
            let has = std::fs::read(&path).unwrap_or_else(|error| panic!("{node}: {error}"));
            assert!(has == wanted, "{node}: {name} differs from its source");
        }
    }

    /// Runs `garland lab down`, which must succeed.
    ///
    /// # Panics
    /// When the lab cannot be ended.
    #[track_caller]
    pub fn down(&self) {
        let _ = self.garland.run(&["lab", "down"]).with_code(0);
    }

    /// Ends the lab if it is up, as after a failed test: its nodes may still write.
    pub fn end(&self) {
        let _ = Lab::end(&Self::state(self.scratch), "lab");
    }
}

impl Drop for TestLab<'_> {
    fn drop(&mut self) {
        self.end();
    }
}
