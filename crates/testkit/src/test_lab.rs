//! A lab that a test starts through the command line.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use garland_lab::{Lab, StateDir};
use garland_sys::process;
use parking_lot::{Mutex, MutexGuard};

use crate::garland::Garland;
use crate::scratch::Scratch;

/// Labs share the processors: rates of one would change with the load of another.
static ALONE: Mutex<()> = Mutex::new(());

/// The lab `lab` of a scratch directory. It ends with this value, also when the test fails.
#[derive(Debug)]
pub struct TestLab<'a> {
    /// The scratch directory of the test.
    pub scratch: &'a Scratch,
    /// The built binary.
    pub garland: Garland<'a>,
    /// The lab, from the outside.
    pub lab: Lab,
    _alone: MutexGuard<'static, ()>,
}

impl<'a> TestLab<'a> {
    /// Runs `garland lab up ARGUMENTS`, once no other lab of this test program is up.
    ///
    /// # Panics
    /// When the test does not run as root, or the lab cannot be started.
    #[track_caller]
    pub fn up<A: AsRef<OsStr>>(
        garland: Garland<'a>,
        scratch: &'a Scratch,
        arguments: &[A],
    ) -> Self {
        let alone = Self::alone();
        assert_eq!(process::user_id(), 0, "labs make network namespaces, which needs root");
        let words = ["lab", "up"].map(OsStr::new).into_iter();
        let words: Vec<&OsStr> = words.chain(arguments.iter().map(AsRef::as_ref)).collect();
        let _ = garland.run(&words).with_code(0);
        let lab = Lab::open(&Self::state(scratch), "lab").expect("it has just been started");
        Self { scratch, garland, lab, _alone: alone }
    }

    /// Starts the lab of a topology file with the text `topology`.
    ///
    /// # Panics
    /// As [`TestLab::up`].
    #[track_caller]
    pub fn of(garland: Garland<'a>, scratch: &'a Scratch, topology: &str) -> Self {
        let file = scratch.path("lab.toml");
        std::fs::write(&file, topology).expect("a topology file can be written");
        Self::up(garland, scratch, &[file])
    }

    /// Waits until no other lab of this test program is up, and keeps others from starting.
    pub fn alone() -> MutexGuard<'static, ()> {
        ALONE.lock()
    }

    /// The directory in which the binary in `scratch` keeps its labs.
    #[must_use]
    pub fn state(scratch: &Scratch) -> StateDir {
        StateDir(scratch.state().join(process::host_name()).join("lab"))
    }

    /// The directory of a node's files.
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
}

impl Drop for TestLab<'_> {
    fn drop(&mut self) {
        // After a test that failed; one that passed has taken it down.
        let _ = Lab::end(&Self::state(self.scratch), "lab");
    }
}
