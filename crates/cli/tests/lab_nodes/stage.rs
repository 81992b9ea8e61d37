//! A lab of a topology file, made through the command line, and gone when the test is over.

use parking_lot::{Mutex, MutexGuard};

use garland_lab::{Lab, StateDir};
use garland_sys::process;
use garland_testkit::{Garland, Scratch, random_file};
use serde_json::Value;

/// One lab at a time: they share the processors, and rates of one would tell of the others.
static ALONE: Mutex<()> = Mutex::new(());

/// Waits until no other lab of these tests is up.
pub fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock()
}

/// A lab of the test's own.
pub struct Stage<'a> {
    pub garland: Garland<'a>,
    scratch: &'a Scratch,
    _alone: MutexGuard<'static, ()>,
}

impl<'a> Stage<'a> {
    /// Builds the lab that `topology` describes: a file's text, or a scenario's name.
    #[track_caller]
    pub fn new(scratch: &'a Scratch, topology: &str) -> Self {
        let alone = alone();
        let garland = Garland::new(env!("CARGO_BIN_EXE_garland"), scratch);
        let path = scratch.folder().join("lab.toml");
        let argument = if topology.contains('\n') {
            std::fs::write(&path, topology).unwrap();
            path.display().to_string()
        } else {
            topology.to_owned()
        };
        let _ = garland.run(&["lab", "up", &argument]).with_code(0);
        Self { garland, scratch, _alone: alone }
    }

    /// Copies a new file of so many bytes; the result as JSON.
    #[track_caller]
    pub fn copies(&self, bytes: u64, nodes: &str, more: &[&str]) -> Value {
        let source = self.scratch.folder().join("source");
        random_file(&source, bytes, bytes);
        let (source, target) = (source.display().to_string(), format!("{nodes}:/x"));
        let words = [&["cp", "--json", "--whole", "--no-fsync", &source, &target], more];
        let said = self.garland.run(&words.concat()).with_code(0);
        serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {}", said.out))
    }
}

impl Stage<'_> {
    /// These nodes have the file `name`, as it is at `source`.
    #[track_caller]
    pub fn assert_has(&self, nodes: &[&str], name: &str, source: &str) {
        let state = self.scratch.state().join(process::host_name()).join("lab");
        let lab = Lab::open(&StateDir(state), "lab").expect("it has been started");
        let wanted = std::fs::read(source).expect("the source is there");
        for node in nodes {
            let path = lab.root(node).expect("it is a node of the lab").join(name);
            let has = std::fs::read(&path).unwrap_or_else(|error| panic!("{node}: {error}"));
            assert!(has == wanted, "{node} has something else");
        }
    }
}

impl Drop for Stage<'_> {
    fn drop(&mut self) {
        // A test that fails tells its own story.
        let _ = self.garland.run(&["lab", "down"]);
    }
}

/// Bytes per second of the whole command.
pub fn rate(result: &Value) -> f64 {
    let bytes = result["bytes"].as_f64().unwrap_or_else(|| panic!("no bytes: {result}"));
    bytes / (result["elapsed_ns"].as_f64().unwrap() / 1e9)
}
