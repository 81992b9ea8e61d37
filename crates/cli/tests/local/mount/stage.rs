//! Agents that stay, a mount of them, and the proof that nothing of either is left.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use garland_sys::process::end_with_parent;
use garland_testkit::{Garland, Process, Running, Scratch, until};

use crate::garland_in;

/// A mount of local nodes.
pub struct Stage<'a> {
    /// The scratch folder of the test.
    pub scratch: &'a Scratch,
    /// The built binary.
    pub garland: Garland<'a>,
    served: Option<Running>,
    nodes: String,
}

impl<'a> Stage<'a> {
    /// Starts so many agents and mounts them on `m`.
    #[track_caller]
    pub fn new(scratch: &'a Scratch, nodes: u32) -> Self {
        let garland = garland_in(scratch);
        let nodes = format!("local[1-{nodes}]");
        let mut stage = Self { scratch, garland, served: None, nodes };
        stage.up();
        stage.served = Some(stage.mount("m", &[]));
        stage
    }

    /// Starts the agents that aren't up.
    #[track_caller]
    pub fn up(&self) {
        let roots = self.scratch.path("roots");
        let roots = roots.to_str().expect("it is text");
        let _ = self.garland.run(&["up", "--local-root", roots, &self.nodes]).with_code(0);
    }

    /// Mounts the nodes on a further folder. The mount ends with the test, however that ends.
    #[track_caller]
    pub fn mount(&self, folder: &str, more: &[&str]) -> Running {
        let dir = self.scratch.path(folder);
        fs::create_dir_all(&dir).expect("it can be made");
        let before = fs::metadata(&dir).expect("it was made").dev();
        let words = [&["mount", "--foreground", folder, &self.nodes], more].concat();
        let mut command = self.garland.command(&words);
        end_with_parent(&mut command);
        let served = Running::start(command);
        until(&format!("a mount on {}", dir.display()), || {
            fs::metadata(&dir).is_ok_and(|stat| stat.dev() != before)
        });
        served
    }

    /// A path of the mount.
    pub fn path(&self, path: &str) -> PathBuf {
        self.scratch.path("m").join(path)
    }

    /// The path of the file on the disk of the node.
    pub fn at_node(&self, path: &str) -> PathBuf {
        self.scratch.path("roots").join(path)
    }

    /// The agent of a node.
    pub fn agent(&self, name: &str) -> Process {
        self.garland.agent(name)
    }

    /// The process that serves the mount.
    pub fn server(&mut self) -> &mut Running {
        self.served.as_mut().expect("it is taken only at the end")
    }

    /// Unmounts, ends the agents, and looks that nothing is left.
    #[track_caller]
    pub fn end(mut self) {
        let said = self.garland.run(&["mount", "--unmount", "m"]).with_code(0);
        assert_eq!(said.err, "", "the test still has something open");
        if let Some(served) = self.served.take() {
            let _ = served.end().with_code(0);
        }
        let _ = self.garland.run(&["down", &self.nodes]).with_code(0);
        self.scratch.assert_nobody_left();
    }
}

/// Runs a shell's `script` in `folder`, and gives what it said.
#[track_caller]
pub fn shell(folder: &Path, script: &str) -> String {
    let said = Command::new("bash")
        .args(["-euo", "pipefail", "-c", script])
        .current_dir(folder)
        .output()
        .expect("bash can be started");
    let err = String::from_utf8_lossy(&said.stderr);
    assert!(said.status.success(), "{script}: {}\n{err}", said.status);
    String::from_utf8_lossy(&said.stdout).into_owned()
}
